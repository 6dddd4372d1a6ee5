// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// A group's word is where goroutines meet. One interleaving: P1 holds the group and P2 frees block 5
// of it. P2 reads the word, with P1 in it, and P1's mask, in which bit 5 is not set: no second free.
// P2 swaps the word for one with bit 5. If P1 has checked the group in since P2 read the word, its
// version has changed, the swap fails, and P2 begins again: now no one has the group. If the swap
// came first, P1's own swap fails, and it checks in with bit 5.

// checkIn returns bits and the group. The result is the bits that are free now, and those of them
// that were free in the word already, because two goroutines freed the block at the same moment.
func checkIn(w uintptr, mask uint32) (free, twice uint32) {
	for {
		v := unsafex.Load64(w)
		n := withHolder(v, 0) | uint64(freeBits(v)|mask)
		invariants.Window()
		if unsafex.CAS64(w, v, n) {
			return freeBits(n), freeBits(v) & mask
		}
	}
}

// lockGroup makes the purger the holder if there is none, and returns the free bits, which stay. One
// interleaving: the purge locks a group whose blocks are all free and asks the system for its pages.
// Meanwhile P1 looks for a block: it finds a holder in the word and goes on to the next group. P2
// frees a stale pointer into it: the bit is set in the word, so that is a second free. Nobody can
// have a block there until unlockGroup.
func lockGroup(w uintptr) (uint32, bool) {
	for {
		v := unsafex.Load64(w)
		if holderOf(v) != 0 {
			return 0, false
		}
		invariants.Window()
		if unsafex.CAS64(w, v, withHolder(v, purger)|uint64(freeBits(v))) {
			return freeBits(v), true
		}
	}
}

// unlockGroup ends what lockGroup began. The result is the bits that are free now.
func unlockGroup(w uintptr) uint32 {
	for {
		v := unsafex.Load64(w)
		if unsafex.CAS64(w, v, withHolder(v, 0)|uint64(freeBits(v))) {
			return freeBits(v)
		}
	}
}

// initGroup makes all blocks of mask free in a slab that no other goroutine knows yet. The store
// need not be atomic: the page map publishes the slab later.
func initGroup(w uintptr, mask uint32) {
	p := unsafex.At[uint64](w)
	*p = withHolder(*p, 0) | uint64(mask)
}

// hasFree says whether a group can be checked out.
func (s *span) hasFree() bool {
	for g := range s.groups() {
		if v := unsafex.Load64(s.word(g)); holderOf(v) == 0 && freeBits(v) != 0 {
			return true
		}
	}
	return false
}

// allFree reports whether every block is free and no holder has a group, as far as the count goes.
func (s *span) allFree() bool { return s.full.Load() == s.groups() }

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

// newKind makes a kind for a type, for a purpose or none.
func (h *heap) newKind(p *purposeState, d *typeDesc) *kind {
	k := &kind{purpose: p, budgets: []*budget{&h.budget}}
	if p != nil {
		k.budgets = append(k.budgets, &p.budget)
		k.wipe = p.options.Wipe
	}
	if d != nil {
		k.typ, k.pointers, k.wipe = d.typ, d.pointers, k.wipe || d.pointers
	}
	h.mu.Lock()
	h.kinds = append(h.kinds, k)
	h.mu.Unlock()
	return k
}

// newBin adds the bin of a class to a kind. The caller holds the heap's lock, or no other goroutine
// knows the heap yet. Kinds for sampled blocks have bin numbers behind those of the first fastBins,
// where gaps are filled by a bin that has no blocks.
func (h *heap) newBin(k *kind, class uint32) *bin {
	bins := slices.Clone(*h.bins.Load()) // A reader of the old ones does not see the change.
	b := &bin{id: h.nfast, kind: k, class: class}
	if k.ordinary != nil || h.nfast == nullBin {
		b.id = uint32(max(len(bins), fastBins))
	} else {
		h.nfast++
	}
	b.slotted = b.id < fastBins || k.ordinary == nil && b.id < fastBins+maxPages*pageBins
	if class != largeClass {
		b.shape(sizeclass.Size(class))
	}
	for uint32(len(bins)) <= b.id {
		bins = append(bins, &bin{id: nullBin, kind: h.plain})
	}
	bins[b.id] = b
	h.bins.Store(&bins)
	k.bins[class].Store(b)
	return b
}

// shape chooses the geometry of slabs of blocks of size bytes: at least 64 KiB and eight blocks,
// with less than a block left over.
func (b *bin) shape(size uintptr) {
	b.size, b.magic = uint32(size), magicOf(size)
	for 2<<b.shift <= groupMax && uintptr(2<<b.shift)*size <= groupBytes {
		b.shift++
	}
	const least = 64 << 10
	bytes := roundUp(max(least, 8*size), granule)
	if size >= 1<<10 {
		// The step of the octave divides the size: so many blocks fill their granules exactly.
		step := size & -size
		if n := granule / min(step, granule); n*size >= least && n >= 8 {
			bytes = roundUp(n*size, granule)
		}
	}
	b.granules = uint32(bytes / granule)
	b.blocks = uint32(bytes / size)
}

