// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// doll is a value that may stand in an interface and holds others by value.
type doll struct {
	a, b any
	n    int
	name *string
}

// holdsMap leads to a map with values in interfaces as keys, and with an interior pointer, which only the long way copies.
type holdsMap struct {
	m     map[any]int
	row   [2]int
	inner *int
}

// staleDolls are n values in interfaces and the dolls that have their memory after end, in the same order. use is called
// before end. ok says that the arena uses memory again.
func staleDolls(a *Arena, n int, use func([]any), end func()) (old []any, dolls []*doll, ok bool) {
	old, dolls = make([]any, n), make([]*doll, n)
	for range 3 { // Until all lie in one chunk.
		end()
		for i := range old {
			old[i] = DeepClone[any](a, doll{n: i})
		}
	}
	use(old)
	end()
	for i := range dolls {
		dolls[i] = New[doll](a)
		dolls[i].n = -1
	}
	return old, dolls, old[0].(doll).n == -1 && old[n-1].(doll).n == -1
}

// wantChanged wants the panic of a value that changed.
func wantChanged(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "was reset or freed") {
			t.Errorf("%s: panic value %v, want that of a value that changed", what, err)
		}
	}()
	f()
}

// TestDeepCloneNestedInItself: stale values in interfaces contain themselves, or each other. Whoever hashed a clone of
// them would never end.
func TestDeepCloneNestedInItself(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	for name, link := range map[string]func(i int, d *doll, all []any){
		"itself":     func(i int, d *doll, all []any) { d.b = all[i] },
		"each other": func(i int, d *doll, all []any) { d.a, d.b = all[(i+1)%len(all)], 1 },
		"in an array": func(i int, d *doll, all []any) {
			d.a = [6]any{3: all[i]}
		},
	} {
		a := NewArena()
		start := a.Checkpoint()
		for how, end := range map[string]func(){"Reset": func() { a.Reset(Keep); start = a.Checkpoint() }, "Rewind": func() { a.Rewind(start) }} {
			old, dolls, ok := staleDolls(a, 3, func([]any) {}, end)
			if !ok {
				continue
			}
			for i, d := range dolls {
				link(i, d, old)
			}
			what := name + " by " + how
			other := NewArena()
			wantChanged(t, what+", Heap", func() { Heap(old[0]) })
			wantChanged(t, what+", TryHeap in a slice", func() { _, _ = TryHeap([]any{1, "s", old[1]}) })
			wantChanged(t, what+", TryDeepClone", func() { _, _ = TryDeepClone(other, old[2]) })
			wantChanged(t, what+", in the same arena", func() { DeepClone(a, old[2]) })
			wantChanged(t, what+", in a map", func() { Heap(map[string]any{"v": old[0]}) })
			if n := other.Stats().InUse; n != 0 {
				t.Errorf("%s: %d bytes of the failed clone are in use", what, n)
			}
			other.Free()
		}
		a.Free()
	}
}

// TestDeepCloneStaleKeys: as keys of maps, such values ended the process when the clone's map was filled. Some end, but
// so late that nobody waits for it: each value holds the next one twice.
func TestDeepCloneStaleKeys(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	const count = 64
	for name, link := range map[string]func(i int, d *doll, all []any){
		"itself": func(i int, d *doll, all []any) { d.a = all[i] },
		"twice": func(i int, d *doll, all []any) {
			if i+1 < len(all) {
				d.a, d.b = all[i+1], all[i+1]
			}
		},
	} {
		for _, long := range []bool{false, true} {
			a := NewArena()
			v := &holdsMap{m: map[any]int{}}
			if long {
				v.inner = &v.row[1]
			}
			old, dolls, ok := staleDolls(a, count, func(old []any) { clear(v.m); v.m[old[0]] = 1 }, func() { a.Reset(Keep) })
			if ok {
				for i, d := range dolls {
					link(i, d, old)
				}
				what := fmt.Sprintf("%s, long way %v", name, long)
				wantChanged(t, what+", Heap", func() { Heap(v) })
				wantChanged(t, what+", DeepClone", func() { DeepClone(a, v) })
			}
			a.Free()
		}
	}
}

// TestDeepCloneNested: values in interfaces that hold others are cloned, also where one is held in very many ways.
func TestDeepCloneNested(t *testing.T) {
	name := "innermost"
	var chain, twice any = doll{name: &name}, doll{name: &name}
	for i := range 1000 {
		chain = doll{a: chain, n: i}
		if i < 60 {
			twice = [2]doll{{a: twice, b: twice}, {}}
		}
	}
	type row struct {
		m    map[any]string
		keys map[doll]int
		all  []any
		row  [2]int
		p    *int
	}
	for _, long := range []bool{false, true} {
		v := &row{m: map[any]string{chain: "chain", [2]any{1, chain}: "array"}, keys: map[doll]int{{a: chain}: 7}, all: []any{twice, twice, chain}}
		if long {
			v.p = &v.row[1]
		}
		a := NewArena()
		for where, c := range map[string]*row{"Heap": Heap(v), "DeepClone": DeepClone(a, v)} {
			if len(c.m) != 2 || len(c.keys) != 1 || len(c.all) != 3 || c.m[c.all[2]] != "chain" || c.keys[doll{a: c.all[2]}] != 7 {
				t.Errorf("%s: %d entries, %d, %d values; the chain is not the key that it is in the original", where, len(c.m), len(c.keys), len(c.all))
			}
			at := c.all[0]
			for range 60 {
				at = at.([2]doll)[0].b
			}
			if got := at.(doll).name; *got != name || got == &name {
				t.Errorf("%s: the innermost value of those held twice is %q", where, *got)
			}
			if in, ok := c.all[2].(doll); !ok || reflect.TypeOf(in.a) != reflect.TypeFor[doll]() || in.n != 999 {
				t.Errorf("%s: the chain begins with %v", where, in.n)
			}
		}
		a.Free()
	}
}
