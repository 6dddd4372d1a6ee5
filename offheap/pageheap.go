// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sizeclass"
)

// granuleRange is n granules from i of a region.
type granuleRange struct {
	r    *region
	i, n int
}

func (g granuleRange) addr() uintptr  { return g.r.base + uintptr(g.i)*granule }
func (g granuleRange) bytes() uintptr { return uintptr(g.n) * granule }

// allocSpan makes a span of n granules for bin b and shows it in the page map. setup writes the group
// words before anyone sees the span. dirty lists what of the span may hold old data. The caller calls
// tellGrowth once it holds no lock.
func (h *heap) allocSpan(b *bin, n int, align uintptr, setup func(*span)) (s *span, dirty dirtyRuns, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, err = h.allocSpanLocked(b, n, align, setup, &dirty)
	return s, dirty, err
}

// tellGrowth makes the memory limit follow if much was taken since it last did. The caller holds no
// lock.
func (h *heap) tellGrowth() {
	if h.grown.Load() && h.grown.Swap(false) {
		h.growthHook()
	}
}

func (h *heap) allocSpanLocked(b *bin, n int, align uintptr, setup func(*span), dirty *dirtyRuns) (*span, error) {
	bytes := int64(n) * granule
	if err := b.kind.checkLimit(bytes); err != nil {
		return nil, err
	}
	s, err := h.record(b)
	if err != nil {
		return nil, err
	}
	g, err := h.allocGranules(b, n, align, dirty)
	if err != nil {
		b.records = append(b.records, s.addr())
		return nil, err
	}
	invariants.Window()
	atomic.StoreUintptr(&s.base, g.addr())
	invariants.Window()
	atomic.StoreUint32(&s.granules, uint32(n))
	s.next, s.prev = 0, 0
	s.touched.Store(0)
	setup(s)
	if s.size != 0 {
		h.initIdle(g.r, s, dirty)
	} else {
		s.idle.Store(uint32(g.n))
	}
	h.mapBytes += g.r.pages.note(uintptr(g.i), uintptr(g.i+n), s.addr())
	b.slabs.Add(1)
	h.count(b, bytes)
	h.checkNewSpan(b, s)
	return s, nil
}

// record is a record for a span of b. The caller holds the lock.
func (h *heap) record(b *bin) (*span, error) {
	if last := len(b.records) - 1; last >= 0 {
		s := spanAt(b.records[last])
		b.records = b.records[:last]
		return s, nil
	}
	rec, err := h.meta.alloc(h.mem, recordBytes(b.groups()))
	if err != nil {
		return nil, err
	}
	s := spanAt(rec)
	s.bin, s.size, s.magic, s.blocks, s.shift = b.id, b.size, b.magic, uint16(b.blocks), uint8(b.shift)
	return s, nil
}

// count adds n bytes to what spans of b hold. The caller holds the lock.
func (h *heap) count(b *bin, n int64) {
	h.hold(b.kind, n)
	if b.size == 0 {
		b.out.Add(n)
	}
}

// freeSpan takes a span apart whose blocks are all free and which no list and no holder knows.
func (h *heap) freeSpan(b *bin, s *span) {
	h.mu.Lock()
	if s.claimed {
		s.state.Store(spanUnlisted) // The purge will settle it when it is done.
		h.mu.Unlock()
		return
	}
	h.checkFreeSpan(b, s)
	r := h.regionOf(s.base)
	g := granuleRange{r, int((s.base - r.base) / granule), int(s.granules)}
	space := granuleRange{r, g.i, s.rangeGranules()} // Of a typed kind, none of whose slabs is ever taken apart.
	r.pages.note(uintptr(g.i), uintptr(g.i+g.n), 0)
	b.slabs.Add(-1)
	h.count(b, -int64(s.bytes()))
	s.state.Store(spanDead)
	invariants.Window()
	b.records = append(b.records, s.addr())
	if !b.kind.typed() {
		r.runs.set(g.i, g.n, true)
		if s.size != 0 {
			h.endIdle(s, g)
		} else {
			setBits(r.fresh, g.i, g.n, true)
			h.purge.freshBytes += int64(g.bytes())
		}
	}
	h.mu.Unlock()
	if b.kind.typed() {
		h.freeTyped(b.kind, space)
	} else {
		h.purge.arm()
	}
}

