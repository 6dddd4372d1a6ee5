// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/bits"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The functions here check what must be true of a heap at the ends of its slow paths. They do
// nothing and cost nothing unless the build has [invariants.Enabled].

// checkNewSpan is for a span that was just made. The caller holds the heap's lock.
func (h *heap) checkNewSpan(b *bin, s *span) {
	if invariants.Enabled {
		h.mustBeSpan(b, s)
	}
}

// checkFreeSpan is for a span that is about to be taken apart. The caller holds the heap's lock.
func (h *heap) checkFreeSpan(b *bin, s *span) {
	if !invariants.Enabled {
		return
	}
	h.mustBeSpan(b, s)
	if s.size == 0 {
		return
	}
	for g := range s.groups() {
		if v := unsafex.Load64(s.word(g)); freeBits(v) != s.mask(g) || holderOf(v) != 0 {
			invariants.Broken("a slab at %#x is taken apart whose group %d has holder %d and free blocks %#x, not 0 and %#x", s.base, g, holderOf(v), freeBits(v), s.mask(g))
		}
	}
}

// mustBeSpan panics unless the record, the page map and the bitmap of free granules agree.
func (h *heap) mustBeSpan(b *bin, s *span) {
	r := h.regionOf(s.base)
	if r == nil || (s.base-r.base)%granule != 0 || uint64(s.base-r.base)+uint64(s.granules)*granule > uint64(r.used.Load()) {
		invariants.Broken("a span at %#x of %d granules lies outside of what was handed out", s.base, s.granules)
	}
	if s.bin != b.id || s.size != b.size || uint32(s.blocks) != b.blocks || uint32(s.shift) != b.shift || s.magic != b.magic || r.typed != b.kind.typed() {
		invariants.Broken("the span at %#x is bin %d's, with %d blocks of %d bytes, and not like bin %d, with %d of %d", s.base, s.bin, s.blocks, s.size, b.id, b.blocks, b.size)
	}
	if uintptr(s.blocks)*uintptr(s.size) > s.bytes() {
		invariants.Broken("%d blocks of %d bytes do not fit in the %d granules of the span at %#x", s.blocks, s.size, s.granules, s.base)
	}
	i, n := int((s.base-r.base)/granule), int(s.granules)
	for k := range n {
		if e := r.entry(s.base + uintptr(k)*granule); e != s {
			invariants.Broken("the page map does not lead from granule %d of %d at %#x to its span", k, n, s.base)
		}
	}
	for what, set := range map[string][]uint64{"free": r.runs.free, "freed lately": r.fresh, "to be purged": r.stale} {
		if anyBits(set, i, n, 0) {
			invariants.Broken("granules of the span at %#x count as %s", s.base, what)
		}
	}
	if h.held.Load() < 0 || b.slabs.Load() < 0 || b.kind.purpose != nil && b.kind.purpose.held.Load() < 0 {
		invariants.Broken("a count is negative: %d bytes held, %d spans of bin %d", h.held.Load(), b.slabs.Load(), b.id)
	}
}

// slotFault describes the fault of the slot that holder id has for b, or is "". Its holder, which
// is pinned, calls it: it neither allocates nor panics. checkSlot does, afterwards.
func (h *heap) slotFault(b *bin, c *cache, id int) string {
	if !invariants.Enabled {
		return ""
	}
	s := c.slot(b)
	if s == nil || s.size == 0 {
		return ""
	}
	if s.size != b.size || s.magic != b.magic {
		return "it is not for the blocks of its bin"
	}
	if s.cur != 0 {
		if sp := spanAt(s.cur); sp.bin != b.id || sp.state.Load() != spanCurrent {
			return "its slab is another bin's, or not a current one"
		}
	}
	if s.base == 0 {
		if s.word != 0 || s.mask() != 0 {
			return "it has no group, and yet a word or free blocks"
		}
		return ""
	}
	sp := h.spanOf(s.base)
	if sp == nil || sp.bin != b.id {
		return "its group lies in no slab of the bin"
	}
	g := uint32(s.word-sp.word(0)) / 8
	if g >= sp.groups() || s.word != sp.word(g) || s.base != sp.groupBase(g) || s.last != sp.last(g) {
		return "base, word and length are not those of one group"
	}
	if s.mask()&^sp.mask(g) != 0 {
		return "it has blocks that the group has not"
	}
	v := unsafex.Load64(s.word)
	if holderOf(v) != id+1 {
		return "its group is another holder's"
	}
	return ""
}

// checkSlot panics if there was a fault.
func checkSlot(b *bin, fault string) {
	if invariants.Enabled && fault != "" {
		invariants.Broken("the slot of bin %d (%d bytes): %s", b.id, b.size, fault)
	}
}

