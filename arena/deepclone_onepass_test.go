// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// onlyLongWay makes the next clone of a T try to do without the long way, or not.
func onlyLongWay[T any](v T, long bool, options []CloneOptions) {
	tries := int32(0)
	if long {
		tries = 1
	}
	callerPlans(0).with(options).plan(reflect.TypeFor[T]()).tangled.Store(tries)
}

// TestDeepCloneOnePass has what must not need the long way, and what must.
func TestDeepCloneOnePass(t *testing.T) {
	type node struct {
		next, other *node
		text, same  string
		list        []*node
		byName      map[string]*node
		any         any
		err         error
		number      *int
		value       int
	}
	grow := func() *node {
		n := &node{text: strings.Repeat("x", 3), list: make([]*node, 2, 3), byName: map[string]*node{}, any: 1 << 20, err: io.EOF}
		for i := range 5000 { // Deeper than the pass recurses; adjoining words are shared by short strings.
			n = &node{next: n, other: n, text: strings.Repeat("y", i%9), any: n, list: []*node{n}, byName: map[string]*node{"n": n}}
			n.same = n.text
		}
		return n
	}
	a := NewArena()
	defer a.Free()
	tangled := &callerPlans(0).plan(reflect.TypeFor[*node]()).tangled
	plain := grow()
	inner := grow()
	inner.next.number = &inner.next.next.value
	for _, clone := range []func(*node) *node{func(n *node) *node { return DeepClone(a, n) }, func(n *node) *node { return Heap(n) }} {
		tangled.Store(0)
		c := clone(plain)
		if !freehold.HeapMode() && !debugging() && tangled.Load() != 0 {
			t.Error("a value without interior pointers took the long way")
		}
		depth := 0
		for x, y := plain, c; x != nil; x, y, depth = x.next, y.next, depth+1 {
			if y == x || y.other != y.next || y.text != x.text || y.same != x.same || len(y.list) != len(x.list) || y.err != x.err {
				t.Fatalf("at %d: %+v became %+v", depth, x, y)
			}
			if x.next != nil && (y.any != any(y.next) || y.list[0] != y.next || y.byName["n"] != y.next) {
				t.Fatalf("at %d: one node became two: %+v", depth, y)
			}
		}
		if d := clone(inner); d.next.number != &d.next.next.value || tangled.Load() != tangledFor && !freehold.HeapMode() && !debugging() {
			t.Error("a value with an interior pointer did not take the long way")
		}
	}
}

// TestDeepCloneOnePassEnds holds that a pass that fails goes on with nothing.
func TestDeepCloneOnePassEnds(t *testing.T) {
	type value struct {
		refused chan int
		list    []*int
		byName  map[string]*int
	}
	v, out := &value{make(chan int), []*int{new(int), new(int)}, map[string]*int{"a": new(int)}}, (*value)(nil)
	c := &cloner{op: "Heap", plans: callerPlans(0)}
	c.ledger.open()
	if c.onePass(c.plan(reflect.TypeFor[*value]()), unsafex.PtrOf(&v), unsafex.PtrOf(&out)) {
		t.Fatal("a channel was copied")
	}
	if c.ledger.count != 1 || len(c.maps) != 0 {
		t.Errorf("after the refusal it made %d copies and %d maps", c.ledger.count-1, len(c.maps))
	}
}

// TestDeepCloneKeepsLedger holds that one clone after the other does not make the ledger anew.
func TestDeepCloneKeepsLedger(t *testing.T) {
	type node struct {
		next *node
		room [lineBytes]byte
	}
	var v, out *node
	for range 4 * fewLines {
		v = &node{next: v}
	}
	c := &cloner{op: "Heap", plans: callerPlans(0)}
	p := c.plan(reflect.TypeFor[*node]())
	if !c.tryOnePass(p, unsafex.PtrOf(&v), unsafex.PtrOf(&out)) {
		t.Fatal("a list took the long way")
	}
	if c.ledger.lines != 0 || len(c.ledger.table) <= fewLines {
		t.Errorf("a ledger of %d lines remains with %d slots", c.ledger.lines, len(c.ledger.table))
	}
}

// TestDeepCloneAsks has the types for which it matters what module calls, and others.
func TestDeepCloneAsks(t *testing.T) {
	type own struct {
		next *own
		list []map[string]*[5]own
	}
	stranger := reflect.StructOf([]reflect.StructField{{Name: "x", PkgPath: "example.com/stranger", Type: reflect.TypeFor[*int]()}})
	number := reflect.StructOf([]reflect.StructField{{Name: "x", PkgPath: "example.com/stranger", Type: reflect.TypeFor[int]()}})
	s := mainPlans()
	for typ, want := range map[reflect.Type]bool{
		reflect.TypeFor[own]():                       false,
		reflect.TypeFor[*strings.Reader]():           false,
		reflect.TypeFor[*any]():                      true,
		reflect.TypeFor[map[string]error]():          true,
		stranger:                                     true,
		reflect.SliceOf(reflect.PointerTo(stranger)): true,
		reflect.MapOf(reflect.PointerTo(stranger), reflect.TypeFor[int]()): true,
		reflect.ArrayOf(9, stranger):                                       true,
		reflect.PointerTo(number):                                          false,
	} {
		if got := s.plan(typ).asks; got != want {
			t.Errorf("%s asks: %v", typ, got)
		}
	}
}
