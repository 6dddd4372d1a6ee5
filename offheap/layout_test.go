// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/internal/sizeclass"
)

// TestLayout holds what the fast paths and the metadata rely on.
func TestLayout(t *testing.T) {
	if n := unsafe.Sizeof(span{}); n > spanBytes {
		t.Errorf("a span's record is %d bytes, more than the %d that group words follow", n, spanBytes)
	}
	if n := unsafe.Sizeof(slot{}); n != 64 {
		t.Errorf("a slot is %d bytes, want a cache line of 64", n)
	}
	if n := unsafe.Offsetof(slots{}.bins); n != 64 {
		t.Errorf("the slots of a holder begin at offset %d, want a whole cache line, 64", n)
	}
	for class := range uint32(sizeclass.Count) {
		var b bin
		b.shape(sizeclass.Size(class))
		if n := unsafe.Sizeof([pageBins]slot{}); roundUp(recordBytes(b.groups()), metaAlign) >= n {
			t.Errorf("a slab's record of class %d is not shorter than a page of slots, %d bytes: a page may be a record that was used", class, n)
		}
	}
	if n := reflect.TypeFor[origin]().NumField(); n > 4 {
		t.Errorf("a Typed has %d fields: the compiler keeps a struct of more than 4 on the stack, and each call writes it there", n)
	}
	if n := unsafe.Sizeof(Ref[int]{}); n != 8 {
		t.Errorf("a Ref is %d bytes, want 8", n)
	}
	if n, end := unsafe.Sizeof(fileHeader{}), unsafe.Offsetof(fileHeader{}.layout); n != fileStart || end != 40 {
		t.Errorf("a file header is %d bytes, want %d; its first part is %d, checkHeader reads 40", n, fileStart, end)
	}
}

// testRecord is memory for a record. A variable of a test could move with its stack.
var testRecord [64]uint64

// TestWordsStay: a record serves slabs with any number of groups, one after the other. What they write
// to a place that is a group's word in another life must be a group's word, too, because the versions
// in it detect that the slab has changed. So idle pages lie elsewhere.
func TestWordsStay(t *testing.T) {
	sp := spanAt(uintptr(unsafe.Pointer(&testRecord)))
	idle := map[uintptr]bool{}
	for groups := range uint16(40) {
		sp.blocks, sp.shift = (groups+1)<<2, 2
		for i := range idleWords {
			idle[uintptr(unsafe.Pointer(sp.idleWord(i)))] = true
		}
		last := sp.word(uint32(groups))
		if idle[last] || last+8 > sp.addr()+recordBytes(sp.groups()) {
			t.Errorf("the last word of %d groups is that of idle pages in another life, or lies behind the record", sp.groups())
		}
	}
	if len(idle) != idleWords {
		t.Errorf("idle pages have %d words in the lives of a record", len(idle))
	}
}

// TestStateOf: a bin takes a record for its own only in a life in which it is.
func TestStateOf(t *testing.T) {
	sp := spanAt(uintptr(unsafe.Pointer(&testRecord)))
	b := &bin{id: 7}
	for _, c := range []struct {
		bin, state, want uint32
	}{
		{7, spanUnlisted, spanUnlisted}, {7, spanListed, spanListed}, {7, spanCurrent, spanCurrent},
		{8, spanUnlisted, spanDead}, {8, spanListed, spanDead}, {7, spanDead, spanDead},
	} {
		sp.bin = c.bin
		sp.state.Store(c.state)
		if got := b.stateOf(sp); got != c.want {
			t.Errorf("the state %d of a record of bin %d is %d to bin 7, want %d", c.state, c.bin, got, c.want)
		}
	}
}