// checkListed is for a slab that is in the list. The caller holds b.mu.
func (b *bin) checkListed(s *span) {
	if !invariants.Enabled {
		return
	}
	if s.bin != b.id || s.state.Load() != spanListed {
		invariants.Broken("a slab of bin %d in state %d is in the list of bin %d", s.bin, s.state.Load(), b.id)
	}
	if s.prev == 0 && b.list != s.addr() || s.prev != 0 && spanAt(s.prev).next != s.addr() || s.next != 0 && spanAt(s.next).prev != s.addr() {
		invariants.Broken("the neighbours of a slab in the list of bin %d do not lead to it", b.id)
	}
}

// checkPages compares the page maps with everything that is counted. The caller holds the locks of
// purge and heap.
func (h *heap) checkPages() {
	if !invariants.Enabled {
		return
	}
	c := pageCount{spans: map[uint32]int64{}}
	for i := range int(h.nregions.Load()) {
		r := &h.regions[i]
		if used := r.used.Load(); used > r.committed || r.committed > r.size || int(r.committed/granule) > len(r.runs.free)*wordBits {
			invariants.Broken("of region %d, %d bytes are used, %d committed and %d reserved", i, used, r.committed, r.size)
		}
		r.checkTree(i)
		c.addRegion(h, r)
	}
	if c.held+h.recordedBytes != h.held.Load() {
		invariants.Broken("spans have %d bytes; counted were %d", c.held, h.held.Load()-h.recordedBytes)
	}
	if c.fresh != h.purge.freshBytes || c.stale != h.purge.staleBytes {
		invariants.Broken("%d bytes were freed lately and %d before; counted were %d and %d", c.fresh, c.stale, h.purge.freshBytes, h.purge.staleBytes)
	}
	if c.half != h.purge.halfBytes {
		invariants.Broken("%d of the bytes to be purged take no memory; counted were %d", c.half, h.purge.halfBytes)
	}
	for _, b := range *h.bins.Load() {
		if n := b.slabs.Load(); n != c.spans[b.id] {
			invariants.Broken("bin %d has %d spans; counted were %d", b.id, c.spans[b.id], n)
		}
	}
}

// A pageCount is what checkPages finds in the regions.
type pageCount struct {
	held, fresh, stale, half int64
	spans                    map[uint32]int64 // By bin.
}

func (c *pageCount) addRegion(h *heap, r *region) {
	for w := range r.fresh {
		if (r.fresh[w]|r.stale[w])&^r.runs.free[w] != 0 || r.fresh[w]&r.stale[w] != 0 {
			invariants.Broken("granules around %#x are to be purged and not free, or twice", r.base+uintptr(w)*commitUnit)
		}
		c.fresh += int64(bits.OnesCount64(r.fresh[w])) * granule
		c.stale += int64(bits.OnesCount64(r.stale[w])) * granule
		c.half += int64(bits.OnesCount64(r.half[w]&(r.fresh[w]|r.stale[w]))) * halfGranule
	}
	end := r.used.Load() / granule
	for i := uintptr(0); ; {
		at, rec := r.pages.next(i, end)
		// What a typed kind has given back stays its own; no other granules are neither free nor a
		// span's.
		if !r.typed && !r.runs.isFree(int(i), int(at-i)) {
			invariants.Broken("granules of the %d at %#x are neither free nor a span's", at-i, r.base+i*granule)
		}
		if rec == 0 {
			break
		}
		addr, s := r.base+at*granule, spanAt(rec)
		if s.base != addr || s.granules == 0 {
			invariants.Broken("the page map leads from %#x to the span of %#x", addr, s.base)
		}
		h.mustBeSpan(h.binByID(s.bin), s)
		c.held += int64(s.bytes())
		c.spans[s.bin]++
		i = at + uintptr(s.granules)
	}
}

// checkTree recomputes the tree over the region's bitmap.
func (r *region) checkTree(number int) {
	t := &r.runs
	width := uint32(wordBits) * uint32(t.leaves)
	for i := 1; i < len(t.tree); i++ {
		if i&(i-1) == 0 && i > 1 {
			width /= 2
		}
		want := runNode{}
		if i < t.leaves {
			want = join(t.tree[2*i], t.tree[2*i+1], width/2)
		} else if w := i - t.leaves; w < len(t.free) {
			want = summarise(t.free[w])
		}
		if t.tree[i] != want {
			invariants.Broken("node %d of region %d says of its free granules %v, not %v", i, number, t.tree[i], want)
		}
	}
}