// bin is the bin of a class of k, made on first use.
func (h *heap) bin(k *kind, class uint32) *bin {
	if b := k.bins[class].Load(); b != nil {
		return b
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := k.bins[class].Load(); b != nil {
		return b
	}
	return h.newBin(k, class)
}

// push puts an unlisted slab at the head of the list. The caller holds b.mu.
func (b *bin) push(s *span) {
	s.prev, s.next = 0, b.list
	if b.list != 0 {
		spanAt(b.list).prev = s.addr()
	}
	b.list = s.addr()
	s.state.Store(spanListed)
	b.checkListed(s)
}

// remove takes a listed slab out of the list. The caller holds b.mu and sets the state.
func (b *bin) remove(s *span) {
	b.checkListed(s)
	if s.prev != 0 {
		spanAt(s.prev).next = s.next
	} else {
		b.list = s.next
	}
	if s.next != 0 {
		spanAt(s.next).prev = s.prev
	}
	s.next, s.prev = 0, 0
}

// takeListed makes the first slab of the list current and returns it, or nil.
func (b *bin) takeListed() *span {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.list == 0 {
		return nil
	}
	s := spanAt(b.list)
	b.remove(s)
	s.state.Store(spanCurrent)
	return s
}

// relist lists an unlisted slab of b if it has free blocks. It is no harm if the slab was taken
// apart in the meantime, and the record serves another slab: that is b's, too.
func (b *bin) relist(s *span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	invariants.Window()
	if s.state.Load() == spanUnlisted && s.hasFree() {
		b.push(s)
	}
}

// slab is a current slab with free blocks: a listed one or a new one.
func (h *heap) slab(b *bin) (*span, error) {
	if sp := b.takeListed(); sp != nil {
		return sp, nil
	}
	sp, dirty, err := h.allocSpan(b, int(b.granules), granule, (*span).beginSlab)
	if err != nil {
		return nil, err
	}
	sp.state.Store(spanCurrent)
	if dirty.n > 0 {
		// Its free blocks lie on pages that hold memory: the purge must come by.
		sp.touched.Store(touchedNow)
		h.purge.arm()
	}
	return sp, nil
}

// beginSlab makes a new span a slab whose blocks are all free, and which slab is to make a current
// one.
func (s *span) beginSlab() {
	for g := range s.groups() {
		initGroup(s.word(g), s.mask(g))
	}
	s.full.Store(s.groups())
	s.state.Store(spanBusy)
}

// uncacheSlab ends the use of a slab by its holder. Groups that the holder still has checked
// out come back by themselves later.
func (h *heap) uncacheSlab(addr uintptr) {
	if addr == 0 {
		return
	}
	sp := spanAt(addr)
	sp.hint = 0
	sp.state.Store(spanUnlisted)
	invariants.Window()
	h.returnSlab(sp)
}

// returnSlab brings a slab to where it belongs after blocks of it became free: into its bin's list,
// or back to the page heap if all are. It is called without a pin, maybe late: the record may serve
// another slab of the bin by then, which is brought where it belongs just as well.
func (h *heap) returnSlab(sp *span) {
	if sp.state.Load() == spanCurrent || sp.state.Load() == spanDead {
		return
	}
	invariants.Window()
	b := h.binByID(sp.bin)
	if b.isUnused(sp) {
		h.freeSlab(b, sp)
		return
	}
	invariants.Window()
	if sp.state.Load() == spanUnlisted {
		b.relist(sp)
	}
}

// isUnused says whether a slab of b goes back to the page heap.
func (b *bin) isUnused(sp *span) bool { return sp.allFree() && !b.kind.typed() }

// freeSlab gives a slab back to the page heap if all its blocks are free and no holder has any. It
// holds the bin's lock to the end: a request that does not find the slab in the list finds its
// bytes free.
//
// A full count says just that while the caller holds the lock and the slab is not a current one. A
// group whose blocks are all free is checked out only under the lock, or from a current slab by its
// user, and leaves the count before the lock or the slab's use ends. Only the purge locks groups of
// such a slab; freeSpan detects that.
func (h *heap) freeSlab(b *bin, sp *span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	state := sp.state.Load()
	invariants.Window()
	if (state != spanListed && state != spanUnlisted) || !sp.allFree() {
		return
	}
	if state == spanListed {
		b.remove(sp)
		sp.state.Store(spanUnlisted)
	}
	invariants.Window()
	h.freeSpan(b, sp)
}

// takeShared takes a single block of a current slab of b and ends the slab's use. It returns 0 if
// the slab has none left.
func (h *heap) takeShared(b *bin, sp *span) uintptr {
	addr := sp.takeOne(h)
	invariants.Window()
	h.uncacheSlab(sp.addr())
	if addr != 0 {
		b.out.Add(1)
	}
	return addr
}

// takeOne takes the first free block, or returns 0.
func (s *span) takeOne(h *heap) uintptr {
	for g := range s.groups() {
		if addr := s.takeFrom(h, g); addr != 0 {
			return addr
		}
	}
	return 0
}

// takeFrom is takeOne for a group.
func (s *span) takeFrom(h *heap, g uint32) uintptr {
	w := s.word(g)
	for {
		v := unsafex.Load64(w)
		m := freeBits(v)
		if holderOf(v) != 0 || m == 0 {
			return 0
		}
		bit := bits.TrailingZeros32(m)
		invariants.Window()
		if unsafex.CAS64(w, v, v&^groupBits+versionOne|uint64(m&^(1<<bit))) {
			invariants.Window()
			if m == s.mask(g) {
				s.full.Add(^uint32(0))
			}
			s.wake(h, g)
			return s.groupBase(g) + uintptr(bit)*uintptr(s.size)
		}
	}
}

// afterFree notes for the purge that blocks of a slab became free, and returns the slab.
func (h *heap) afterFree(slab uintptr) {
	invariants.Window()
	sp := spanAt(slab)
	if sp.touched.Load() != touchedNow {
		sp.touched.Store(touchedNow)
		h.purge.arm()
	}
	h.returnSlab(sp)
}
