// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/bits"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// allocSlow allocates a block of b for q. The fast path has found no block in the holder's slot, or
// the slot's count has run out. key is the key of the type that New was called for, or 0.
//
// The life cycle of an allocation:
//
//  1. The holder refills its slot: from blocks that others freed into its group, then from the next
//     group of its current slab. If the slot has a block now, the allocation is done.
//  2. If the allocation is to be sampled, sample serves it. If sample cannot, the allocation begins
//     again as an ordinary one.
//  3. The current slab has no blocks left. supply finds another one in the bin's list or makes one
//     and makes it the holder's current slab, and the allocation begins again. If the holder asks
//     rarely, supply gives it a group or a block of a slab instead; see share.go.
//  4. If a limit or the end of memory is in the way, the allocation is made once more, after a flush
//     if that may help; see again.
//
// A holder without slots gets them first. If there is no memory for slots, and for bins without
// slots, allocUnslotted takes a single block from a slab. Nothing is called while the holder is
// pinned that blocks, allocates or panics: a slab that a slot leaves is settled afterwards.
//
//go:noinline
func (h *heap) allocSlow(b *bin, q request, key uintptr) (uintptr, error) {
	l := q.local
	for refused := false; ; {
		pin, id, c := h.enter(l)
		s := c.slot(b)
		if s == nil {
			leave(pin, l)
			// Without memory for slots, free blocks may suffice.
			if b.slotted && (l != nil || id < maxPs) && h.makeSlot(id, c, b) == nil {
				continue
			}
			return h.allocUnslotted(b, q)
		}
		s.start(b)
		c.slow++
		if !b.kind.owned {
			c.served(s, key)
		}
		if refused {
			s.setLeft(s.left() + 1) // For this allocation, which was not sampled after all.
			refused = false
		}
		f := s.refill(h, id)
		fault := h.slotFault(b, c, id)
		leave(pin, l)
		checkSlot(b, fault)
		if f.left != 0 {
			h.afterFree(f.left)
		}
		if f.sampled {
			f.addr = h.sample(b, q)
			refused = f.addr == 0
		}
		if f.addr != 0 {
			return f.addr, nil
		}
		if f.sampled {
			continue
		}
		if addr, err := h.supply(b, l, f.done, h.portionFor(b, f.rare)); err != nil || addr != 0 {
			return addr, err
		}
	}
}

// supply gets free blocks of b from the list or from a new slab, in place of the slab done, which the
// holder has used up. The address can be 0 without an error: then the caller tries again.
func (h *heap) supply(b *bin, l *Local, done uintptr, want portion) (addr uintptr, err error) {
	h.uninstall(b, l, done)
	addr, err = h.supplyOnce(b, l, want)
	if err != nil {
		err = h.again(b, err, func() (err error) {
			addr, err = h.supplyOnce(b, l, oneBlock)
			return err
		})
	}
	h.tellGrowth()
	return addr, err
}

