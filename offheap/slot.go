// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/bits"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A slot is what one holder keeps of one bin: a group that is checked out, to allocate from and to
// free into, and the slab in use. Only the holder writes it. Others read the mask to find double
// frees: while the word at word names this holder, mask holds the group's remaining free blocks.
//
// The mask and the count of sample.go are one word, because an allocation changes both, and to load
// and store one costs less. Others read all of it and use the mask alone, which even a 32-bit
// processor stores at once.
//
// It is one cache line on 64-bit systems.
type slot struct {
	out   uintptr // Blocks that left through this slot, less those that came back, in two's complement; see count.
	_     [8 - ptrSize]byte
	base  uintptr // Address of the group's first block, 0 for none.
	word  uintptr // Address of its word.
	state uint64  // Low half: its free blocks, see mask. High half: the count less one, see left.
	size  uint32  // Of a block; 0 until the slot is first used.
	magic uint32  // For division by size.
	last  uint32  // The bytes of the group less one.
	miss  uint32  // The low bits of the address of the word of the last free that went elsewhere.
	cur   uintptr // The slab in use, 0 for none.
	wipe  bool    // Blocks are cleared when freed.
	drawn drawing // What left was drawn for.

	// untold says that groups of the slab that base lies in were checked in and are not in the
	// slab's count yet; fulls is the number of full ones among them. See leave.
	untold bool
	fulls  uint16
	_      [3 * (8 - ptrSize)]byte
	run    uint8 // The number of the purge's run before the last ask; it wraps around.
	asks   uint8 // How often the holder has asked supply for blocks since; see asksRarely.
}

// pop takes a block of the group, or returns 0 if there is none or the slow way must be asked.
func (s *slot) pop() uintptr {
	if v := s.state; hasBlock(v) {
		return s.take(v)
	}
	return 0
}

// hasBlock says whether pop finds a block in a slot with the state v.
func hasBlock(v uint64) bool { return uint32(v) != 0 && int64(v) >= 0 }

// take is pop for a slot with the state v, in which hasBlock finds a block.
func (s *slot) take(v uint64) uintptr {
	s.state = v&(v-1) - 1<<leftShift
	return s.base + uintptr(bits.TrailingZeros32(uint32(v)))*uintptr(s.size)
}

// push frees a block of the group, all but the wiping. It reports false, and has done nothing, if
// the block lies elsewhere or something is wrong with it.
func (s *slot) push(addr uintptr) bool {
	d := addr - s.base
	x := uint64(d) * uint64(s.magic)   // As divide does, which would keep this from being inlined.
	bit := uint64(1) << (x >> 32 & 63) // Below 1<<32, if d is that of a block of the group.
	v := s.state
	if d > uintptr(s.last) || uint32(x) >= s.magic || (v|unsafex.Load64(s.word))&bit != 0 {
		return false
	}
	s.state = v | bit
	return true
}

// leftShift is where the count begins in a slot's state.
const leftShift = groupMax

// mask is the group's free blocks.
func (s *slot) mask() uint32 { return uint32(s.state) }

func (s *slot) setMask(m uint32) { s.state = s.state&^groupBits | uint64(m) }

// left is the number of blocks that the slot allocates before an allocation takes the slow path, at
// most 1<<31; see sample.go. It is stored less one, so that pop knows by the sign when there are
// none.
func (s *slot) left() uint32 { return uint32(s.state>>leftShift) + 1 }

func (s *slot) setLeft(n uint32) { s.state = uint64(n-1)<<leftShift | uint64(s.mask()) }

// clear wipes a block that was just freed: only the holder can allocate it so far.
func (s *slot) clear(addr uintptr) {
	*unsafex.At[[2]uint64](addr) = [2]uint64{} // Most are small, and none is smaller.
	if s.size > 16 {
		unsafex.Clear(addr+16, uintptr(s.size)-16)
	}
}

// divide divides an offset by a block size through the size's magic, ceil(2^32/size), and says
// whether it is a multiple. It is exact for the offsets within a slab as far as the quotient of
// multiples goes, and as far as the answer goes for offsets within a group: for d = q*size + r the
// low half of the product is q*e + r*magic with e = size*magic - 2^32 < size, which is below magic
// only if r is 0, as (q+1)*e < magic there. (Lemire, Kaser, Kurz: Faster Remainder by Direct
// Computation, 2019, section 3.2, with 32 bits.)
func divide(d uintptr, magic uint32) (q uint32, multiple bool) {
	x := uint64(d) * uint64(magic)
	return uint32(x >> 32), uint32(x) < magic
}

func magicOf(size uintptr) uint32 { return uint32((1<<32 + uint64(size) - 1) / uint64(size)) }

