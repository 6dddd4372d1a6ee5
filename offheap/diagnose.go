// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"sync/atomic"
)

// misuse panics with the mistake of op at addr.
func (h *heap) misuse(op string, addr uintptr) {
	if e := ownedMisuse(op, addr); e != nil {
		panic(e)
	}
	for {
		sp, base := h.spanOf(addr), uintptr(0)
		if sp != nil {
			base = atomic.LoadUintptr(&sp.base)
		}
		e := h.diagnose(op, addr, sp, base)
		if sp == nil && h.spanOf(addr) == nil || sp != nil && h.still(sp, base, addr) {
			panic(e) // Else its slab was taken apart meanwhile, and the record serves another.
		}
	}
}

// diagnose names the mistake of passing addr, at which no block begins that is in use, to op. sp is the span of
// addr with its base, or nil.
func (h *heap) diagnose(op string, addr uintptr, sp *span, base uintptr) *MisuseError {
	e := &MisuseError{Op: op, Addr: addr}
	r := h.regionOf(addr)
	switch {
	case r == nil || addr-r.base >= r.used.Load():
		e.Kind, e.Detail = "foreign pointer", foreignDetail(op)
	case sp == nil || sp.state.Load() == spanDead:
		e.Kind, e.Detail = "double free", "the block was freed before, and all of its slab is free; keep one owner for each block"
	case sp.size == 0:
		e.Kind, e.Detail = "interior pointer", fmt.Sprintf("it lies %d bytes into the block of %d bytes at %#x; free the slice that Alloc returned, or a prefix of it", addr-base, sp.bytes(), base)
		if addr == base && sp.state.Load() == spanInHand {
			e.Kind, e.Detail = "double free", "another goroutine allocates or resizes the block at this moment; keep one owner for each block"
		} else if addr == base {
			e.Kind, e.Detail = "double free", "the block was freed before; keep one owner for each block"
		}
	default:
		h.diagnoseSlab(e, sp, base)
	}
	if e.Kind == "interior pointer" && h.ofArenas(sp) {
		return arenaMisuse(op, addr)
	}
	return e
}

func (h *heap) diagnoseSlab(e *MisuseError, sp *span, base uintptr) {
	i, ok := sp.findFrom(base, e.Addr)
	block := base + uintptr(i)*uintptr(sp.size)
	if block > e.Addr { // The division rounds up for some offsets that are no multiples.
		i, block = i-1, block-uintptr(sp.size)
	}
	switch {
	case i >= uint32(sp.blocks):
		e.Kind, e.Detail = "foreign pointer", "it lies behind the last block of a slab, where nothing was ever allocated"
	case !ok && h.isFree(sp, i):
		e.Kind, e.Detail = "interior pointer", fmt.Sprintf("it lies %d bytes into the block of %d bytes at %#x, which is free", e.Addr-block, sp.size, block)
	case !ok:
		e.Kind, e.Detail = "interior pointer", fmt.Sprintf("it lies %d bytes into the block of %d bytes at %#x; free the slice that Alloc returned, or a prefix of it", e.Addr-block, sp.size, block)
	default:
		e.Kind, e.Detail = "double free", fmt.Sprintf("the block of %d bytes was freed before; keep one owner for each block", sp.size)
	}
}
