// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A span is the record of a run of granules: a slab of equal blocks or one large block. It lies in
// metadata memory, 64 bytes, and a slab's idle and group words follow it. Spans are known by their address;
// span and *span are two views of one record.
//
// A record outlives its slab: a goroutine that has looked it up may use it at any time later, when the
// slab was taken apart and the record serves the next. So a record belongs to one bin for good. Only base
// changes from one life to the next, and granules of a large block; both are written before the page map
// shows the span. The group words keep their versions from life to life, so that a compare-and-swap on a
// word that was read in another life fails.
//
// next and prev are guarded by the bin's lock.
type span struct {
	base     uintptr
	next     uintptr // Neighbours in the bin's list.
	prev     uintptr
	granules uint32
	bin      uint32
	size     uint32 // Of a block; 0 for a large block.
	magic    uint32
	blocks   uint16
	hint     uint16 // The next group that the holder of a current slab tries; 0 in others.
	shift    uint8  // log2 of the blocks in a group.
	claimed  bool   // The purge holds groups of it; guarded by the heap's lock.
	state    atomic.Uint32
	full     atomic.Uint32 // Groups all of whose blocks are free in the word. In a large block: 1 if it is sampled.
	touched  atomic.Uint32 // What the purge knows of it: see purge.go. In a large block: see resampleLarge.
	idle     atomic.Uint32 // Idle pages: see idle.go. In a large block: the granules of its range; see takeRange.
}

const spanBytes = 64

// recordBytes is the length of a span's record with the words of its idle pages and that many group
// words behind it.
func recordBytes(groups uint32) uintptr {
	if groups == 0 {
		return spanBytes // A large block.
	}
	return spanBytes + uintptr(groups+idleWords)*8
}

// States of a span.
const (
	spanDead     = iota // In no use; its record may serve another span.
	spanUnlisted        // A slab that no list holds: full, as far as its last user knows.
	spanListed          // A slab in its bin's list.
	spanCurrent         // A slab in use by one holder.
	spanLarge           // A large block.
	spanInHand          // A large block that a goroutine makes, resizes or clears at this moment, and a slab that it makes. Nobody else may free it.
)

func spanAt(addr uintptr) *span { return unsafex.At[span](addr) }

func (s *span) addr() uintptr { return unsafex.Addr(s) }

func (s *span) bytes() uintptr { return uintptr(s.granules) * granule }

func (s *span) groups() uint32 { return (uint32(s.blocks) + 1<<s.shift - 1) >> s.shift }

// word is the address of group g's word.
func (s *span) word(g uint32) uintptr { return s.addr() + spanBytes + (idleWords+uintptr(g))*8 }

// groupAt is the group whose word is at w.
func (s *span) groupAt(w uintptr) uint32 { return uint32(w-s.word(0)) / 8 }

// count is the number of blocks in group g.
func (s *span) count(g uint32) uint32 { return min(1<<s.shift, uint32(s.blocks)-g<<s.shift) }

// groupBase is the address of the first block of group g.
func (s *span) groupBase(g uint32) uintptr {
	return s.base + uintptr(g<<s.shift)*uintptr(s.size)
}

// last is the number of bytes in group g less one.
func (s *span) last(g uint32) uint32 { return s.count(g)*s.size - 1 }

// mask has a bit for each block of group g.
func (s *span) mask(g uint32) uint32 { return uint32(1<<s.count(g) - 1) }

// find is the number of the block at addr, and whether a block begins there.
func (s *span) find(addr uintptr) (uint32, bool) {
	return s.findFrom(s.base, addr)
}

// findFrom is find in the life of the record that had that base.
func (s *span) findFrom(base, addr uintptr) (uint32, bool) {
	d := addr - base
	i, _ := divide(d, s.magic)
	return i, i < uint32(s.blocks) && uintptr(i)*uintptr(s.size) == d
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
