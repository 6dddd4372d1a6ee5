// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"runtime"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// flushPs checks in the groups and slabs that Ps have checked out. It is for the rare moments that
// need all free blocks: Purge, and a limit or the end of memory.
//
// The fast paths take no lock, but each first loads its P's slots. So flushPs replaces the slots
// with noSlots and then stops the world once. A goroutine that loaded the slots before is pinned,
// so the world does not stop until it has finished (GC-3). With the fallback of percpu it is marked
// busy instead, and flushPs skips its P. A goroutine that loads noSlots takes the slow path and
// waits in makeCache for the flush to end.
func (h *heap) flushPs() {
	h.flushMu.Lock()
	defer h.flushMu.Unlock()
	h.flushes.Add(1)
	h.closePs(h.nps)
	invariants.Window()
	runtime.ReadMemStats(&h.memStats)
	for id := range h.nps {
		if !percpu.Busy(id) {
			h.emptyCache(h.cache(id))
		}
		h.open[id].Store(h.caches[id].Load())
	}
}

// emptyCache checks in everything of a holder. The caller has the right to its slots and is not
// pinned.
func (h *heap) emptyCache(c *slots) {
	for _, b := range *h.bins.Load() {
		if s := c.slot(b); s != nil && s.size != 0 {
			h.emptySlot(b, s)
		}
	}
}

// psHoldFree says whether a P holds a free block of b.
func (h *heap) psHoldFree(b *bin) bool {
	if !b.slotted || b.size == 0 {
		return false
	}
	for id := range maxPs {
		c := h.cache(id)
		if c == nil {
			break // A P gets slots only after all below it.
		}
		if s := c.slot(b); s != nil && h.holdsFree(s, b) {
			return true
		}
	}
	return false
}

// holdsFree says whether a flush of the slot of a P, for blocks of b, would bring a free one forth.
// Its P may change it meanwhile.
func (h *heap) holdsFree(s *slot, b *bin) bool {
	if uint32(atomic.LoadUint64(&s.state)) != 0 {
		return true
	}
	if w := atomic.LoadUintptr(&s.word); w != 0 && freeBits(unsafex.Load64(w)) != 0 {
		return true
	}
	// The slab of the group may have other groups that the P has checked in but not counted; see
	// slot.leave.
	if base := atomic.LoadUintptr(&s.base); base != 0 {
		if sp := h.spanOf(base); sp != nil && sp.bin == b.id && sp.hasFree() {
			return true
		}
	}
	cur := atomic.LoadUintptr(&s.cur)
	return cur != 0 && spanAt(cur).hasFree()
}
