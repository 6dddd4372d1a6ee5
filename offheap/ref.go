// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Ref is a link to a T outside the Go heap: 8 bytes that the collector treats as a number.
// Off-heap values refer to each other by Refs. On the Go heap, a pointer to an off-heap value costs
// the collector some nanoseconds each cycle; a Ref costs it nothing. The zero Ref is nil. Refs of
// equal T compare with ==.
//
// A Ref is an offset into offheap's regions, not an address. It is valid while the process lives and
// the value is not deleted. Each use checks range and alignment. A wrong Ref panics or leads to other
// data without pointers and bools, never elsewhere.
type Ref[T any] struct {
	_   [0]*T // Refs of different types do not convert to each other.
	off uint64
}

// refBias is the offset of the first region, so that no Ref to a value is 0.
const refBias = granule

// RefOf returns the Ref to *p, which must lie in a block of offheap, not necessarily at its start.
// RefOf(nil) is nil. For any other pointer it panics with a [*MisuseError].
func RefOf[T any](p *T) Ref[T] {
	if p == nil {
		return Ref[T]{}
	}
	addr := unsafex.Addr(p)
	if n := std.nregions.Load(); n > 0 {
		if r := &std.regions[0]; addr-r.base < r.used.Load() {
			return Ref[T]{off: uint64(addr-r.base) + refBias}
		}
	}
	return Ref[T]{off: std.refTo(addr)}
}

// refZeroSize is the Ref to values of size zero. It lies below refBias.
const refZeroSize = 8

// IsNil reports whether r is the zero Ref.
func (r Ref[T]) IsNil() bool { return r.off == 0 }

// Ptr returns a pointer to the value, nil for the nil Ref. It panics if r cannot be a Ref to a T.
func (r Ref[T]) Ptr() *T {
	size, align := unsafex.Size[T](), unsafex.Align[T]()
	d := describe[T]()
	if off := uintptr(r.off - refBias); !d.typed && uint64(off) == r.off-refBias && off&(align-1) == 0 {
		reg := &std.regions[0]
		// What the region is for is set before any of it is used.
		if used := reg.used.Load(); off < used && size <= used-off && !reg.typed {
			return unsafex.At[T](reg.base + off)
		}
	}
	if r.off == 0 {
		return nil
	}
	return unsafex.At[T](std.resolve(r.off, d))
}

// resolve is Ptr for values outside the first region. It returns the address or panics.
//
//go:noinline
func (h *heap) resolve(off uint64, d *typeDesc) uintptr {
	d.check("Ref.Ptr")
	if off == refZeroSize && d.size == 0 {
		return zeroSizeAddr()
	}
	return h.locate(off, d, 0)
}

// badRef is the error of a Ref that leads nowhere, or of a SliceRef to n values.
func badRef(off uint64, d *typeDesc, n uint64) error {
	if n > 0 {
		return fmt.Errorf("offheap: SliceRef %#x does not lead to %d of %s: they were freed, or the SliceRef is damaged", off, n, d.typ)
	}
	return fmt.Errorf("offheap: Ref %#x does not lead to a %s: the value was deleted, or the Ref is damaged, or a tag is left in its bits", off, d.typ)
}

// DeleteRef is [Delete] of the value that r leads to. It ignores the nil Ref.
func DeleteRef[T any](r Ref[T]) { Delete(r.Ptr()) }

// String is for debugging: the type's name and the offset.
func (r Ref[T]) String() string {
	return fmt.Sprintf("Ref[%s](%#x)", describe[T]().typ, r.off)
}
