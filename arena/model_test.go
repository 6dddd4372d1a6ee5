// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/debugmode"
)

// A tracked value is one in an arena beside what it must still be.
type tracked struct {
	check func() error
	spoil func() // Writes to the value after it died, as a caller who breaks the promise may.
	kept  bool   // It died without reuse: it must still be what it was.
}

type tree struct {
	id          int
	name        string
	left, right *tree
	any         any
	list        []*tree
	m           map[string]int
}

// world is an arena and a model of it.
type world struct {
	a      *Arena
	rng    *rand.Rand
	go_    bool // Takes Go pointers.
	live   []tracked
	points []Checkpoint
	counts []int // Live values at each checkpoint.
	stale  []tracked
	// spoils says that the program writes to dead values. Later values in their place can then be
	// anything of their types; only values on the Go heap must stay as they are.
	spoils  bool
	forgets bool // Stale values are not even looked at.
}

// claim panics if ok is false and the program keeps its promise not to use freed values.
func (w *world) claim(ok bool, format string, args ...any) {
	if !ok && !w.spoils {
		panic(fmt.Sprintf(format, args...))
	}
}

func (w *world) add(t tracked) { w.live = append(w.live, t) }

func mismatch(what string, got, want any) error {
	return fmt.Errorf("%s is %v, want %v", what, got, want)
}

func addNumber[T comparable](w *world, v, junk T) {
	var zero T
	p := New[T](w.a)
	if w.rng.IntN(2) == 0 {
		p = Of[T](w.a).New()
	}
	w.claim(*p == zero, "a new %T is %v", v, *p)
	*p = v
	w.add(tracked{func() error {
		if *p != v {
			return mismatch(fmt.Sprintf("a %T at %p", v, p), *p, v)
		}
		return nil
	}, func() { *p = junk }, false})
}

func addSlice[T comparable](w *world, v, junk T) {
	n := w.rng.IntN(1 << w.rng.IntN(10))
	c := n + w.rng.IntN(4)
	var zero T
	s := MakeSlice[T](w.a, n, c)
	if len(s) != n || cap(s) != c {
		panic("a slice of another length")
	}
	for _, e := range s[:c] {
		w.claim(e == zero, "a new slice of %T holds %v", v, e)
	}
	for i := range s {
		s[i] = v
	}
	for range w.rng.IntN(20) {
		old := s
		s = Append(w.a, s, v)
		if w.rng.IntN(4) == 0 && len(s) < 5000 {
			s = Append(w.a, s, old...)
		}
		for _, e := range s[len(s):cap(s)] {
			w.claim(e == zero || len(s) <= c, "Append leaves %v behind", e)
		}
	}
	w.add(tracked{func() error {
		for i, e := range s {
			if e != v {
				return mismatch(fmt.Sprintf("element %d of %d %Ts", i, len(s), v), e, v)
			}
		}
		return nil
	}, func() {
		for i := range s[:cap(s)] {
			s[:cap(s)][i] = junk
		}
	}, false})
}

func (w *world) addText() {
	text := strings.Repeat(string(rune('a'+w.rng.IntN(26))), w.rng.IntN(1<<w.rng.IntN(12)))
	s := String(w.a, text)
	b := Bytes(w.a, text)
	c := Concat(w.a, text, "-", text)
	builder := NewBuilder(w.a)
	want := ""
	for i := range w.rng.IntN(10) {
		fmt.Fprintf(builder, "%d%s", i, text)
		want += fmt.Sprintf("%d%s", i, text)
	}
	early := builder.String()
	_, _ = builder.ReadFrom(strings.NewReader(text))
	late := builder.String()
	w.add(tracked{func() error {
		if s != text || string(b) != text || c != text+"-"+text || early != want || late != want+text {
			return fmt.Errorf("a text of %d bytes changed", len(text))
		}
		return nil
	}, func() { copy(b, bytes.Repeat([]byte{200}, len(b))) }, false})
}

// addTree makes a tree of Go pointers, some of which lead to the Go heap.
func (w *world) addTree() {
	var build func(depth int) (*tree, *tree)
	build = func(depth int) (*tree, *tree) {
		id := w.rng.Int()
		n := New[tree](w.a)
		w.claim(n.id == 0 && n.name == "" && n.left == nil && n.right == nil && n.any == nil && n.list == nil && n.m == nil, "a new tree holds %+v", *n)
		m := &tree{id: id, name: fmt.Sprint(id), any: id, m: map[string]int{"x": id}}
		*n = *m
		if w.rng.IntN(2) == 0 {
			n.name = String(w.a, n.name)
		}
		n.m = map[string]int{"x": id}
		if depth > 0 {
			n.left, m.left = build(depth - 1)
			n.right, m.right = build(depth - 1)
			n.list, m.list = Append(w.a, n.list, n.left, n.right), []*tree{m.left, m.right}
		}
		return n, m
	}
	n, m := build(w.rng.IntN(5))
	w.add(tracked{func() error { return sameTree(n, m) }, func() {
		*n = tree{id: -1, name: strings.Repeat("j", 1+w.rng.IntN(5)), left: n, list: []*tree{n, {}}}
	}, false})
}

func sameTree(a, b *tree) error {
	if (a == nil) != (b == nil) {
		return mismatch("a tree", a, b)
	}
	if a == nil {
		return nil
	}
	if a.id != b.id || a.name != b.name || a.any != b.any || a.m["x"] != b.m["x"] || len(a.list) != len(b.list) {
		return mismatch("a tree", *a, *b)
	}
	for i := range a.list {
		if err := sameTree(a.list[i], b.list[i]); err != nil {
			return err
		}
	}
	if err := sameTree(a.left, b.left); err != nil {
		return err
	}
	return sameTree(a.right, b.right)
}

