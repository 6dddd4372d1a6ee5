// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"
	"unsafe"
	"weak"
)

// TestSlabs makes values of each type by each way: they are zero, aligned, do not overlap and keep
// what is written, message after message.
func TestSlabs(t *testing.T) {
	var s UnsafeSlabs
	for message := range 4 {
		var texts []*node
		for _, typ := range doorTypes {
			u := UnsafeTypeOf(typ)
			for _, n := range []int{1, 2, 3, 0, 17, 100, 1, 1} {
				p := s.New(u)
				if n != 1 {
					p = s.MakeSlice(u, n)
				}
				if p == nil || uintptr(p)%uintptr(typ.Align()) != 0 || !allZero(typ, p, n) {
					t.Fatalf("%d of %s lie at %p, zero: %t", n, typ, p, allZero(typ, p, n))
				}
				scribble(typ, p, n)
			}
		}
		for i := range 100 {
			v := (*node)(s.New(UnsafeTypeOf(reflect.TypeFor[node]())))
			v.name, v.next = fmt.Sprint(message, i), &node{name: "next"}
			texts = append(texts, v)
			b := s.Bytes(i * 10)
			for j := range b {
				b[j] = 0xA5
			}
		}
		runtime.GC()
		for i, v := range texts {
			if v.name != fmt.Sprint(message, i) || v.next.name != "next" {
				t.Fatalf("value %d is lost: %+v", i, v)
			}
		}
		s.End()
	}
}

// TestSlabsGrow grows slices step by step, gives tails back, and reuses them.
func TestSlabsGrow(t *testing.T) {
	var s UnsafeSlabs
	for range 3 {
		for _, typ := range doorTypes {
			u := UnsafeTypeOf(typ)
			if typ.Size() == 0 || typ.Size() > 1000 {
				continue
			}
			var p unsafe.Pointer
			room := 0
			for n := range 150 {
				q, r := s.Grow(u, p, n, room, n+1)
				if r <= n || r != room && !allZero(typ, unsafe.Add(q, uintptr(n)*typ.Size()), r-n) {
					t.Fatalf("%s from %d to %d: room for %d", typ, n, n+1, r)
				}
				p, room = q, r
				scribble(typ, unsafe.Add(p, uintptr(n)*typ.Size()), 1)
				if n%40 == 0 {
					s.New(u)
				}
			}
			p = s.MakeSlice(u, 6)
			if n := s.Trim(u, p, 2, 6); n != 2 && typ.Size() < 1000 {
				t.Errorf("%s: %d left of the last slice", typ, n)
			}
			if q := s.MakeSlice(u, 3); uintptr(q)-uintptr(p) != 2*typ.Size() && uintptr(p)%8 == 0 && 2*typ.Size()%8 == 0 || !allZero(typ, q, 3) {
				t.Errorf("%s: the next values lie at %p, want %d behind %p", typ, q, 2*typ.Size(), p)
			}
			if n := s.Trim(u, p, 1, 2); n != 2 {
				t.Errorf("%s: %d left of a slice that is not the last one", typ, n)
			}
		}
		s.End()
	}
}

// TestSlabsApart: no message keeps memory of another alive, and the slabs keep none.
func TestSlabsApart(t *testing.T) {
	var s UnsafeSlabs
	u := UnsafeTypeOf(reflect.TypeFor[node]())
	message := func() (first *node, held weak.Pointer[[64]int]) {
		big := new([64]int)
		for range 50 {
			first = (*node)(s.New(u))
			*(*any)(s.New(UnsafeTypeOf(reflect.TypeFor[any]()))) = big
			s.MakeSlice(u, 3)
			s.Bytes(10)
		}
		s.End()
		return first, weak.Make(big)
	}
	_, gone := message()
	kept, _ := message()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("a message that is dropped is still reachable")
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(&s)
}

// TestSlabsObjects: a message like the last two takes an object for each type, and one that needs less
// takes no slab as large as the last one's.
func TestSlabsObjects(t *testing.T) {
	var s UnsafeSlabs
	u, w := UnsafeTypeOf(reflect.TypeFor[node]()), UnsafeTypeOf(reflect.TypeFor[point]())
	message := func(n int) {
		for range n {
			s.New(u)
			s.New(w)
			s.Bytes(5)
		}
		s.End()
	}
	for range 3 {
		message(100)
	}
	if n := testing.AllocsPerRun(20, func() { message(100) }); n > 2 {
		t.Errorf("%v objects for 300 values of two kinds", n)
	}
	message(1)
	s.New(u)
	if of := s.of(u); of.limit > 4*u.size {
		t.Errorf("a slab of %d bytes for the first value after a message of one", of.limit)
	}
}

// TestCountClass: classes have room, waste at most an eighth, and lie within the table.
func TestCountClass(t *testing.T) {
	last := -1
	for n := 1; n <= mostArray/int(unsafe.Sizeof(uintptr(0))); n++ {
		class, count := countClass(n)
		if count < n || count-n > n/8 || class < last || class > last+1 || class >= arrayClasses {
			t.Fatalf("%d values: class %d with %d, after class %d", n, class, count, last)
		}
		last = class
	}
}

// TestSlabsImpossible: as many values as no memory can hold panic, also where their bytes overflow to few.
func TestSlabsImpossible(t *testing.T) {
	var s UnsafeSlabs
	for _, typ := range []reflect.Type{reflect.TypeFor[uint64](), reflect.TypeFor[node](), reflect.TypeFor[*int](), reflect.TypeFor[string]()} {
		u := UnsafeTypeOf(typ)
		size := int(typ.Size())
		p := s.MakeSlice(u, 4)
		for _, n := range []int{math.MaxInt, math.MaxInt/size*2 + 2, math.MaxInt/size*2 + 3, math.MaxInt - 1} {
			if caught(func() { s.MakeSlice(u, n) }) == nil {
				t.Errorf("MakeSlice makes %d of %s", n, typ)
			}
			if caught(func() { s.Grow(u, p, 4, 4, n) }) == nil {
				t.Errorf("Grow makes room for %d of %s", n, typ)
			}
		}
	}
}
