// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// The check for writes to freed blocks (PurposeOptions.CheckFreed).
//
// Invariant: every free block in a slab of such a Purpose is zero. A new slab is cleared where it
// may hold old data, a free wipes its block, and the purge gives zero pages. So a byte that is not
// zero was written after the free. The check runs when the block is allocated again, before the
// purge returns its page, and before its slab goes back to the page heap.
//
// The allocation that finds a written block panics, and the block stays out of use for good: no
// caller gets a block that a stale pointer still writes to, and its bytes stay as they are for a
// debugger. The Purpose's next allocation, or Check, reports the findings of the other two.
//
// Large blocks are not checked: their granules may serve other purposes next.

// checkAllocated panics if the block at addr, which was just allocated, was written while it was
// free.
func (h *heap) checkAllocated(addr uintptr) {
	sp := h.spanOf(addr)
	if sp == nil || sp.size == 0 {
		return // On guarded pages.
	}
	if e := h.writtenIn(sp, addr, addr+uintptr(sp.size)); e != nil {
		e.Op, e.Here = "Alloc", callers().String()
		panic(e)
	}
}

// tellLate panics if a write to a freed block was found since the last call.
func (p *purposeState) tellLate() {
	if e := p.late.Swap(nil); e != nil {
		panic(e)
	}
}

// inspectFree notes a write to the free blocks in [lo, hi) of a slab, before their memory is given
// away.
func (h *heap) inspectFree(sp *span, lo, hi uintptr) {
	if e := h.writtenIn(sp, lo, hi); e != nil {
		e.Op = "Check"
		h.binByID(sp.bin).kind.purpose.late.CompareAndSwap(nil, e)
	}
}

// writtenIn says which of the free blocks in [lo, hi) of a slab was written, or returns nil.
func (h *heap) writtenIn(sp *span, lo, hi uintptr) *MisuseError {
	off, zero := unpainted(lo, hi-lo, 0)
	if zero {
		return nil
	}
	addr, size := lo+off, uintptr(sp.size)
	block := sp.base + (addr-sp.base)/size*size
	shown := min(16, block+size-addr)
	return &MisuseError{Addr: addr, Kind: "write after Free",
		Detail: fmt.Sprintf("byte %d of a block of %d bytes of the purpose %q, at %#x, was written after the block was freed; the bytes there are % x; with FREEHOLD=guard the write faults, and the report tells where the block was allocated and freed",
			addr-block, size, h.binByID(sp.bin).kind.purpose.name, block, bytesAt(addr, shown))}
}

// lateWrites joins the errors that tellLate would report for each Purpose.
func lateWrites() error {
	purposes.Lock()
	defer purposes.Unlock()
	var found []error
	for _, p := range purposes.list {
		if e := p.late.Swap(nil); e != nil {
			found = append(found, e)
		}
	}
	return errors.Join(found...)
}

// bytesAt copies n bytes at addr.
//
//go:norace
func bytesAt(addr, n uintptr) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = *unsafex.At[byte](addr + uintptr(i))
	}
	return b
}
