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
	fword uintptr // With fbase 0: the word of the last free that went to neither group.
	cur   uintptr // The slab in use, 0 for none.
	amask uint32
	fmask uint32
	size  uint32 // Of a block; 0 until the slot is first used.
	magic uint32 // For division by size.

	out   int32  // Blocks that left through this slot, less those that came back; see bin.out.
	alast uint16 // The bytes of the group less one.
	flast uint16
}

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
//
//go:nosplit
func (s *slot) push(addr uintptr) bool {
	if d := addr - s.abase; d <= uintptr(s.alast) {
		i, ok := divide(d, s.magic)
		if bit := uint32(1) << (i & 31); ok && (s.amask|uint32(unsafex.Load64(s.aword)))&bit == 0 {
			s.amask |= bit
			return true
		}
	}
	if d := addr - s.fbase; d <= uintptr(s.flast) {
		i, ok := divide(d, s.magic)
		if bit := uint32(1) << (i & 31); ok && (s.fmask|uint32(unsafex.Load64(s.fword)))&bit == 0 {
			s.fmask |= bit
			return true
		}
	}
	return false
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
		s.size, s.magic = b.size, b.magic
	}
}

// checkOut makes the group at w the one to allocate from, if it has free blocks and no holder.
// The slot is written first, so that whoever finds the holder in the word finds the mask too.
func (s *slot) checkOut(w, base uintptr, last uint16, holder int) (uint32, bool) {
	for {
		v := unsafex.Load64(w)
		if holderOf(v) != 0 || freeBits(v) == 0 {
			s.dropAlloc()
			return 0, false
		}
		s.abase, s.aword, s.amask, s.alast = base, w, freeBits(v), last
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

func (s *slot) dropAlloc() { s.abase, s.aword, s.amask = 0, 0, 0 }
func (s *slot) dropFree()  { s.fbase, s.fword, s.fmask = 0, 0, 0 }

// freeToAlloc makes the group of the frees the one to allocate from.
func (s *slot) freeToAlloc() {
	s.abase, s.aword, s.alast, s.amask = s.fbase, s.fword, s.flast, s.fmask
	s.dropFree()
}

// heldMask is the mask of the group at w in the slot of its holder, and whether it is there.
func (s *slot) heldMask(w uintptr) (uint32, bool) {
	if atomic.LoadUintptr(&s.aword) == w {
		return atomic.LoadUint32(&s.amask), true
	}
	if atomic.LoadUintptr(&s.fword) == w && atomic.LoadUintptr(&s.fbase) != 0 {
		return atomic.LoadUint32(&s.fmask), true
	}
	return 0, false
}
