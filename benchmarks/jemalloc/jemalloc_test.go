//go:build jemalloc && cgo

package jemalloc

import (
	"bytes"
	"math"
	"testing"
)

// TestBlocks allocates blocks of many sizes beside each other, and counts their bytes.
func TestBlocks(t *testing.T) {
	before := InUse()
	var blocks [][]byte
	least := 0
	for i := range 2000 {
		n := i * i % 70_000
		dirty := AllocUninit(n)
		for k := range dirty {
			dirty[k] = 0xff
		}
		Free(dirty)
		b := Alloc(n)
		if len(b) != n || cap(b) != n || !bytes.Equal(b, make([]byte, n)) {
			t.Fatalf("Alloc(%d) has length %d and capacity %d, or is not zero", n, len(b), cap(b))
		}
		for k := range b {
			b[k] = byte(i)
		}
		blocks = append(blocks, b)
		least += n
	}
	if got := InUse() - before; got < int64(least) || got > int64(least)*5/4+16*2000 {
		t.Errorf("%d bytes in use, allocated %d", got, least)
	}
	for i, b := range blocks {
		if !bytes.Equal(b, bytes.Repeat([]byte{byte(i)}, len(b))) {
			t.Fatalf("block %d was written to by another one", i)
		}
		Free(b[:len(b)/2])
	}
	if got := InUse(); got != before {
		t.Errorf("%d bytes in use after all was freed, %d before", got, before)
	}
	defer func() {
		if recover() == nil {
			t.Error("more than the address space, and no panic")
		}
	}()
	Alloc(math.MaxInt)
}
