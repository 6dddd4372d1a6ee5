// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/internal/vmem"
)

// TestCountsMoveAtOnce: a flush, and Close of a Local, move the counts of slots to the bin. No sum misses a
// count meanwhile or has it twice. One slot has allocated as many blocks as another one has freed, so
// the sum is the same all the time.
func TestCountsMoveAtOnce(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &vmem.Fake{})
	block, err := h.TryAlloc(64)
	if err != nil {
		t.Fatal(err)
	}
	b := h.binByID(h.spanOf(addrOf(block)).bin)
	slotOf := func(p otherP) *slot {
		s := &h.cache(p.id).bins[b.id]
		s.start(b)
		return s
	}
	from, to := slotOf(newOtherP(t, h.heap, 0)), slotOf(newOtherP(t, h.heap, 1))
	var reading atomic.Int64
	var readers sync.WaitGroup
	for what, read := range map[string]func() int64{
		"limits": func() int64 { return inUseOf(h.heap, nil) }, "Stats": func() int64 { return h.stats().InUse },
	} {
		reading.Add(1)
		readers.Go(func() {
			defer reading.Add(-1)
			for range 5000 {
				if n := read(); n != 64 {
					t.Errorf("%s: %d bytes are in use, want 64", what, n)
					return
				}
			}
		})
	}
	for reading.Load() > 0 {
		h.mu.Lock()
		from.out += 1000
		to.out -= 1000
		h.mu.Unlock()
		h.emptySlot(b, from)
		h.emptySlot(b, to)
	}
	readers.Wait()
}

// TestCountIsAWord: the count of a slot that passes zero again and again is read as -1, 0 or 1, on 32-bit
// systems, too.
func TestCountIsAWord(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &vmem.Fake{})
	p := newOtherP(t, h.heap, 0)
	s := &h.cache(p.id).bins[0]
	var over atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		defer over.Store(true)
		for range 1_000_000 {
			if n := s.outstanding(); n < -1 || n > 1 {
				t.Errorf("a slot that counts from -1 to 1 is read as %d", n)
				return
			}
		}
	})
	add := func(n int) { // In a call, so that each count is stored.
		s.out += uintptr(n)
		runtime.KeepAlive(s)
	}
	for !over.Load() {
		for _, n := range []int{-1, 1, 1, -1} {
			add(n)
		}
	}
	group.Wait()
}