func (h *heap) supplyOnce(b *bin, l *Local, want portion) (addr uintptr, err error) {
	if want != wholeSlab {
		b.sharing.Lock()
		defer b.sharing.Unlock()
	}
	if want == oneGroup {
		if addr, ok := h.takeGroup(b, l); ok {
			return addr, nil
		}
	}
	sp, err := h.slab(b)
	switch {
	case err != nil:
	case want == oneBlock:
		if addr = h.takeShared(b, sp); addr != 0 {
			h.countDown(b, l)
		}
	case want == oneGroup:
		addr, _ = h.groupOf(b, l, sp)
		h.settleCurrent(sp.addr())
	default:
		h.install(b, l, sp)
	}
	return addr, err
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

// beginSlab makes a new span a slab whose blocks are all free, and which slab is to make a current one.
func (s *span) beginSlab() {
	for g := range s.groups() {
		initGroup(s.word(g), s.mask(g))
	}
	s.full.Store(s.groups())
	s.state.Store(spanInHand)
}

// countDown counts a block that the holder did not get through its slot, so that it brings the next
// sampled block nearer, too.
func (h *heap) countDown(b *bin, l *Local) {
	pin, _, c := h.enter(l)
	if s := c.slot(b); s != nil && s.size != 0 && s.left() != 0 {
		s.setLeft(s.left() - 1)
	}
	leave(pin, l)
}

// install hands a current slab to the holder, unless that has got one in the meantime.
func (h *heap) install(b *bin, l *Local, sp *span) {
	pin, _, c := h.enter(l)
	if s := c.slot(b); s != nil && s.cur == 0 {
		s.start(b) // It may be that of another P than the one that asked.
		s.cur = sp.addr()
		leave(pin, l)
		return
	}
	leave(pin, l)
	h.settleCurrent(sp.addr())
}

// uninstall ends the use of the slab done, if it is the holder's current one, and not 0.
func (h *heap) uninstall(b *bin, l *Local, done uintptr) {
	if done == 0 {
		return
	}
	pin, _, c := h.enter(l)
	s := c.slot(b)
	mine := s != nil && s.cur == done
	if mine {
		s.cur = 0
	}
	leave(pin, l)
	if mine {
		h.settleCurrent(done)
	}
}

// refilling is what refill found: a block, or that the allocation is to be sampled, or neither.
// left is the slab that the slot has left, or 0, which the caller settles. done is the slab in use if
// it has no more blocks for the slot, or 0; see supply. rare is what slot.asksRarely said.
type refilling struct {
	addr, left, done uintptr
	sampled, rare    bool
}

// refill finds a block for its holder in what the slot knows: its group and its slab. The holder
// is pinned: nothing here blocks.
func (s *slot) refill(h *heap, id int) (f refilling) {
	if f.sampled = s.due(h.rates.Load()); f.sampled {
		return f
	}
	if f.addr = s.pop(); f.addr != 0 {
		return f
	}
	var ok bool
	if ok, f.left = s.retake(h); ok {
		f.addr = s.pop()
		return f
	}
	if s.cur == 0 {
		f.rare = s.asksRarely(h)
		return f
	}
	sp := spanAt(s.cur)
	for g := uint32(sp.hint); g < sp.groups(); g++ {
		if !s.checkOutFree(h, sp, g, id) {
			continue
		}
		sp.hint = uint16(g + 1)
		f.addr = s.pop()
		return f
	}
	f.done, f.rare = s.cur, s.asksRarely(h)
	return f
}

// checkOutFree makes group g of the slab the slot's, which has none, if the group has free blocks
// and no holder. A group whose blocks are all free leaves the slab's count. No goroutine can retire the
// slab before that: it is a current one, or the caller holds the bin's lock; see retire.
func (s *slot) checkOutFree(h *heap, sp *span, g uint32, id int) bool {
	v := unsafex.Load64(sp.word(g))
	for holderOf(v) == 0 && freeBits(v) != 0 && !s.checkOut(h, sp, g, v, 0, id+1) {
		v = unsafex.Load64(sp.word(g))
	}
	invariants.Window()
	if s.base != 0 && s.mask() == sp.mask(g) {
		sp.full.Add(^uint32(0))
	}
	return s.base != 0
}

// settleCurrent ends the use of a slab by its holder. Groups that the holder still has checked
// out come back by themselves later.
func (h *heap) settleCurrent(addr uintptr) {
	if addr == 0 {
		return
	}
	sp := spanAt(addr)
	sp.hint = 0
	sp.state.Store(spanUnlisted)
	invariants.Window()
	h.settle(sp)
}

// settle brings a slab to where it belongs after blocks of it became free: into its bin's list,
// or back to the page heap if all are. It is called without a pin, maybe late: the record may serve
// another slab of the bin by then, which is brought where it belongs just as well.
func (h *heap) settle(sp *span) {
	if sp.state.Load() == spanCurrent || sp.state.Load() == spanDead {
		return
	}
	invariants.Window()
	b := h.binByID(sp.bin)
	if b.retires(sp) {
		h.retire(b, sp)
		return
	}
	invariants.Window()
	if sp.state.Load() == spanUnlisted {
		b.relist(sp)
	}
}

// retires says whether a slab of b goes back to the page heap.
func (b *bin) retires(sp *span) bool { return sp.allFree() && !b.kind.typed() }

// retire gives a slab back to the page heap if all its blocks are free and no holder has any. It holds
// the bin's lock to the end: a request that does not find the slab in the list finds its bytes free.
//
// A full count says just that while the caller holds the lock and the slab is not a current one. A
// group whose blocks are all free is checked out only under the lock, or from a current slab by its
// user, and leaves the count before the lock or the slab's use ends. Only the purge claims groups of
// such a slab; freeSpan detects that.
func (h *heap) retire(b *bin, sp *span) {
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

// allocUnslotted serves bins and goroutines without slots.
func (h *heap) allocUnslotted(b *bin, q request) (uintptr, error) {
	if r := h.rates.Load(); r != nil && r.Gap(uintptr(b.size)) == 0 {
		if addr := h.sample(b, q); addr != 0 {
			return addr, nil
		}
	}
	return h.allocShared(b)
}

// allocShared takes one block straight from a slab: for bins and goroutines without slots.
func (h *heap) allocShared(b *bin) (uintptr, error) {
	for {
		if addr, err := h.supply(b, nil, 0, oneBlock); err != nil || addr != 0 {
			return addr, err
		}
	}
}

// takeShared takes a single block of a current slab of b and ends the slab's use. It returns 0 if the
// slab has none left.
func (h *heap) takeShared(b *bin, sp *span) uintptr {
	addr := sp.takeOne(h)
	invariants.Window()
	h.settleCurrent(sp.addr())
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
