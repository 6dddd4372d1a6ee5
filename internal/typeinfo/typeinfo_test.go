// SPDX-License-Identifier: Apache-2.0

package typeinfo

import (
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

type marker struct{}

type node struct {
	value int
	next  *node
}

type inner struct{ names [2]string }

type outer struct {
	a int64
	b inner
	c *int
}

type marked struct {
	_    marker
	next *marked
	ok   bool
}

type holdsMarked struct {
	m marked
	s []int
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		v    any
		path string
		bool bool
		self bool
	}{
		{v: int(0)},
		{v: [4]float64{}},
		{v: struct{}{}},
		{v: uintptr(0)},
		{v: [0]*int{}},
		{v: true, bool: true},
		{v: struct {
			a [3]struct{ b bool }
		}{}, bool: true},
		{v: node{}, path: "typeinfo.node.next: *typeinfo.node"},
		{v: outer{}, path: "typeinfo.outer.b.names[0]: string"},
		{v: "", path: "string itself"},
		{v: []int(nil), path: "[]int itself"},
		{v: map[int]int(nil), path: "map[int]int itself"},
		{v: unsafe.Pointer(nil), path: "unsafe.Pointer itself"},
		{v: struct{ f func() }{}, path: "struct { f func() }.f: func()"},
		{v: struct{ c chan int }{}, path: "struct { c chan int }.c: chan int"},
		{v: struct{ e error }{}, path: "struct { e error }.e: error"},
		{v: time.Time{}, path: "time.Time.loc: *time.Location"},
		{v: sync.Mutex{}},
		{v: marked{}, bool: true, self: true},
		{v: holdsMarked{}, path: "typeinfo.holdsMarked.s: []int", bool: true, self: true},
	} {
		got := Describe(reflect.TypeOf(c.v), reflect.TypeFor[marker]())
		if got.PointerPath != c.path || got.Bools != c.bool || got.SelfContained != c.self {
			t.Errorf("%T: path %q bools %v self %v, want %q %v %v", c.v,
				got.PointerPath, got.Bools, got.SelfContained, c.path, c.bool, c.self)
		}
		if has := got.PointerType != nil; has != (c.path != "") || has && !strings.Contains(c.path, got.PointerType.String()) {
			t.Errorf("%T: the pointer's type is %v, its path %q", c.v, got.PointerType, c.path)
		}
	}
}

// TestKey is GC-1: the first word of an interface is the type.
func TestKey(t *testing.T) {
	v := any((*node)(nil))
	words := (*[2]uintptr)(unsafe.Pointer(&v))
	if Key[node]() != words[0] || words[0] == 0 || words[1] != 0 {
		t.Fatalf("Key %#x, interface words %#x", Key[node](), *words)
	}
	if Key[node]() == Key[outer]() || Key[int]() == Key[int64]() {
		t.Fatal("different types share a key")
	}
	if Key[node]() != generic[node]() {
		t.Fatal("one type has two keys")
	}
	if reflect.TypeOf((*node)(nil)) != reflect.TypeOf(v) {
		t.Fatal("reflect disagrees")
	}
}

//go:noinline
func generic[T any]() uintptr { return Key[T]() }

func TestKeyOf(t *testing.T) {
	for _, ok := range []bool{
		KeyOf(reflect.TypeFor[int]()) == Key[int](), KeyOf(reflect.TypeFor[node]()) == Key[node](),
		KeyOf(reflect.TypeFor[[]*outer]()) == Key[[]*outer](), KeyOf(reflect.TypeFor[error]()) == Key[error](),
		KeyOf(reflect.TypeFor[int]()) != Key[uint](),
	} {
		if !ok {
			t.Error("KeyOf does not find the key of a type")
		}
	}
}

func TestNil(t *testing.T) {
	type a struct{ x int }
	type b struct{ x int }
	v := Nil(Key[a]())
	if p, ok := v.(*a); !ok || p != nil {
		t.Errorf("the key of a gives %T %v", v, v)
	}
	if _, ok := v.(*b); ok {
		t.Error("the key of a gives a *b")
	}
}
