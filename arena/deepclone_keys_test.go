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

// TestDeepCloneStaleKeys: stale values in interfaces are keys of a map. They contain themselves, or hold each other in so
// many ways, or so many values, that whoever hashes them never ends. DeepClone and Heap panic, and the process lives.
func TestDeepCloneStaleKeys(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	defer func(old int64) { mostHashWork = old }(mostHashWork)
	mostHashWork = 1 << 18
	text := strings.Repeat("s", 1<<20)
	links := map[string]func(i int, d *doll, all []any){
		"itself":      func(i int, d *doll, all []any) { d.a = all[i] },
		"each other":  func(i int, d *doll, all []any) { d.b = all[(i+1)%len(all)] },
		"in an array": func(i int, d *doll, all []any) { d.a = [6]any{3: all[i]} },
		"twice": func(i int, d *doll, all []any) {
			if i+1 < len(all) {
				d.a, d.b = all[i+1], all[i+1]
			}
		},
		"a text, often": func(i int, d *doll, all []any) {
			if i < 16 {
				d.a, d.b = all[i+1], all[i+1]
			} else {
				d.a = text
			}
		},
		"values without size": func(_ int, d *doll, _ []any) { d.a = [1 << (30 + 10*(wordSize/8))]struct{ _ struct{} }{} },
	}
	for name, link := range links {
		for _, long := range []bool{false, true} {
			a, start := NewArena(), Checkpoint{}
			v := &holdsMap{m: map[any]int{}}
			if long {
				v.inner = &v.row[1]
			}
			for how, end := range map[string]func(){
				"Reset":  func() { a.Reset(Keep); start = a.Checkpoint() },
				"Rewind": func() { a.Rewind(start) },
			} {
				if long && how == "Rewind" {
					continue
				}
				a.Reset(Keep)
				start = a.Checkpoint()
				old, dolls, ok := staleDolls(a, 64, func(old []any) { clear(v.m); v.m[old[0]] = 1 }, end)
				if !ok { // The arena does not use memory again.
					continue
				}
				for i, d := range dolls {
					link(i, d, old)
				}
				other := NewArena()
				what := fmt.Sprintf("%s by %s, long way %v", name, how, long)
				wantChanged(t, what+", Heap", func() { Heap(v) })
				wantChanged(t, what+", TryHeap that shares the values", func() { _, _ = TryHeap(v, CloneOptions{Share: []reflect.Type{reflect.TypeFor[doll]()}}) })
				wantChanged(t, what+", TryDeepClone", func() { _, _ = TryDeepClone(other, v) })
				wantChanged(t, what+", in the same arena", func() { DeepClone(a, v) })
				if n := other.Stats().InUse; n != 0 {
					t.Errorf("%s: %d bytes of the failed clone are in use", what, n)
				}
				other.Free()
				for i := range dolls {
					*dolls[i] = doll{}
				}
			}
			a.Free()
		}
	}
}

// TestDeepCloneKeysAfterStaleWrites: stale pointers write to memory that is free. The copy of a key that holds nothing gets
// that memory.
func TestDeepCloneKeysAfterStaleWrites(t *testing.T) {
	if debugging() {
		t.Skip("the debug modes report the stale value")
	}
	a := NewArena()
	defer a.Free()
	old, dolls, ok := staleDolls(a, 64, func([]any) {}, func() { a.Reset(Keep) })
	if !ok {
		t.Skip("the arena does not use memory again")
	}
	a.Reset(Keep)
	for i, d := range dolls {
		d.a = old[i]
	}
	defer func() { recover() }() // The clone's key holds what the stale pointers wrote, or not. Both is right.
	DeepClone(a, map[any]int{doll{n: 7}: 1})
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

// TestHashWork: what a hash does is counted, for large types without overflow, and no key of a program is refused.
func TestHashWork(t *testing.T) {
	type pair struct{ x, y int }
	type padded struct {
		a any
		p [33 << 20]byte
	}
	type blank struct{ _ struct{} }
	for name, c := range map[string]struct {
		key  any
		ends bool
	}{
		"a number":               {1, true},
		"a long text":            {strings.Repeat("s", 1<<20), true},
		"many values":            {[1 << 20]any{1, 2}, true},
		"many structs":           {[1 << 16]pair{}, true},
		"a large array":          {new(padded).p, true},
		"beside a large array":   {padded{a: 1}, true},
		"many values of no size": {[1 << 30]struct{}{}, true},
		"and of fields":          {[1 << 30]blank{}, false},
		"and of more fields":     {[2]struct{ a, b, c, d [1 << 25]blank }{}, false},
	} {
		w := hashWork{total: mostHashTotal}
		if got := w.ends(reflect.ValueOf(&c.key).Elem()); got != c.ends {
			t.Errorf("the hash of %s ends: %v, want %v; %d left", name, got, c.ends, w.left)
		}
	}
	var deep any
	for range 1 << 15 {
		deep = doll{a: deep}
	}
	w := hashWork{total: mostHashTotal}
	if !w.ends(reflect.ValueOf(&deep).Elem()) {
		t.Error("a long chain of values in interfaces is refused")
	}
}
