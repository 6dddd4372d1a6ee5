// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
)

// TestCountsMoveAtOnce: a flush, and Close of a Local, move the counts of slots to the bin. No sum misses a
// count meanwhile or has it twice. One slot has allocated as many blocks as another one has freed, so
// the sum is the same all the time.
func TestCountsMoveAtOnce(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
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
		"sum": func() int64 { return inUseOf(h.heap, nil) }, "Stats": func() int64 { return h.stats().InUse },
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
	h := releasedHeap(t, &fakemem.Fake{})
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

// TestCountsOfSlotsStaySmall: goroutines allocate through one slot and free through another one. No slot
// counts more than blocks of 64 KiB either way, so that a sum is hardly wrong. The slots
// between the two make a sum take long.
func TestCountsOfSlotsStaySmall(t *testing.T) {
	needOwnMemory(t)
	sums := 2000
	if testing.Short() {
		sums = 200
	}
	for _, size := range []int{64, 64 << 10} {
		h := releasedHeap(t, &fakemem.Fake{})
		locals := make([]*Local, 300)
		for i := range locals {
			locals[i] = openLocal(t, h)
			pair(t, h, size, locals[i], locals[i])
		}
		first, last := locals[0], locals[len(locals)-1]
		var over atomic.Bool
		var pairs sync.WaitGroup
		pairs.Go(func() {
			for n := 0; n < 2000 || !over.Load(); n++ {
				pair(t, h, size, first, last)
			}
		})
		pairs.Go(func() {
			for n := 0; n < 2000 || !over.Load(); n++ {
				pair(t, h, size, locals[2], locals[1])
			}
		})
		for range sums {
			const wrong = 4 * 256 << 10 // By four Locals; see Stats.
			if n := inUseOf(h.heap, nil); n < -wrong || n > wrong+128<<10 {
				t.Errorf("blocks of %d bytes: %d bytes are in use, want at most 2 blocks, and an error of %d", size, n, wrong)
				break
			}
			b, err := h.allocBytes("Alloc", 128<<10, h.request(8, false))
			if err != nil {
				t.Error(err)
				break
			}
			h.freeSlow(addrOf(b), nil, "Free")
		}
		over.Store(true)
		pairs.Wait()
		for _, c := range *h.active.Load() {
			for _, b := range *h.bins.Load() {
				if s := c.slot(b); s != nil && s.size != 0 && (int(s.out) > 64<<10/int(s.size) || int(s.out) < -64<<10/int(s.size)) {
					t.Errorf("a slot of blocks of %d bytes counts %d", s.size, int(s.out))
				}
			}
		}
		if n := inUseOf(h.heap, nil); n != 0 {
			t.Errorf("%d bytes are in use at the end", n)
		}
	}
}

// pair allocates a block through a Local and frees it through another one.
func pair(t testing.TB, h testHeap, size int, from, to *Local) {
	b, err := h.allocBytes("Alloc", size, request{kind: h.plain, align: 8, local: from})
	if err != nil {
		t.Error(err)
		return
	}
	h.freeSlow(addrOf(b), to, "Free")
}
