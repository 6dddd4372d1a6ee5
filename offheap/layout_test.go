// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// TestLayout holds what the fast paths and the metadata rely on.
func TestLayout(t *testing.T) {
	if n := unsafe.Sizeof(span{}); n > spanBytes {
		t.Errorf("a span's record is %d bytes, more than the %d that group words follow", n, spanBytes)
	}
	if n := unsafe.Sizeof(slot{}); n != 64 {
		t.Errorf("a slot is %d bytes, want a cache line of 64", n)
	}
	if n := unsafe.Offsetof(cache{}.bins); n != 64 {
		t.Errorf("the slots of a holder begin at offset %d, want a whole cache line, 64", n)
	}
	if n := reflect.TypeFor[source]().NumField(); n > 4 {
		t.Errorf("a Typed has %d fields: the compiler keeps a struct of more than 4 on the stack, and each call writes it there", n)
	}
	if n := unsafe.Sizeof(Ref[int]{}); n != 8 {
		t.Errorf("a Ref is %d bytes, want 8", n)
	}
}

// TestRecordsStay: a goroutine may use a record that it has looked up after the slab is gone. So the record
// serves slabs of one bin alone, and the words of its groups go on where they were.
func TestRecordsStay(t *testing.T) {
	needOwnMemory(t)
	h := newHeap(&fakemem.Fake{})
	slab := func(b *bin) *span {
		t.Helper()
		sp, err := h.slab(b)
		if err != nil {
			t.Fatal(err)
		}
		return sp
	}
	retire := func(sp *span) {
		t.Helper()
		h.uncacheSlab(sp.addr())
		if sp.state.Load() != spanDead {
			t.Fatalf("a slab whose blocks are all free is in state %d, not taken apart", sp.state.Load())
		}
	}
	one, other := h.bin(h.plain, sizeclass.Of(4096)), h.bin(h.newKind(nil, nil), sizeclass.Of(4096))
	sp := slab(one)
	before := unsafex.Load64(sp.word(0))
	retire(sp)
	if next := slab(other); next == sp {
		t.Error("the record of a slab serves a slab of another bin")
	}
	next := slab(one)
	if next != sp {
		t.Error("the record of a slab does not serve the next one of its bin")
	}
	if after := unsafex.Load64(sp.word(0)); after>>48 == before>>48 {
		t.Errorf("a group's word is %#x in one life of the record and %#x in the next: a compare-and-swap could take one for the other", before, after)
	}
}
