// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"math/bits"
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
// stops every goroutine of the process, and a request that is refused is often made again at once.
//
// Free blocks of b serve any request for one. Other sizes serve a request that failed for want of
// memory: a slab that is free but for what Ps hold becomes granules. They never serve one that
// failed at a limit, because a limit counts blocks in use, wherever the free ones are. But a limit
// is kept to within the slabs that Ps hold, so a flush that gives many of those back makes it
// tighter; see loose.
//
// A free that happened before the request is seen here, whatever P it was on. Locals do not count:
// a flush leaves them alone.
func (h *heap) worthFlushing(b *bin, n uintptr, err error) bool {
	limited := errors.Is(err, ErrLimit)
	if b.slotted && b.size != 0 {
		for c := range h.pcaches {
			if s := c.slot(b); s != nil && h.holdsFree(s, b) {
				if !limited || h.fits(b, int64(b.size)) {
					return true
				}
				break // A sum of all counters has the same answer for the other Ps.
			}
		}
	}
	if limited {
		return h.loose(b)
	}
	return h.couldRetire(b, n)
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

// missesFree says whether the limits leave room for a block of b, and there are more free ones than those
// that Locals have.
func (h *heap) missesFree(b *bin) bool {
	if !h.fits(b, int64(b.size)) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.free(b)
	for id := maxPs; b.slotted && id < maxPs+h.nlocal; id++ {
		s := h.cache(id).slot(b)
		if s == nil {
			continue
		}
		n -= int64(bits.OnesCount32(uint32(atomic.LoadUint64(&s.state)))) * int64(b.size)
		if w := atomic.LoadUintptr(&s.word); w != 0 {
			n -= int64(bits.OnesCount32(freeBits(unsafex.Load64(w)))) * int64(b.size)
		}
		if cur := atomic.LoadUintptr(&s.cur); cur != 0 {
			n -= spanAt(cur).freeBytes()
		}
	}
	return n >= int64(b.size)
}

// couldRetire says whether a flush would retire slabs that give the bin n bytes in a row, or the
// record of a span of n bytes. It tries: under the heap's lock it marks the granules of such slabs
// as free, searches a run, and removes the marks.
func (h *heap) couldRetire(b *bin, n uintptr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	found, noRecord := false, len(b.records) == 0 && !h.meta.has(recordBytes(b.groups()))
	var marks []granuleRange
	for c := range h.pcaches {
		for _, other := range *h.bins.Load() {
			s := c.slot(other)
			if s == nil || other.size == 0 || other.kind.typed() {
				continue // Typed slabs are never retired.
			}
			before := len(marks)
			marks = h.markRetired(other, s, marks)
			found = found || noRecord && len(marks) > before && other == b
		}
	}
	for _, g := range marks {
		if !b.kind.typed() {
			_, run := g.r.runs.find(int(roundUp(n, granule) / granule))
			// A free run at the committed end shortens the commit that the request needs.
			end := g.r.runs.isFree(g.i, len(g.r.runs.free)*wordBits-g.i)
			found = found || run || end
		}
	}
	for _, g := range marks {
		g.r.runs.set(g.i, g.n, false)
	}
	return found
}

// markRetired marks the granules of the slot's slabs that a flush would retire, and lists them
// behind marks. The caller holds the heap's lock.
func (h *heap) markRetired(b *bin, s *slot, marks []granuleRange) []granuleRange {
	slabs := [2]*span{}
	if base := atomic.LoadUintptr(&s.base); base != 0 {
		slabs[0] = h.spanOf(base)
	}
	if cur := atomic.LoadUintptr(&s.cur); cur != 0 {
		slabs[1] = h.spanOf(spanAt(cur).base)
	}
	for _, sp := range slabs {
		if sp == nil || sp.bin != b.id || !h.freeButForPs(b, sp) {
			continue
		}
		r := h.regionOf(sp.base)
		g := granuleRange{r, int((sp.base - r.base) / granule), int(sp.granules)}
		if !r.runs.isFree(g.i, 1) { // Else it is marked already.
			r.runs.set(g.i, g.n, true)
			marks = append(marks, g)
		}
	}
	return marks
}

// freeButForPs says whether all blocks of a slab are free, in its words or with Ps.
func (h *heap) freeButForPs(b *bin, sp *span) bool {
	for g := range sp.groups() {
		v := unsafex.Load64(sp.word(g))
		free := freeBits(v)
		if holder := holderOf(v); holder > maxPs {
			return false // A Local, or the purge, which retires the slab by itself.
		} else if holder != 0 {
			m, _ := h.heldMask(holder-1, b, sp.word(g))
			free |= m
		}
		if free != sp.mask(g) {
			return false
		}
	}
	return true
}
