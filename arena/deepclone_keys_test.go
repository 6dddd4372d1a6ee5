// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"testing"
)

// doll is a value that may stand in an interface and holds others by value.
type doll struct {
	n    int
	name *string
	a, b any
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

// TestDeepCloneNilKeys: keys with an interface that is nil are cloned, also with the build tag purego.
func TestDeepCloneNilKeys(t *testing.T) {
	type key struct {
		err error
		n   int
	}
	m := map[key]int{}
	for i := range 200 {
		m[key{n: i}] = i
	}
	if c, err := tryHeap(m); err != nil || len(c) != 200 || c[key{n: 7}] != 7 {
		t.Errorf("%d keys, error %v", len(c), err)
	}
}
