// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/bits"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// freed says how a free went.
type freed int

const (
	freedBlock    freed = iota
	freedInterior       // It lies inside a block or a span, not at the beginning of a block.
	freedTwice          // The block is free.
	freedGone           // The block's whole slab or the large block is free.
)

// freeSlow frees the block at addr, whatever its bin, or panics and names the mistake.
func (h *heap) freeSlow(addr uintptr, l *Local, op string) { h.freeAs(addr, l, op, nil, false) }

// freeSmall frees the block at addr, which lies in a slab of b.
func (h *heap) freeSmall(b *bin, sp *span, addr uintptr, l *Local, op string) {
	remember := b.forget(addr)
	var f freeing
	wipes := b.kind.wipe && !b.kind.typed()
	if wipes {
		b.mu.Lock() // No slab is taken apart while a block is cleared that a second free has named.
	}
	pin, id, c := h.enter(l)
	how := f.free(h, addr, sp, b, id, c)
	fault := h.slotFault(b, c, id)
	leave(pin, l)
	if wipes {
		b.mu.Unlock()
	}
	checkSlot(b, fault)
	if f.left != 0 {
		h.afterFree(f.left)
	}
	if how != freedBlock {
		if how != freedTwice { // Then the record is that of another block by now.
			remember()
		}
		h.misuse(op, addr)
	}
	if f.freed != 0 {
		h.afterFree(f.freed)
	}
}

// afterFree notes for the purge that blocks of a slab became free, and settles the slab.
func (h *heap) afterFree(slab uintptr) {
	invariants.Window()
	sp := spanAt(slab)
	if sp.touched.Load() != touchedNow {
		sp.touched.Store(touchedNow)
		h.purge.arm()
	}
	h.settle(sp)
}

// freeing makes a block free. It leaves the slabs that the caller must settle afterwards, or 0:
// that which the holder's slot has left and that in whose word the block is free now.
type freeing struct {
	left, freed uintptr
}

// free makes the block at addr free. The holder is pinned.
//
// The life cycle of a free:
//
//  1. Find the span, the block's number, its group and its bit, and read the group's word. Every
//     check is made anew against this one reading, because the slab may have changed since the
//     caller looked it up. If the slab has changed meanwhile, begin again.
//  2. If the bit is set in the word, the block is free: a double free.
//  3. If no holder has the group and another free into it is likely, check the group out in place
//     of the slot's own. The block is one of the slot's free blocks then, and the free is done.
//  4. If the caller's slot holds the group, set the bit in the slot's mask, and the free is done.
//  5. If another holder has the group, look for the bit in that holder's mask: a double free, too.
//     If mask and word cannot be read together, begin again.
//  6. Clear the block if its kind is wiped, and set the bit in the word by compare-and-swap. If the
//     word has changed since step 1, begin again. A second free may clear the block, too, before it finds
//     out. So the caller keeps the slab from being taken apart, and the block is one of the kind.
func (f *freeing) free(h *heap, addr uintptr, sp *span, b *bin, id int, c *slots) freed {
	for ; ; sp = h.spanOf(addr) {
		if sp == nil || sp.bin != b.id {
			return freedGone
		}
		base := atomic.LoadUintptr(&sp.base)
		invariants.Window()
		i, ok := sp.findFrom(base, addr)
		if !ok && h.still(sp, base, addr) {
			return freedInterior
		} else if !ok {
			continue
		}
		g, bit := i>>sp.shift, uint32(1)<<(i&(1<<sp.shift-1))
		w := sp.word(g)
		v := unsafex.Load64(w)
		invariants.Window()
		if !h.still(sp, base, addr) {
			continue // The slab was taken apart meanwhile; v may belong to another, which has the same record.
		}
		invariants.Window()
		if freeBits(v)&bit != 0 {
			return freedTwice
		}
		s := c.warm(b)
		switch holder := holderOf(v); {
		case holder == 0 && s != nil && sp.shift >= 3 && s.wants(w):
			if s.base-base < uintptr(b.granules)*granule { // The slot keeps that slab from being taken apart.
				s.checkIn(h, sp) // To a neighbour. It does not have to leave.
			} else if a := s.leave(h); a != 0 { // Not in a second round, when the slot is empty.
				f.left = a
			}
			s.miss = uint32(w)
			if s.checkOut(h, sp, g, v, bit, id+1) {
				if s.wipe {
					s.clear(addr)
				}
				return freedBlock
			}
			if s.untold { // The slot is empty now.
				s.tell(sp)
				f.left = sp.addr()
			}
			continue
		case holder == id+1 && s != nil:
			return s.freeOwn(addr)
		case holder != 0 && holder != purger:
			m, ok := h.heldMask(holder-1, b, w)
			if !ok || unsafex.Load64(w) != v {
				continue // The holder changes this moment; the mask may be another group's.
			}
			if m&bit != 0 {
				return freedTwice
			}
		}
		if b.kind.wipe {
			unsafex.Clear(addr, uintptr(b.size))
		}
		invariants.Window()
		if unsafex.CAS64(w, v, v|uint64(bit)) {
			f.freed = sp.addr()
			noteFree(b, s, sp, g, v|uint64(bit))
			return freedBlock
		}
	}
}

// still says whether addr lies in sp, and sp has the base that the caller has read.
func (h *heap) still(sp *span, base, addr uintptr) bool {
	return h.spanOf(addr) == sp && atomic.LoadUintptr(&sp.base) == base
}

// noteFree does the accounts after a free went into the word of group g, now v.
func noteFree(b *bin, s *slot, sp *span, g uint32, v uint64) {
	invariants.Window()
	if n := holderOf(v); (n == 0 || n == purger) && freeBits(v) == sp.mask(g) {
		sp.full.Add(1)
	}
	if s == nil {
		b.out.Add(-1)
		return
	}
	s.count(b, -1)
	s.miss = uint32(sp.word(g))
}

// wants says whether a free into the group at w is worth checking that out in place of the slot's:
// the free before went there too, or the slot's group is mostly free and probably was freed into.
func (s *slot) wants(w uintptr) bool {
	return s.miss == uint32(w) || uintptr(bits.OnesCount32(s.mask()))*uintptr(s.size)*2 > uintptr(s.last)
}

// freeOwn frees a block of a group that this very slot holds, where push refused to.
func (s *slot) freeOwn(addr uintptr) freed {
	if !s.push(addr) {
		return freedTwice
	}
	if s.wipe {
		s.clear(addr)
	}
	return freedBlock
}

// heldMask is the mask that holder id keeps of the group at w, and whether it keeps one.
func (h *heap) heldMask(id int, b *bin, w uintptr) (uint32, bool) {
	s := h.cache(id).slot(b)
	if s == nil {
		return 0, false
	}
	m, ok := s.heldMask(w)
	invariants.Window()
	return m, ok
}

// ofArenas says whether the blocks of a span are arenas'.
func (h *heap) ofArenas(sp *span) bool { return h.binByID(sp.bin).kind.owned }

// isFree says whether block i of a slab is free at present, for the holder's mask too.
func (h *heap) isFree(sp *span, i uint32) bool {
	g, bit := i>>sp.shift, uint32(1)<<(i&(1<<sp.shift-1))
	for {
		v := unsafex.Load64(sp.word(g))
		invariants.Window()
		if freeBits(v)&bit != 0 {
			return true
		}
		holder := holderOf(v)
		if holder == 0 || holder == purger {
			return false
		}
		m, ok := h.heldMask(holder-1, h.binByID(sp.bin), sp.word(g))
		if unsafex.Load64(sp.word(g)) == v && ok {
			return m&bit != 0
		}
	}
}