// allocGranules takes n granules for a span of b. For a large block of a typed kind it takes a range of
// at least n. The caller holds the lock.
func (h *heap) allocGranules(b *bin, n int, align uintptr, dirty *dirtyRuns) (granuleRange, error) {
	k := b.kind
	if b.size != 0 || !k.typed() { // A slab over a large block's range would lay its values across the old ones.
		return h.freshGranules(k, n, align, dirty)
	}
	if g, ok := k.takeRange(n, align); ok {
		return g, nil
	}
	room := int(sizeclass.Capacity(uintptr(n)))
	g, err := h.freshGranules(k, room, align, dirty)
	if err != nil && room > n { // There may be room for the block alone.
		g, err = h.freshGranules(k, n, align, dirty)
	}
	if err != nil {
		if g, ok := k.takeLongRange(n, align); ok {
			return g, nil
		}
	}
	return g, err
}

// freshGranules takes n granules for a span of k at the lowest address that fits. The caller holds
// the lock.
func (h *heap) freshGranules(k *kind, n int, align uintptr, dirty *dirtyRuns) (granuleRange, error) {
	extra := 0
	if align > granule {
		extra = int(align/granule) - 1
	}
	var full error
	for i := range int(h.nregions.Load()) {
		if r := &h.regions[i]; r.typed == k.typed() {
			g, err := h.takeFrom(r, n, extra, align, dirty)
			if err == nil {
				return g, nil
			}
			if !errors.Is(err, errRegionFull) {
				full = err
			}
		}
	}
	if full != nil {
		return granuleRange{}, full
	}
	r, err := h.addRegion(uintptr(n+extra)*granule, k.typed())
	if err != nil {
		return granuleRange{}, err
	}
	g, err := h.takeFrom(r, n, extra, align, dirty)
	if errors.Is(err, errRegionFull) {
		err = outOfMemory("blocks", uintptr(n)*granule, err)
	}
	return g, err
}

func (h *heap) takeFrom(r *region, n, extra int, align uintptr, dirty *dirtyRuns) (granuleRange, error) {
	i, ok := r.runs.find(n + extra)
	if !ok {
		// Free granules at the end count towards the need.
		tail := 0
		if len(r.runs.tree) > 0 {
			tail = r.tailFree()
		}
		if err := h.commit(r, uintptr(n+extra-tail)*granule); err != nil {
			return granuleRange{}, err
		}
		if i, ok = r.runs.find(n + extra); !ok {
			return granuleRange{}, errRegionFull
		}
	}
	if extra > 0 {
		addr, from := r.base+uintptr(i)*granule, i
		i += int((roundUp(addr, align) - addr) / granule)
		h.skip(r, from, i)
	}
	r.runs.set(i, n, false)
	h.clean(r, i, n, dirty)
	if end := uintptr(i+n) * granule; end > r.used.Load() {
		r.used.Store(end)
	}
	return granuleRange{r, i, n}, nil
}

// skip is for the free granules [i, j), which alignment leaves between two blocks. The huge page in
// which the block before ends and that in which the block behind begins give them memory when the
// blocks are written. So they count as freed lately, and a purge gives the memory back.
func (h *heap) skip(r *region, i, j int) {
	const unit = hugeUnit / granule
	before, behind := (i+unit-1)/unit*unit, j/unit*unit
	n := h.mayFill(r, i, min(before, j)) + h.mayFill(r, max(behind, i), j)
	if n > 0 {
		h.purge.freshBytes += int64(n) * granule
		h.purge.arm()
	}
}

