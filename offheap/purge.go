// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"time"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

const purgeDelay = 300 * time.Millisecond

func (p *purgeState) init(h *heap) {
	p.h, p.timer = h, p.tick
	p.delay.Store(int64(purgeDelay))
}

func (p *purgeState) tick() {
	p.mu.Lock()
	// Under the lock: a goroutine that finds neither armed nor locked knows that no tick is
	// purging.
	p.armed.Store(false)
	if p.runLocked(false) {
		p.arm()
	}
	p.mu.Unlock()
	p.follow()
}

// follow makes Go's memory limit follow the bytes that blocks still take.
func (p *purgeState) follow() {
	p.h.mu.Lock()
	p.h.synced = p.h.held.Load()
	p.h.mu.Unlock()
	p.h.onGrowth()
}

// run purges what has been free long enough, or everything. It reports whether more is to come.
func (p *purgeState) run(all bool) bool {
	p.mu.Lock()
	more := p.runLocked(all)
	if more {
		p.arm()
	}
	p.mu.Unlock()
	p.follow()
	return more
}

// runLocked is run for who holds the purge's lock.
func (p *purgeState) runLocked(all bool) bool {
	h := p.h
	defer p.runs.Add(1)
	if all {
		h.flushPs()
		h.rotate()
	}
	more := h.purgeSlabs(all)
	h.purgePages()
	if !all {
		h.rotate()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checkPages()
	return more || p.freshBytes+p.staleBytes > 0
}

// rotate makes fresh granules stale.
func (h *heap) rotate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range int(h.nregions.Load()) {
		r := &h.regions[i]
		for w, v := range r.fresh {
			if v != 0 {
				r.stale[w] |= v
				r.fresh[w] = 0
			}
		}
	}
	h.purge.staleBytes += h.purge.freshBytes
	h.purge.freshBytes = 0
}

// purgePages purges stale granules. Meanwhile they are not free, so no allocation takes them; the
// heap's lock is not held. The caller holds the purge's lock.
func (h *heap) purgePages() {
	for i := range int(h.nregions.Load()) {
		r := &h.regions[i]
		for at := 0; ; {
			h.mu.Lock()
			start, n := 0, 0
			if h.purge.staleBytes > 0 {
				start, n = nextRun(r.stale, at, len(r.stale)*wordBits, zone/granule)
			}
			if n == 0 {
				h.mu.Unlock()
				break
			}
			r.runs.set(start, n, false)
			setBits(r.stale, start, n, false)
			h.purge.staleBytes -= int64(n) * granule
			h.wakeHalves(r, start, n)
			h.mu.Unlock()

			lo := r.base + uintptr(start)*granule
			err := h.purgeRange(r, lo, lo+uintptr(n)*granule)

			h.mu.Lock()
			r.runs.set(start, n, true)
			if err != nil {
				setBits(r.fresh, start, n, true) // Its contents are unknown now: not zero, at any rate.
				h.purge.freshBytes += int64(n) * granule
			}
			h.mu.Unlock()
			at = start + n
		}
	}
}

// purgeSlabs purges free pages inside slabs that were quiet for a tick. It reports whether there
// are slabs that the next tick must check. The caller holds the purge's lock.
func (h *heap) purgeSlabs(all bool) (more bool) {
	for i := range int(h.nregions.Load()) {
		r := &h.regions[i]
		for at := uintptr(0); ; {
			sp, again := h.nextQuiet(r, &at, all)
			more = more || again
			if sp == nil {
				break
			}
			if !h.purgeSlab(r, sp) {
				sp.touched.CompareAndSwap(touchedNot, touchedLeft) // If it fails, a free came meanwhile, which has armed a tick.
			}
		}
	}
	return more
}

// nextQuiet finds the next slab at or after granule *at that is due, and locks its free groups,
// which keeps it from being taken apart. Slabs that were touched since the last tick are marked for
// the next one.
func (h *heap) nextQuiet(r *region, at *uintptr, all bool) (found *span, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	end := r.used.Load() / granule
	for *at < end {
		i, rec := r.pages.next(*at, end)
		if rec == 0 {
			break
		}
		sp := spanAt(rec)
		*at = i + uintptr(sp.granules)
		t := sp.touched.Load()
		if sp.size == 0 || t == touchedNot || t == touchedLeft && !all {
			continue
		}
		if !all && t == touchedNow {
			sp.touched.CompareAndSwap(touchedNow, touchedBefore)
			more = true
			continue
		}
		if sp.state.Load() == spanBusy {
			more = true
			continue
		}
		sp.touched.Store(touchedNot)
		invariants.Window()
		if sp.lockFreeGroups() {
			sp.purging = true
			return sp, more
		}
	}
	return nil, more
}

// lockFreeGroups locks the groups with free blocks and says whether there were any. Groups without
// any are not locked: holder and bits show a lock.
func (s *span) lockFreeGroups() bool {
	any := false
	for g := range s.groups() {
		w := s.word(g)
		if freeBits(unsafex.Load64(w)) == 0 {
			continue
		}
		if _, ok := lockGroup(w); ok {
			any = true
		}
	}
	return any
}

// purgeSlab purges the pages of a slab that lie in free blocks of locked groups, and unlocks these.
// It reports false if the system refused that.
func (h *heap) purgeSlab(r *region, sp *span) (ok bool) {
	ok = true
	page := vmem.PageSize()
	var lo, hi uintptr
	end := sp.base + uintptr(sp.blocks)*uintptr(sp.size) // Of the last block. Nobody uses the rest of the slab.
	flush := func() {
		from, to := roundUp(lo, page), hi&^(page-1)
		if hi == end {
			to = (sp.base + sp.bytes()) &^ (page - 1)
		}
		if from >= to {
			return
		}
		if h.purgeRange(r, from, to) != nil {
			ok = false
			return
		}
		sp.setIdle(h, from, to)
	}
	for g := range sp.groups() {
		v := unsafex.Load64(sp.word(g))
		if holderOf(v) != purger {
			continue
		}
		base := sp.groupBase(g)
		for i := range uintptr(sp.count(g)) {
			if freeBits(v)>>i&1 == 0 {
				continue
			}
			if block := base + i*uintptr(sp.size); block == hi {
				hi = block + uintptr(sp.size)
			} else {
				flush()
				lo, hi = block, block+uintptr(sp.size)
			}
		}
	}
	flush()
	invariants.Window()
	for g := range sp.groups() {
		if holderOf(unsafex.Load64(sp.word(g))) == purger {
			unlockGroup(sp.word(g))
		}
	}
	h.mu.Lock()
	sp.purging = false
	h.mu.Unlock()
	invariants.Window()
	h.returnSlab(sp)
	return ok
}
