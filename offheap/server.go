// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"

	"github.com/freehold-go/freehold"
)

// A server serves all blocks of a heap. There are two kinds:
//
//   - A slabServer cuts blocks from slabs. It is the default.
//   - A tracked keeps a record of each block. It serves with the kill switch, in the debug modes and
//     under the race detector.
//
// A heap chooses its server once, when it starts. The fast paths never call a server: they use the
// holder's slots, and a heap that is served by a tracked has none.
type server interface {
	// alloc returns the address of a new block for q.
	alloc(q request) (uintptr, error)
	// free frees the block at addr, or panics and names the fault of the address. The free is for
	// values of d, nil for bytes; one says that it is for one value and not for a slice.
	free(addr uintptr, l *Local, op string, d *typeDesc, one bool)
	// resize makes the block at addr hold n bytes where it is. Bytes from old on are zero afterwards.
	// The result is what roomOf says of the block then, or 0 bytes if that is impossible or a waste.
	resize(op string, addr, old, n uintptr, typ reflect.Type) (room uintptr, k *kind)
	// roomOf is the number of bytes that the block at addr can hold, and its kind. It panics if addr begins no
	// block that the program may resize, or one that is not of the type, nil for plain memory: a slice of
	// the first field of a value has the block's address, but more elements would lie over the other
	// fields, and those may be bools.
	roomOf(op string, addr uintptr, typ reflect.Type) (room uintptr, k *kind)
	// roomFor is the number of bytes, at least, that the block at addr can hold, which alloc has made for q. It looks up
	// nothing that a free of a stale slice may have changed.
	roomFor(addr uintptr, q request) uintptr
	// clear clears the bytes from lo on and below hi of the block at addr, as a part of op. It panics if the block
	// was freed meanwhile.
	clear(op string, addr, lo, hi uintptr)
	// kindOf is the kind of the block at addr, or nil.
	kindOf(addr uintptr) *kind
	// covers says whether addr lies in a block that is in use.
	covers(addr uintptr) bool

	// refTo is the offset in a Ref to addr. It panics if addr lies in no block.
	refTo(addr uintptr) uint64
	// resolve is the address of the value of d that a Ref with this offset leads to, or, if n is not
	// 0, of n values in one block, to which a SliceRef does. It panics if there are none.
	resolve(off uint64, d *typeDesc, n uintptr) uintptr

	stats() Stats
	// totals are the bytes taken from the machine beside the Go heap.
	totals() freehold.Totals
	// check searches blocks and freed memory for damage.
	check() error
	// purge gives free memory back to the machine.
	purge()
	// slabs is the heap with the slabs that the memory of blocks comes from.
	slabs() *heap
}

// server returns the server of the heap's blocks. A program may free a slice without a block before
// the heap has started, or while it starts: then it is the slabs.
func (h *heap) server() server { return *h.serving.Load() }

func (h *heap) serve(s server) { h.serving.Store(&s) }

// records is the tracked that serves the heap, or nil if the slabs do.
func (h *heap) records() *tracked {
	t, _ := h.server().(*tracked)
	return t
}