// mayFill notes that free granules of one huge page, [i, j), may have memory. It returns how many
// of them were not known to.
func (h *heap) mayFill(r *region, i, j int) (n int) {
	if i >= j || !r.mayBeHuge(uintptr(i)*granule) {
		return 0
	}
	for w, mask := range spanWords(i, j-i) {
		mask &^= r.fresh[w] | r.stale[w]
		r.fresh[w] |= mask
		n += bits.OnesCount64(mask)
	}
	return n
}

// tailFree is the number of free granules at the committed end.
func (r *region) tailFree() int {
	n := 0
	for w := len(r.runs.free) - 1; w >= 0; w-- {
		end := int(r.runs.tree[r.runs.leaves+w].end)
		n += end
		if end < wordBits {
			break
		}
	}
	return n
}

// clean takes the granules off the purge's lists and notes which of them hold old data.
func (h *heap) clean(r *region, i, n int, dirty *dirtyRuns) {
	h.wakeHalves(r, i, n)
	for _, set := range [2][]uint64{r.fresh, r.stale} {
		at := i
		for {
			start, k := nextRun(set, at, i+n, n)
			if k == 0 {
				break
			}
			setBits(set, start, k, false)
			dirty.add(r.base+uintptr(start)*granule, uintptr(k)*granule)
			if &set[0] == &r.fresh[0] {
				h.purge.freshBytes -= int64(k) * granule
			} else {
				h.purge.staleBytes -= int64(k) * granule
			}
			at = start + k
		}
	}
}

// dirtyRuns is a list of ranges that hold old data. When it is full the last range swallows more.
type dirtyRuns struct {
	n    int
	runs [8]struct{ lo, hi uintptr }
}

func (d *dirtyRuns) add(addr, size uintptr) {
	if d.n < len(d.runs) {
		d.runs[d.n].lo, d.runs[d.n].hi = addr, addr+size
		d.n++
		return
	}
	last := &d.runs[d.n-1]
	last.lo, last.hi = min(last.lo, addr), max(last.hi, addr+size)
}

// The address space of a large block of a typed kind is a range of granules. Its length is one of
// four to an octave, and the block lies at its beginning. A freed range serves any block of its kind that
// fits, always from its beginning: values that began elsewhere would lie across those before, and a
// stale bool over other bytes (C1). A range is never divided or joined with another.
//
// Granules of a range that the block does not use have no entry in the page map. They are zero, take no
// memory, and the block may grow over them.

// takeRange takes a freed range for a block of n granules: one of exactly that length, of the length that a new range would
// have, or of the next three. It looks at one range of each length, the last freed. The caller holds the lock.
func (k *kind) takeRange(n int, align uintptr) (granuleRange, bool) {
	if g, ok := k.takeOf(n, align); ok { // Where there was no room for more, a range has the block's length.
		return g, true
	}
	length := n
	for range 4 {
		length = int(sizeclass.Capacity(uintptr(length)))
		if g, ok := k.takeOf(length, align); ok {
			return g, true
		}
		length++
	}
	return granuleRange{}, false
}

// takeLongRange takes the shortest freed range that is long enough, when there is no room for a new one. The caller holds the lock.
func (k *kind) takeLongRange(n int, align uintptr) (granuleRange, bool) {
	best := math.MaxInt
	for length, list := range k.ranges {
		if length >= n && len(list) > 0 {
			best = min(best, length)
		}
	}
	return k.takeOf(best, align)
}

// takeOf takes the last freed range of a length.
func (k *kind) takeOf(length int, align uintptr) (granuleRange, bool) {
	list := k.ranges[length]
	last := len(list) - 1
	if last < 0 || list[last].addr()&(align-1) != 0 {
		return granuleRange{}, false
	}
	k.ranges[length] = list[:last]
	return list[last], true
}

// giveRange takes a freed range back. The caller holds the lock.
func (k *kind) giveRange(g granuleRange) {
	if k.ranges == nil {
		k.ranges = map[int][]granuleRange{}
	}
	k.ranges[g.n] = append(k.ranges[g.n], g)
}

// rangeGranules is the length of the range of a large block of a typed kind.
func (s *span) rangeGranules() int { return int(s.idle.Load()) }