func (w *world) allocate() {
	switch w.rng.IntN(10) {
	case 0:
		addNumber(w, int64(w.rng.Int64()), -1)
	case 1:
		addNumber(w, odd{1, 2, byte(w.rng.IntN(256))}, odd{200, 200, 200})
	case 2:
		addNumber(w, point{w.rng.Int64(), 5}, point{-1, -1})
	case 3:
		addSlice(w, w.rng.Uint64(), 1<<63)
	case 4:
		addSlice(w, uint16(w.rng.IntN(1<<16)), 0xffff)
	case 5:
		w.addText()
	default:
		if !w.go_ {
			addNumber(w, [3]int32{1, int32(w.rng.IntN(9)), 3}, [3]int32{-1, -1, -1})
			return
		}
		switch w.rng.IntN(4) {
		case 0:
			addNumber(w, flag{true}, flag{})
			addSlice(w, flag{true}, flag{true})
		case 1:
			i := w.rng.IntN(1000)
			addNumber(w, any(i), any("junk"))
			addSlice(w, fmt.Sprint(i), "junk")
		default:
			w.addTree()
		}
	}
}

// die is what happens to the values from the n-th on when they are given up.
func (w *world) die(n int) {
	for _, t := range w.live[n:] {
		t.kept = w.a.noReuse && newDebugState(&fromGo) == nil
		if len(w.stale) < 200 {
			w.stale = append(w.stale, t)
		} else {
			w.stale[w.rng.IntN(len(w.stale))] = t
		}
	}
	w.live = w.live[:n]
}

func (w *world) step() {
	switch k := w.rng.IntN(200); {
	case k == 0:
		modes := []Mode{Keep, GiveBack, KeepUpTo(int64(w.rng.IntN(20000)))}
		w.a.Reset(modes[w.rng.IntN(len(modes))])
		w.die(0)
		w.points, w.counts = nil, nil
	case k < 8:
		w.points, w.counts = append(w.points, w.a.Checkpoint()), append(w.counts, len(w.live))
	case k < 14 && len(w.points) > 0:
		i := w.rng.IntN(len(w.points))
		w.a.Rewind(w.points[i])
		w.die(w.counts[i])
		w.points, w.counts = w.points[:i+1], w.counts[:i+1]
	case k < 30 && len(w.stale) > 0 && !w.forgets:
		switch stale := w.stale[w.rng.IntN(len(w.stale))]; {
		case w.spoils && !debugmode.Current().On():
			stale.spoil()
		case stale.kept:
			if err := stale.check(); err != nil {
				panic(fmt.Sprintf("without reuse, after it was given up: %v", err))
			}
		default:
			faultless(func() { _ = stale.check() }) // Reads whatever is there.
		}
	case k == 30:
		if s := w.a.Stats(); s.InUse < 0 || s.Retained < 0 || s.Held != s.InUse+s.Retained {
			panic(fmt.Sprintf("%+v", s))
		}
	default:
		w.allocate()
	}
}

func (w *world) verify() error {
	for _, t := range w.live {
		if err := t.check(); err != nil {
			return err
		}
	}
	return nil
}

// TestModel does everything at random to arenas of all kinds and keeps stale values of all kinds
// around. The arenas of a pass begin with the chunks that those before freed. Live values must not
// change, and the collector must find no bad pointer.
func TestModel(t *testing.T) { model(t, 1, false) }

// TestModelParallel is TestModel by two goroutines, each with arenas of its own. They drop stale
// values, because reading memory that the other goroutine owns now would be a data race.
func TestModelParallel(t *testing.T) { model(t, 2, false) }

// TestStaleWrites is TestModel by a program that writes to values that are gone. It may find its
// arenas' values changed, to others of their types, and nothing else.
func TestStaleWrites(t *testing.T) {
	testenv.MisusesMemory(t)
	model(t, 1, true)
	for range keepTicks + 1 { // No other test may get the chunks that stale values wrote to.
		store.expire()
	}
}

func model(t *testing.T, workers int, spoils bool) {
	testenv.LowerGCPercent(t, 10)
	steps, passes := 1000, 2*len(kinds)
	if testing.Short() {
		steps, passes = 300, len(kinds)
	}
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 3))
			heap := &world{rng: rng, go_: true} // The nil arena: the Go heap.
			var stale []tracked
			for pass := range passes {
				k := kinds[pass%len(kinds)]
				w := &world{a: k.make(), rng: rng, go_: k.pointers, stale: stale, spoils: spoils, forgets: workers > 1}
				for i := range steps {
					w.step()
					if len(w.live) > 300 || w.a.from.fixed && w.a.Stats().InUse > 2<<20 {
						w.a.Reset(Keep)
						w.die(0)
						w.points, w.counts = nil, nil
					}
					if i%250 == 0 {
						runtime.GC()
					}
					if heap.allocate(); len(heap.live) > 300 {
						heap.live = heap.live[:0]
					}
					if i%50 != 0 {
						continue
					}
					if err := heap.verify(); err != nil {
						t.Errorf("%s, step %d: the Go heap is damaged: %v", k.name, i, err)
						return
					}
					if err := w.verify(); err != nil && !spoils {
						t.Errorf("%s, step %d: %v", k.name, i, err)
						return
					}
				}
				w.a.Free()
				w.die(0)
				if stale = w.stale; !k.pointers {
					stale = nil // Off the heap other tests may have the memory now.
				}
			}
		})
	}
	wg.Wait()
}
