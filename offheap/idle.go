// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/bits"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// Idle pages are those pages of slabs that take no memory of the machine: nothing was written to
// them since they came from the machine, or since they were purged. All blocks that lie on an idle
// page are free and in no slot. A slab's record has a bit for each of its pages, in front of the
// group words.
//
// A page becomes idle in allocSpan, before anyone knows the slab, and in purgeSlab, which holds the
// groups of all its blocks meanwhile. It ceases to be idle when a holder checks a group out that
// lies on it in part, or takes a block: by an atomic operation, because several groups share a
// page.
//
// The record's first line, which each slow free reads anyway, counts the idle pages, so the bits
// are read only if the slab has idle pages. The count rises behind the bits and before the groups
// are free again, and falls behind the bits: it is not 0 for a holder that can check out a group
// which lies on an idle page.
const idleWords = 2 // A slab has at most 512 KiB, which is 128 pages of 4 KiB.

func (s *span) idleWord(i int) *uint64 {
	return unsafex.At[uint64](s.addr() + spanBytes + uintptr(i)*8)
}

// pageBits are the bits of the pages from lo on and below hi, addresses of pages.
func (s *span) pageBits(lo, hi uintptr) (m [idleWords]uint64) {
	page := vmem.PageSize()
	for w, mask := range spanWords(int((lo-s.base&^(page-1))/page), int((hi-lo)/page)) {
		m[w] |= mask
	}
	return m
}

// setIdle notes that the pages from lo on and below hi, addresses, are idle.
func (s *span) setIdle(h *heap, lo, hi uintptr) {
	n := 0
	for i, m := range s.pageBits(lo, hi) {
		if m != 0 {
			n += bits.OnesCount64(m &^ atomic.OrUint64(s.idleWord(i), m))
		}
	}
	invariants.Window()
	s.idle.Add(uint32(n))
	h.purge.idle.Add(int64(n) * int64(vmem.PageSize()))
}

// hasIdle says whether any page is idle.
func (s *span) hasIdle() bool { return s.idle.Load() != 0 }

// groupPages are the bits of the pages that group g lies on.
func (s *span) groupPages(g uint32) [idleWords]uint64 {
	page, lo := vmem.PageSize(), s.groupBase(g)
	return s.pageBits(lo&^(page-1), roundUp(lo+uintptr(s.last(g))+1, page))
}

// isIdle says whether group g lies on an idle page.
func (s *span) isIdle(g uint32) bool {
	if !s.hasIdle() {
		return false
	}
	m := s.groupPages(g)
	return atomic.LoadUint64(s.idleWord(0))&m[0]|atomic.LoadUint64(s.idleWord(1))&m[1] != 0
}

// wake notes that the pages that group g lies on are no longer idle. It does not block.
func (s *span) wake(h *heap, g uint32) {
	if !s.hasIdle() {
		return
	}
	n := 0
	for i, m := range s.groupPages(g) {
		if m != 0 {
			n += bits.OnesCount64(m & atomic.AndUint64(s.idleWord(i), ^m))
		}
	}
	invariants.Window()
	if n != 0 {
		s.idle.Add(-uint32(n))
		h.purge.idle.Add(-int64(n) * int64(vmem.PageSize()))
	}
}

// initIdle is for a new slab, of which dirty lists the pages written before. Where the first write
// to a huge page gives memory to all of it, no page counts as idle.
func (h *heap) initIdle(r *region, s *span, dirty *dirtyRuns) {
	for i := range idleWords {
		*s.idleWord(i) = 0
	}
	s.idle.Store(0)
	if vmem.PageSize() > granule || r.mayBeHuge(s.base-r.base) {
		return
	}
	for at := s.base; at < s.base+s.bytes(); at += granule {
		if !dirty.has(at) {
			s.setIdle(h, at, at+granule)
		}
	}
}

// mayBeHuge says whether the first write to a page at the offset may give memory to all of a huge
// page.
func (r *region) mayBeHuge(off uintptr) bool {
	return !r.typed && off >= hugeFrom && vmem.HugePageSize() == hugeUnit && !r.noHuge[off/zone]
}

// has says whether the granule at addr is listed.
func (d *dirtyRuns) has(addr uintptr) bool {
	for _, r := range d.runs[:d.n] {
		if addr+granule > r.lo && addr < r.hi {
			return true
		}
	}
	return false
}

// endIdle takes the idle pages of a slab, which is taken apart, off the count, and notes in the
// region which granules were written. The caller holds the heap's lock.
func (h *heap) endIdle(s *span, g granuleRange) {
	page := vmem.PageSize()
	n := 0
	for i := range idleWords {
		n += bits.OnesCount64(atomic.LoadUint64(s.idleWord(i)))
	}
	h.purge.idle.Add(-int64(n) * int64(page))
	for i := range g.n {
		idle := 0
		if n > 0 && page <= granule {
			for w, m := range s.pageBits(s.base+uintptr(i)*granule, s.base+uintptr(i+1)*granule) {
				idle += bits.OnesCount64(*s.idleWord(w) & m)
			}
		}
		if uintptr(idle)*page == granule {
			continue
		}
		setBits(g.r.fresh, g.i+i, 1, true)
		h.purge.freshBytes += granule
		if idle != 0 {
			setBits(g.r.half, g.i+i, 1, true)
			h.purge.halfBytes += halfGranule
		}
	}
}

// halfGranule is what an idle page takes off the bytes that a freed granule counts for. Pages are of
// 4 KiB where a granule has several.
const halfGranule = granule / 2

// wakeHalves forgets which of n granules from i take memory for one page alone, because they are used
// again or purged. The caller holds the heap's lock.
func (h *heap) wakeHalves(r *region, i, n int) {
	if h.purge.halfBytes == 0 {
		return
	}
	for w, mask := range spanWords(i, n) {
		h.purge.halfBytes -= int64(bits.OnesCount64(r.half[w]&mask)) * halfGranule
		r.half[w] &^= mask
	}
}
