// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/internal/typeinfo"
)

// TestSlotsCollide: types whose keys have one hash do not make the table grow, and each is found.
func TestSlotsCollide(t *testing.T) {
	a := Cleanup(t, NewArena())
	if a.mask == 0 {
		t.Skip("there are no slots")
	}
	var cursors [40]cursor
	key := func(i int) uintptr { return uintptr(i+1) << 20 }
	for i := range cursors {
		a.enter(key(i), &cursors[i])
		if n := uintptr(max(minSlots, 4*(i+1))); a.mask+1 > n {
			t.Fatalf("%d slots for %d types", a.mask+1, i+1)
		}
		for j := range i + 1 {
			if a.probe(key(j)) != &cursors[j] {
				t.Fatalf("type %d of %d is not found", j, i+1)
			}
		}
		if a.probe(key(50)) != &noChunk.cursor {
			t.Fatal("a type that is not there is found")
		}
	}
}

// TestSlotsNew: values of a type whose slot is not in the place of its hash lie one behind the other, as
// those of any type.
func TestSlotsNew(t *testing.T) {
	a := Cleanup(t, NewArena())
	if a.mask == 0 || a.debug != nil {
		t.Skip("there are no slots, or values are sampled")
	}
	key := typeinfo.Key[w5]()
	a.enter(key^1<<20, &noChunk.cursor)
	at := uintptr(unsafe.Pointer(New[w5](a)))
	u := UnsafeTypeOf(reflect.TypeFor[w5]())
	for i, next := range []func() unsafe.Pointer{
		func() unsafe.Pointer { return unsafe.Pointer(New[w5](a)) },
		func() unsafe.Pointer { return unsafe.Pointer(&MakeSlice[w5](a, 1, 1)[0]) },
		func() unsafe.Pointer { return unsafe.Pointer(&SliceFrom(a, make([]w5, 1))[0]) },
		func() unsafe.Pointer { p, _ := a.UnsafeNew(u); return p },
		func() unsafe.Pointer { p, _ := a.UnsafeMakeSlice(u, 1); return p },
	} {
		New[w7](a) // The recent type is another one.
		if a.cursorOf(key) != &noChunk.cursor {
			t.Fatal("the slot is in the place of the hash")
		}
		p := next()
		if at += unsafe.Sizeof(w5{}); uintptr(p) != at || *(*w5)(p) != (w5{}) {
			t.Errorf("way %d: a value at %p, want it at %#x", i, p, at)
		}
		*(*w5)(p) = w5{new(int)}
	}
}

// TestSlotsFull: more types than the table has room for work all the same.
func TestSlotsFull(t *testing.T) {
	a := Cleanup(t, NewArena())
	if a.mask == 0 {
		t.Skip("there are no slots")
	}
	var c [2 * maxSlots]cursor
	for i := range c {
		a.enter(uintptr(i+1)<<5, &c[i])
		if a.probe(uintptr(i+1)<<5) != &c[i] {
			t.Fatalf("type %d is not found", i)
		}
	}
	if a.mask+1 != maxSlots || 2*a.filled > len(a.table) {
		t.Errorf("%d of %d slots are filled", a.filled, a.mask+1)
	}
	a.Reset(GiveBack)
}
