// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
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
//
// The result says whether a P was skipped.
func (h *heap) flushPs() (skipped bool) {
	h.flushMu.Lock()
	defer h.flushMu.Unlock()
	return h.flushLocked()
}

// flushLocked is flushPs for a caller that holds flushMu.
func (h *heap) flushLocked() (skipped bool) {
	h.flushes.Add(1)
	h.closePs(h.nps)
	invariants.Window()
	runtime.ReadMemStats(&h.memStats)
	for id := range h.nps {
		if percpu.Busy(id) {
			skipped = true
		} else {
			h.emptyCache(h.cache(id))
		}
		h.open[id].Store(h.caches[id].Load())
	}
	return skipped
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

// worthFlushing says whether taking back what the Ps hold could serve a request of b that failed
// with err. It reads the Ps' slots as they are at this moment, and does not stop the world: a flush
// stops every goroutine of the process, and a request that a limit refuses is often made again at
// once.
//
// At the end of memory, which is rare, anything that Ps hold may help. At a limit free blocks of b
// serve a request for one. Those of other sizes never do, because a limit counts blocks in use,
// wherever the free ones are. But a limit is kept to within the slabs that Ps hold, so a flush that
// gives many of those back makes it tighter; see loose.
//
// A free that happened before the request is seen here, whatever P it was on. Locals do not count:
// a flush leaves them alone.
func (h *heap) worthFlushing(b *bin, err error) bool {
	if !errors.Is(err, ErrLimit) {
		return true
	}
	if b.slotted && b.size != 0 {
		for c := range h.pcaches {
			if s := c.slot(b); s != nil && h.holdsFree(s, b) {
				if h.fits(b, int64(b.size)) {
					return true
				}
				break // A sum of all counters has the same answer for the other Ps.
			}
		}
	}
	return h.loose(b)
}

// loose says whether the slabs have grown by more than an eighth of a limit of b since a flush made it
// tight. Ps may hold such slabs with free blocks of other sizes, for which no limit is asked. A
// program that stays at its limit adds no slabs, and so causes no flush.
func (h *heap) loose(b *bin) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	loose := false
	for _, g := range b.kind.budgets {
		loose = g.grown() || loose
	}
	return loose
}

// pcaches yields the slots of each P that has any.
func (h *heap) pcaches(yield func(*slots) bool) {
	for id := range maxPs {
		if c := h.cache(id); c == nil || !yield(c) { // A P gets slots only after all below it.
			return
		}
	}
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
