// SPDX-License-Identifier: Apache-2.0

package book

import (
	"testing"

	"github.com/freehold-go/freehold/offheap"
)

func TestSame(t *testing.T) {
	offheap.CheckLeaks(t)
	plain, slab := NewPlain(), NewSlab()
	defer slab.Free()
	a, b := Work(plain, 30_000), Work(slab, 30_000)
	if a != b || plain.Traded() != slab.Traded() || plain.Len() != slab.Len() {
		t.Fatalf("the books differ: %d and %d cancelled, %d and %d orders, trades %x and %x", a, b, plain.Len(), slab.Len(), plain.Traded(), slab.Traded())
	}
	if a == 0 || plain.Len() == 0 || plain.Traded() == 0 {
		t.Fatal("the work is too small to say anything")
	}
}

// TestStale cancels an order that was filled, after another has its slot.
func TestStale(t *testing.T) {
	b := NewSlab()
	defer b.Free()
	sold := b.Add(false, 100, 5)
	if b.Add(true, 100, 5) != 0 {
		t.Fatal("the orders do not match")
	}
	other := b.Add(false, 101, 7)
	if uint32(other) != uint32(sold) {
		t.Fatal("the slot is not used again")
	}
	if b.Cancel(sold) || !b.Cancel(other) {
		t.Fatal("a stale number cancels the order of another client")
	}
}
