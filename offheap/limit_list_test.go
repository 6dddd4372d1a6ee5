// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/sizeclass"
)

// emptyInHand is a new slab of b without a block in use, which no list has.
func emptyInHand(t *testing.T, h *heap, b *bin) *span {
	t.Helper()
	sp, _, err := h.slab(b, true)
	if err != nil {
		t.Fatal(err)
	}
	sp.state.Store(spanUnlisted)
	return sp
}

// TestRefusalLeavesTheList: a request at a limit for which nothing is flushed does not look through the list of slabs. An
// empty slab in the list, put there by hand, stays.
func TestRefusalLeavesTheList(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	q := h.request(8, false)
	b := h.bin(h.plain, sizeclass.Of(8<<10))
	empty := emptyInHand(t, h.heap, b)
	b.mu.Lock()
	b.push(empty)
	b.mu.Unlock()
	sp, _, err := h.allocSpan(b, int(b.granules), granule, (*span).beginSlab)
	if err != nil {
		t.Fatal(err)
	}
	if addr := h.takeShared(b, sp); addr == 0 { // This slab is the first of the list now.
		t.Fatal("no block")
	}
	h.SetLimit(1)
	h.tight = h.held // As after a flush with as many slabs.
	before := h.flushes.Load()
	if _, err := h.allocBytes("Alloc", 8<<10, q); !errors.Is(err, ErrLimit) || h.flushes.Load() != before {
		t.Fatalf("%v, and %d flushes; want a refusal without one", err, h.flushes.Load()-before)
	}
	if b.slabs.Load() != 2 || empty.state.Load() != spanListed {
		t.Errorf("the refusal found an empty slab in the list: %d slabs are left, want 2", b.slabs.Load())
	}
}

// countedSums counts how often the counters are added up.
type countedSums struct {
	server
	n int
}

func (s *countedSums) inUseOf(g *budget) (int64, bool) {
	s.n++
	return s.server.inUseOf(g)
}

// TestSumsOfRefusal: a request at a limit adds the counters up as often beside many Ps with free blocks as beside one.
func TestSumsOfRefusal(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	q := h.request(8, false)
	q.local = openLocal(t, h) // Without linkname the goroutine's ID may be that of one of the Ps.
	b := h.bin(h.plain, sizeclass.Of(1024))
	sums := &countedSums{server: h.server()}
	h.serve(sums)
	refusal := func() int {
		h.SetLimit(1)
		defer h.SetLimit(0)
		h.tight = h.held // As after a flush with as many slabs.
		before, flushes := sums.n, h.flushes.Load()
		if _, err := h.allocBytes("Alloc", 1024, q); !errors.Is(err, ErrLimit) || h.flushes.Load() != flushes {
			t.Fatalf("%v, and %d flushes; want a refusal without one", err, h.flushes.Load()-flushes)
		}
		return sums.n - before
	}
	hold := func(i int) {
		sp, _, err := h.slab(b, true)
		if err != nil {
			t.Fatal(err)
		}
		h.takeShared(b, sp)
		if newOtherP(t, h.heap, i).alloc(b) == 0 {
			t.Fatal("no block for the P")
		}
	}
	hold(0)
	one := refusal()
	for i := 1; i < 6; i++ {
		hold(i)
	}
	if n := refusal(); n != one {
		t.Errorf("a refusal takes %d sums beside one P with free blocks, and %d beside six", one, n)
	}
}
