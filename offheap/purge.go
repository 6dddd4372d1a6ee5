// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/realtime"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// Giving memory back.
//
// Freed memory stays warm for a while, because it is usually needed again at once. A timer that
// runs only while there is something to give back ticks twice per delay; what has been free for
// a whole tick is purged: runs of granules in the page heap, and whole OS pages inside slabs all
// of whose blocks are free there. So a free block's memory goes back half a delay to a delay
// after it was freed.
//
// A huge page goes back to the machine only whole or split: a purge of a part of it lowers RSS
// and nothing else. Where a part is purged the page is split first, and the kernel is asked not
// to make huge pages in that zone again, or else khugepaged would fill the holes with memory.
// The wish is one per 64 MiB, because each change of it splits a mapping and the number of
// mappings is limited (vm.max_map_count).
type purgeState struct {
	h     *heap
	timer func()       // It is tick.
	armed atomic.Bool  // A tick will come.
	delay atomic.Int64 // Nanoseconds. Tests set it; negative: never.
	mu    sync.Mutex   // One purge at a time. It comes before the heap's lock.
	runs  atomic.Int64 // Purges that have ended.

	// Guarded by the lock of the heap.
	freshBytes, staleBytes int64 // In granules freed since the last tick, and before it.
	halfBytes              int64 // Bytes of pages among these that take no memory; see region.half.

	idle atomic.Int64 // Bytes of idle pages inside slabs.
}

const purgeDelay = 300 * time.Millisecond

// What span.touched says: whether blocks were freed in the slab since it was last purged, and whether
// the system refused that. Then ticks leave the slab alone until the next free in it: if a program has
// locked all of its memory, each tick would try all slabs in vain.
const (
	touchedNot    = iota
	touchedNow    // Since the last tick.
	touchedBefore // Before it.
	touchedLeft   // The system refused; the next Purge tries again.
)

func (p *purgeState) init(h *heap) {
	p.h, p.timer = h, p.tick
	p.delay.Store(int64(purgeDelay))
}

// arm sees to it that a tick comes.
func (p *purgeState) arm() {
	if d := time.Duration(p.delay.Load()); d >= 0 && p.armed.CompareAndSwap(false, true) {
		realtime.AfterFunc(max(d/2, time.Millisecond), p.timer)
	}
}

func (p *purgeState) tick() {
	p.mu.Lock()
	// Under the lock: a goroutine that finds neither armed nor locked knows that no tick is purging.
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
	p.h.growthHook()
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
			h.purgeMap(granuleRange{r, start, n})
			h.mu.Unlock()
			at = start + n
		}
	}
}

// purgeMap gives the pages of the map back that led to spans in the range and have no entry any
// more. The caller holds the heap's lock.
func (h *heap) purgeMap(g granuleRange) {
	h.mapBytes -= g.r.pages.purge(h.mem, uintptr(g.i), uintptr(g.i+g.n))
}

// purgeRange gives the pages of [lo, hi) back, splitting huge pages that it covers in part. Both
// ends are multiples of the OS page size. The caller holds the purge's lock or owns the range.
func (h *heap) purgeRange(r *region, lo, hi uintptr) error {
	h.mu.Lock()
	var split [2]uintptr
	if first := lo &^ (hugeUnit - 1); r.takeHuge(first, lo, hi) {
		split[0] = first
	}
	if last := (hi - 1) &^ (hugeUnit - 1); r.takeHuge(last, lo, hi) {
		split[1] = last
	}
	for _, u := range split {
		if u != 0 {
			h.refuseHuge(r, u)
		}
	}
	h.mu.Unlock()
	for _, u := range split {
		if u != 0 {
			// Splitting is a matter of what the machine gets back; the purge is right without.
			_ = h.mem.SplitHuge(max(u, r.base), min(hugeUnit, r.base+r.used.Load()-u))
		}
	}
	return h.mem.Purge(lo, hi-lo)
}

// takeHuge says whether the unit may be a huge page that [lo, hi) covers in part only, and if so
// notes that it is none any more. The caller holds the heap's lock.
func (r *region) takeHuge(unit, lo, hi uintptr) bool {
	if unit < r.base || unit >= lo && unit+hugeUnit <= hi {
		return false
	}
	i := int((unit - r.base) / hugeUnit)
	if i/wordBits >= len(r.huge) || r.huge[i/wordBits]>>(i%wordBits)&1 == 0 {
		return false
	}
	setBits(r.huge, i, 1, false)
	return true
}

// adviseNew asks for huge pages in a range just committed, from the offset on, if the heap is no
// longer small. It runs under the heap's lock.
func (h *heap) adviseNew(r *region, from uintptr) {
	units := int((r.committed + hugeUnit - 1) / hugeUnit)
	for len(r.huge)*wordBits < units {
		r.huge = append(r.huge, 0)
	}
	// Every unit counts as maybe huge: the system may make them without being asked.
	first := int(from / hugeUnit)
	setBits(r.huge, first, units-first, true)
	for len(r.noHuge) < int((r.committed+zone-1)/zone) {
		r.noHuge = append(r.noHuge, false)
	}
	h.askHuge(r, from, r.committed)
}

func (h *heap) askHuge(r *region, from, to uintptr) {
	from = max(from, hugeFrom)
	if r.typed || from >= to || vmem.HugePageSize() != hugeUnit {
		return
	}
	for z := from / zone; z*zone < to; z++ {
		lo := z * zone
		for z*zone < to && !r.noHuge[z] {
			z++
		}
		if lo, hi := max(from, lo), min(to, z*zone); lo < hi {
			_ = h.mem.Huge(r.base+lo, hi-lo) // Only speed depends on it.
		}
	}
}

// refuseHuge keeps the kernel from making huge pages in the unit's zone. It runs under the lock.
func (h *heap) refuseHuge(r *region, unit uintptr) {
	z := (unit - r.base) / zone
	if r.noHuge[z] {
		return
	}
	lo, hi := z*zone, min((z+1)*zone, r.committed)
	if h.mem.NoHuge(r.base+lo, hi-lo) == nil { // On failure khugepaged may fill holes; no more.
		r.noHuge[z] = true
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

// nextQuiet finds the next slab at or after granule *at that is due, and claims its free groups,
// which keeps it from being taken apart. Slabs that were touched since the last tick are marked for the
// next one.
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
		if sp.state.Load() == spanInHand {
			more = true
			continue
		}
		sp.touched.Store(touchedNot)
		invariants.Window()
		if sp.claimAll() {
			sp.claimed = true
			return sp, more
		}
	}
	return nil, more
}

// claimAll claims the groups with free blocks and says whether there were any. Groups without any
// are not held: holder and bits show a claim.
func (s *span) claimAll() bool {
	any := false
	for g := range s.groups() {
		w := s.word(g)
		if freeBits(unsafex.Load64(w)) == 0 {
			continue
		}
		if _, ok := claim(w); ok {
			any = true
		}
	}
	return any
}

// purgeSlab purges the pages of a slab that lie in claimed free blocks, and ends the claims. It reports
// false if the system refused that.
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
			disclaim(sp.word(g))
		}
	}
	h.mu.Lock()
	sp.claimed = false
	h.mu.Unlock()
	invariants.Window()
	h.settle(sp)
	return ok
}
