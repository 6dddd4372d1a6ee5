// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/bits"
	"math/rand/v2"

	"github.com/freehold-go/freehold"
)

// Random placement (FREEHOLD=random, Options.Random).
//
// By default a slot allocates the free block with the lowest address of its group, so the block
// that was freed last is often the next one, and a program's allocations decide which blocks are
// neighbours. With random placement each of these choices is drawn:
//
//   - the block, among the free blocks of the slot's group;
//   - the group, among those of the slot's slab: a slot leaves its group once in 8 allocations, and
//     each time if the group has one or two blocks;
//   - the slab, among the first 8 of the bin's list.
//
// Large blocks are not drawn: they lie at the lowest free address that fits.
//
// The fast path keeps its instructions: the count of a slot (see sample.go) stays at zero, so that
// pop refuses and each allocation of a small block takes the slow way. Frees stay on the fast path.
// The build tag freehold_nohooks takes the count out; there a slot allocates its blocks by address.

// leaveOneIn is how often a slot leaves its group: once in so many allocations. A power of two.
const leaveOneIn = 8

// listDepth is how many slabs at the head of a bin's list are drawn from. A power of two.
const listDepth = 8

// randomize switches random placement on if the process asked for it. h has no blocks yet.
func (h *heap) randomize() {
	if freehold.Modes().Random {
		h.random = rand.Uint64 // ChaCha8, seeded by the system; it takes no lock.
	}
}

// roll is a random number with random placement, and 0 without.
func (h *heap) roll() uint64 {
	if h.random == nil {
		return 0
	}
	return h.random()
}

// refillRandom is refill with random placement. It finds one block at most: the rest of the group
// stays closed to pop.
func (s *slot) refillRandom(h *heap, id int) (f refilling) {
	refused := s.left() != 0 // This allocation was drawn for a sample, which failed.
	s.setLeft(0)
	if r := h.rates.Load(); hooks != 0 && r != nil && !refused && r.Gap(uintptr(s.size)) == 0 {
		f.sampled = true
		return f
	}
	roll := h.random()
	if s.base != 0 && (roll%leaveOneIn == 0 || s.last < 2*s.size) {
		f.left = s.leave(h)
	}
	if s.mask() == 0 {
		if _, left := s.retake(h); left != 0 {
			f.left = left
		}
	}
	if s.mask() == 0 && s.cur != 0 && !s.checkOutRandom(h, spanAt(s.cur), id, roll>>8) {
		f.done = s.cur
	}
	if m := s.mask(); m != 0 {
		i := nthBit(m, uint32(roll>>32))
		s.setMask(m &^ (1 << i))
		f.addr = s.base + uintptr(i)*uintptr(s.size)
	}
	return f
}

// checkOutRandom makes the first group of the slab that has free blocks the slot's, beginning at a
// random group. It reports false if there is none.
func (s *slot) checkOutRandom(h *heap, sp *span, id int, roll uint64) bool {
	n := sp.groups()
	first := uint32(roll) & 0xffff % n
	for i := range n {
		g := (first + i) % n
		if s.checkOutFree(h, sp, g, id) {
			return true
		}
	}
	return false
}

// nthBit is the number of one of m's bits, chosen by roll. m is not 0.
func nthBit(m, roll uint32) int {
	for range roll % uint32(bits.OnesCount32(m)) {
		m &= m - 1
	}
	return bits.TrailingZeros32(m)
}