// start sets what never changes.
func (s *slot) start(b *bin) {
	if s.size == 0 {
		s.size, s.magic, s.wipe = b.size, b.magic, b.kind.wipe
		s.setLeft(0)
	}
}

// checkOut makes group g the slot's, with its free blocks and the blocks of more, if it has free
// blocks then and its word is still v. The slot, which is empty, is written first, so that a
// goroutine that reads the holder in the word finds the mask, too. Where a free checks the group
// out, and not an allocation, free blocks on idle pages stay in the word, and with them the group's
// others: retake moves them if they are needed.
func (s *slot) checkOut(h *heap, sp *span, g uint32, v uint64, more uint32, holder int) bool {
	take := freeBits(v)
	if more != 0 && sp.isIdle(g) {
		take = 0
	}
	s.base, s.word, s.last = sp.groupBase(g), sp.word(g), sp.last(g)
	s.setMask(take | more)
	invariants.Window()
	if unsafex.CAS64(s.word, v, withHolder(v, holder)|uint64(freeBits(v)&^take)) {
		invariants.Window()
		s.count(h.binByID(sp.bin), bits.OnesCount32(take))
		if take != 0 {
			sp.wake(h, g)
		}
		return true
	}
	s.drop()
	return false
}

// retake moves blocks that others freed into the group to the empty slot. If there are none the
// group is checked in, and the caller must settle the slab left, if that is not 0.
func (s *slot) retake(h *heap) (ok bool, left uintptr) {
	for s.word != 0 {
		sp := h.spanOf(s.base) // The slab can be another's once the group is checked in.
		v := unsafex.Load64(s.word)
		if m := freeBits(v); m != 0 {
			s.setMask(m)
			invariants.Window()
			if unsafex.CAS64(s.word, v, v&^groupBits+versionOne) {
				s.count(h.binByID(sp.bin), bits.OnesCount32(m))
				sp.wake(h, sp.groupAt(s.word))
				return true, 0
			}
			s.setMask(0)
			continue
		}
		invariants.Window()
		if unsafex.CAS64(s.word, v, withHolder(v, 0)) {
			invariants.Window()
			if s.untold {
				s.tell(sp)
				left = sp.addr()
			}
			s.drop()
		}
	}
	return false, left
}

// checkIn gives the group, which lies in sp, back. The slot does not change. A block that two goroutines
// freed was counted by both.
func (s *slot) checkIn(h *heap, sp *span) {
	free, twice := checkIn(s.word, s.mask())
	s.count(h.binByID(sp.bin), -bits.OnesCount32(s.mask()&^twice))
	if free == sp.mask(sp.groupAt(s.word)) {
		s.fulls++
	}
	invariants.Window()
	s.untold = true
}

// tell adds the blocks not yet counted to the slab's count.
func (s *slot) tell(sp *span) {
	invariants.Window()
	if s.fulls != 0 {
		sp.full.Add(uint32(s.fulls))
	}
	s.untold, s.fulls = false, 0
}

// leave checks the group in and returns its slab, which the caller must settle, or 0 if there was
// none. Only leave adds checked-in groups to the slab's count. Frees often go from one group to its
// neighbour in the same slab; the slab then stays the slot's, and the heap could do nothing with
// it. leave does not block.
func (s *slot) leave(h *heap) uintptr {
	if s.base == 0 {
		return 0
	}
	sp := h.spanOf(s.base)
	s.checkIn(h, sp)
	s.tell(sp)
	s.drop()
	return sp.addr()
}

func (s *slot) drop() {
	s.base, s.word = 0, 0
	s.setMask(0)
}

// heldMask is the mask of the group at w in the slot of its holder, and whether it is there.
func (s *slot) heldMask(w uintptr) (uint32, bool) {
	if atomic.LoadUintptr(&s.word) == w {
		return uint32(atomic.LoadUint64(&s.state)), true
	}
	return 0, false
}

// count adds n to the blocks that left through the slot. If they make more than 64 KiB, or less than
// minus 64 KiB, they go to the bin's count. A goroutine can allocate through one slot and free through
// another without end, and a sum reads the slots one after the other: it is wrong by what they changed
// meanwhile, at most.
func (s *slot) count(b *bin, n int) {
	s.out += uintptr(n)
	if most := uintptr(s.magic >> 16); s.out+most > 2*most { // Blocks of 64 KiB.
		b.out.Add(int64(int(s.out)))
		s.out = 0
	}
}

// outstanding is the blocks that left through the slot and are not in it.
func (s *slot) outstanding() int {
	out := int(atomic.LoadUintptr(&s.out))
	return out - bits.OnesCount32(uint32(atomic.LoadUint64(&s.state)))
}
