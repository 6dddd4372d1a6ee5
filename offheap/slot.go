package offheap

import (
	"math/bits"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A slot is what one holder keeps of one bin: a group to allocate from (a…), a group to free into
// (f…), and the slab in use. Only the holder writes it. Others read a mask to find double frees:
// while the word at aword names this holder, amask holds the group's remaining free blocks.
//
// It is one cache line on 64-bit systems.
type slot struct {
	abase uintptr // Address of the group's first block, 0 for none.
	aword uintptr // Address of its word.
	fbase uintptr
	fword uintptr // With fcount 0: the word of the last free that hit no window.
	cur   uintptr // The slab in use, 0 for none.
	amask uint32
	fmask uint32
	size  uint32 // Of a block; 0 until the slot is first used.
	magic uint32 // For division by size.

	out    int32 // Blocks that left through this slot, less those that came back; see bin.out.
	acount uint8 // Blocks in the group.
	fcount uint8
	hint   uint16 // The next group of cur to look at.
}

// windowMax bounds the bytes of a group: groupBytes, or one block of the largest class.
const windowMax = 64 << 10

// pop takes a block of the checked-out group, or returns 0.
func (s *slot) pop() uintptr {
	m := s.amask
	if m == 0 {
		return 0
	}
	s.amask = m & (m - 1)
	return s.abase + uintptr(bits.TrailingZeros32(m))*uintptr(s.size)
}

// push frees a block that lies in one of the two groups. It reports false, and has done nothing,
// if it lies elsewhere or something is wrong with it.
func (s *slot) push(addr uintptr) bool {
	if d := addr - s.abase; d < windowMax {
		i := index(d, s.magic)
		if bit := uint32(1) << (i & 31); i < uint32(s.acount) && i*s.size == uint32(d) &&
			(s.amask|uint32(unsafex.Load64(s.aword)))&bit == 0 {
			s.amask |= bit
			return true
		}
	}
	return s.pushFree(addr)
}

// pushFree is push for the group of the frees alone.
//
//go:nosplit
func (s *slot) pushFree(addr uintptr) bool {
	if d := addr - s.fbase; d < windowMax {
		i := index(d, s.magic)
		if bit := uint32(1) << (i & 31); i < uint32(s.fcount) && i*s.size == uint32(d) &&
			(s.fmask|uint32(unsafex.Load64(s.fword)))&bit == 0 {
			s.fmask |= bit
			return true
		}
	}
	return false
}

// index divides an offset by a block size through the size's magic, ceil(2^32/size). It is exact
// for multiples of the size; for other offsets below 2^32/size the result times the size differs
// from the offset, which is what callers check.
func index(d uintptr, magic uint32) uint32 { return uint32(uint64(d) * uint64(magic) >> 32) }

func magicOf(size uintptr) uint32 { return uint32((1<<32 + uint64(size) - 1) / uint64(size)) }

// start sets what never changes.
func (s *slot) start(b *bin) {
	if s.size == 0 {
		s.size, s.magic = b.size, b.magic
	}
}

// checkOut makes the group at w the one to allocate from, if it has free blocks and no holder.
// The slot is written first, so that whoever finds the holder in the word finds the mask too.
func (s *slot) checkOut(w, base uintptr, count int, holder int) (uint32, bool) {
	for {
		v := unsafex.Load64(w)
		if holderOf(v) != 0 || freeBits(v) == 0 {
			s.dropAlloc()
			return 0, false
		}
		s.abase, s.aword, s.amask, s.acount = base, w, freeBits(v), uint8(count)
		if unsafex.CAS64(w, v, withHolder(v, holder)) {
			s.out += int32(bits.OnesCount32(freeBits(v)))
			return freeBits(v), true
		}
	}
}

// retake moves blocks that others freed into the checked-out group to the slot. If there are none
// the group is checked in. The bits that are free there afterwards are returned with it.
func (s *slot) retake() bool {
	for s.aword != 0 {
		v := unsafex.Load64(s.aword)
		if m := freeBits(v); m != 0 {
			s.amask = m
			if unsafex.CAS64(s.aword, v, v&^groupBits+versionOne) {
				s.out += int32(bits.OnesCount32(m))
				return true
			}
			s.amask = 0
			continue
		}
		if unsafex.CAS64(s.aword, v, withHolder(v, 0)) {
			s.dropAlloc()
		}
	}
	return false
}

func (s *slot) dropAlloc() { s.abase, s.aword, s.amask, s.acount = 0, 0, 0, 0 }
func (s *slot) dropFree()  { s.fbase, s.fword, s.fmask, s.fcount = 0, 0, 0, 0 }

// freeToAlloc makes the group of the frees the one to allocate from.
func (s *slot) freeToAlloc() {
	s.abase, s.aword, s.acount, s.amask = s.fbase, s.fword, s.fcount, s.fmask
	s.dropFree()
}

// heldMask is the mask of the group at w in the slot of its holder, and whether it is there.
func (s *slot) heldMask(w uintptr) (uint32, bool) {
	if atomic.LoadUintptr(&s.aword) == w {
		return atomic.LoadUint32(&s.amask), true
	}
	if atomic.LoadUintptr(&s.fword) == w && s.fcount > 0 {
		return atomic.LoadUint32(&s.fmask), true
	}
	return 0, false
}
