// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// The values of TestStress that hold Go pointers, or are maps.

func stressLeaf(s *stress, w *stressWorld) relic {
	seed := s.seed
	p := arena.New[leaf](w.arena)
	v, err := innerLeaf(w.arena)(leafValue(seed))
	if err != nil {
		s.t.Error(err)
	}
	*p = v
	return relic{func() error { want := leafValue(seed); return differ(p, &want) }, func() error { return staleLeaf(p, 3) }}
}

func stressLeaves(s *stress, w *stressWorld) relic {
	seed := s.seed
	list := arena.MakeSlice[leaf](w.arena, 0, s.rng.IntN(3))
	n := s.size() / 8
	for i := range n {
		list = arena.Append(w.arena, list, *newLeaf(seed + i))
	}
	return relic{func() error {
		for i := range list {
			want := newLeaf(seed + i)
			if err := differ(&list[i], want); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for i := range list[:cap(list)] {
			if err := staleLeaf(&list[:cap(list)][i], 1); err != nil {
				return err
			}
		}
		return nil
	}}
}

func stressStrings(s *stress, w *stressWorld) relic {
	list := arena.MakeSlice[string](w.arena, s.size(), 300)
	for i := range list {
		list[i] = fmt.Sprint(s.seed + i)
		if i%2 == 0 {
			list[i] = arena.String(w.arena, list[i])
		}
	}
	want := make([]string, len(list))
	for i := range list {
		want[i] = strings.Clone(list[i])
	}
	return relic{func() error { return differ(&list, &want) }, func() error { _ = strings.Join(list[:cap(list)], ""); return nil }}
}

// stressAny keeps interfaces: a stale one must still be a type and a value of that type.
func stressAny(s *stress, w *stressWorld) relic {
	p := arena.New[[3]any](w.arena)
	inner := arena.New[leaf](w.arena)
	*inner = *newLeaf(s.seed)
	*p = [3]any{inner, s.seed, fmt.Sprint(s.seed)}
	want := [3]any{newLeaf(s.seed), s.seed, fmt.Sprint(s.seed)}
	return relic{func() error { return differ(p, &want) }, func() error {
		for _, v := range p {
			switch v := v.(type) {
			case nil, int, string:
				_ = fmt.Sprint(v)
			case *leaf:
				if err := staleLeaf(v, 1); err != nil {
					return err
				}
			default:
				return fmt.Errorf("an interface at %p is a %T", p, v)
			}
		}
		return nil
	}}
}

// stressFunc keeps functions: a stale one must still be one that can be called.
func stressFunc(s *stress, w *stressWorld) relic {
	p, seed := arena.Of[func() int](w.arena).New(), s.seed
	text := fmt.Sprint(seed)
	*p = func() int { return seed + len(text) }
	return relic{func() error {
		if got := (*p)(); got != seed+len(text) {
			return fmt.Errorf("a live function at %p returns %d, the model's %d", p, got, seed+len(text))
		}
		return nil
	}, func() error {
		if f := *p; f != nil {
			_ = f()
		}
		return nil
	}}
}

// stressClone copies a value into the arena with all that it leads to, and out again.
func stressClone(s *stress, w *stressWorld) relic {
	v, want := leafValue(s.seed), leafValue(s.seed)
	p, err := arena.DeepClone(w.arena, &v)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := arena.Heap(p)
	if err != nil {
		s.t.Fatal(err)
	}
	s.heap = append(s.heap, relic{live: func() error { return differ(out, &want) }})
	return relic{func() error { return differ(p, &want) }, func() error { return staleLeaf(p, 3) }}
}

// stressTree is a tree that is all in the arena; deep ones are what the collector follows for long.
func stressTree(s *stress, w *stressWorld) relic {
	var build func(depth, seed int) *leaf
	build = func(depth, seed int) *leaf {
		l := arena.New[leaf](w.arena)
		*l = *newLeaf(seed)
		l.name = arena.String(w.arena, l.name)
		if depth > 0 {
			l.next = build(depth-1, seed+1)
			l.kids = arena.Append(w.arena, l.kids, build(depth-1, seed+2))
		}
		return l
	}
	var check func(l *leaf, depth, seed int) error
	check = func(l *leaf, depth, seed int) error {
		if l.id != seed || l.twin != ^seed || l.name != fmt.Sprint(seed) || depth > 0 && len(l.kids) != 1 {
			return fmt.Errorf("a live leaf at %p is %+v, the model has seed %d", l, *l, seed)
		}
		if depth == 0 {
			return nil
		}
		if err := check(l.next, depth-1, seed+1); err != nil {
			return err
		}
		return check(l.kids[0], depth-1, seed+2)
	}
	depth, seed := s.rng.IntN(6), s.seed
	root := build(depth, seed)
	return relic{func() error { return check(root, depth, seed) }, func() error { return staleLeaf(root, depth) }}
}

// quietly runs f, which may panic because its map is stale. The documentation of Map allows two
// panics: one with a message of the package, and one of Go's index check, if the index is no slot.
func quietly(f func()) error {
	err := panicOf(f)
	if _, fault := err.(interface{ Addr() uintptr }); err == nil || fault {
		return nil
	}
	if text := err.Error(); !strings.HasPrefix(text, "arena: ") && !strings.Contains(text, "index out of range") {
		return fmt.Errorf("a stale map panics with %w", err)
	}
	return nil
}

// faultless runs f, which may read freed memory. A fault is fine, since a debug mode causes it. A
// sanitizer would end the program, so with one f does not run.
func faultless(f func() error) (err error) {
	if testenv.Sanitized() {
		return nil
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if fault, ok := r.(interface{ Addr() uintptr }); !ok || fault.Addr() < 1<<12 {
				panic(r)
			}
		}
	}()
	return f()
}

// panicOf is what f panics with.
func panicOf(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			e, ok := v.(error)
			if !ok {
				e = fmt.Errorf("%v", v)
			}
			err = e
		}
	}()
	f()
	return nil
}

func stressNumberMap(s *stress, w *stressWorld) relic {
	return mapRelic(s, w, func(i int) int64 { return int64(i) }, func(i int) pair { return pair{int64(i), 7} })
}

func stressMap(s *stress, w *stressWorld) relic {
	return mapRelic(s, w, func(i int) string { return fmt.Sprint(i) }, func(i int) any { return i })
}

func mapRelic[K, V comparable](s *stress, w *stressWorld, key func(i int) K, value func(i int) V) relic {
	m := arena.NewMap[K, V](w.arena, s.rng.IntN(10))
	n, seed := s.size()/4, s.seed
	for i := range n {
		m.Set(key(seed+i), value(seed+i))
		if i%5 == 4 {
			m.Delete(key(seed + i - 1))
		}
	}
	return relic{func() error {
		for i := range n {
			v, ok := m.Get(key(seed + i))
			gone := i%5 == 3 && i+1 < n
			if ok == gone || ok && v != value(seed+i) {
				return fmt.Errorf("entry %d of a live map of %d: %v, %v", i, n, v, ok)
			}
		}
		return nil
	}, func() error {
		return quietly(func() {
			m.Get(key(seed))
			for k, v := range m.All() {
				_ = fmt.Sprint(k, v)
			}
			_ = m.Len()
		})
	}}
}
