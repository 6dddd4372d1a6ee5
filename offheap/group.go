// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A group is up to 32 neighbouring blocks of a slab; its word says which of them are free:
//
//	bits  0–31  free blocks that no holder has checked out
//	bits 32–47  holder: 0 for none, purger, or the number of the holder plus one
//	bits 48–63  version: it counts check-outs and check-ins
//
// A holder that checks a group out takes the bits into its slot and leaves its number. Frees by
// others go into the word. The word changes by compare-and-swap only, and each transition changes
// the version: if a goroutine reads the word, then the holder's mask, and then swaps the word
// successfully, the mask was that of this word, whose blocks the holder allocates and frees meanwhile. So a
// double free is found without a lock, unless the holder and another goroutine free the block at the same
// moment: a holder's own free is no transition, and each may read before the other writes. Then the block's bit
// is in the mask and in the word.
//
// The version comes back after 65,536 changes. If a goroutine stands still between its load and its swap while
// just so many change the word, and bits and holder are what they were, the swap succeeds. In a correct program
// it may: the block that it frees is still in use, and the blocks that it takes are still free. A double free
// may go unnoticed.
const (
	groupMax    = 32
	groupBits   = 1<<groupMax - 1
	holderShift = 32
	holderMask  = 0xffff << holderShift
	versionOne  = 1 << 48

	// purger holds a group while its pages are purged or its slab is taken apart. The bits stay in
	// the word, where frees find them; only allocation keeps away.
	purger = 0xffff

	// groupBytes bounds what one check-out keeps from others.
	groupBytes = 16 << 10
)

func freeBits(v uint64) uint32 { return uint32(v) }
func holderOf(v uint64) int    { return int(v >> holderShift & 0xffff) }
func withHolder(v uint64, n int) uint64 {
	return v&^holderMask&^groupBits + versionOne | uint64(n)<<holderShift
}

// checkIn returns bits and the holder's claim. The result is the bits that are free now, and those of them that
// were free in the word already, because two goroutines freed the block at the same moment.
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

// claim makes the purger the holder if there is none, and returns the free bits, which stay.
func claim(w uintptr) (uint32, bool) {
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

// disclaim ends what claim began. The result is the bits that are free now.
func disclaim(w uintptr) uint32 {
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
