// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Ref is a link to a T outside the Go heap: 8 bytes that the collector treats as a number.
// Off-heap values refer to each other by Refs. On the Go heap, a pointer to an off-heap value costs
// the collector some nanoseconds each cycle; a Ref costs it nothing. The zero Ref is nil. Refs of
// equal T compare with ==.
//
// A Ref is an offset into offheap's regions, not an address. It is valid while the process lives
// and the value is not deleted. Each use checks range and alignment. A wrong Ref panics or leads to
// other data without pointers and bools, never elsewhere.
type Ref[T any] struct {
	_   [0]*T // Refs of different types do not convert to each other.
	off uint64
}

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

// DeleteRef is [Delete] of the value that r leads to. It ignores the nil Ref.
func DeleteRef[T any](r Ref[T]) { Delete(r.Ptr()) }

// String is for debugging: the type's name and the offset.
func (r Ref[T]) String() string {
	return fmt.Sprintf("Ref[%s](%#x)", describe[T]().typ, r.off)
}

// RefBits is the number of bits in the number of a Ref ([Ref.Uint64]). The bits from RefBits on are
// 0, and so are the lowest ones up to the alignment of T: three of a T that is aligned to 8 bytes,
// as a T with an [AtomicRef] is on each processor. A program may keep a tag or a version there. It
// must take the tag off before [RefFromUint64], or keep the tagged Ref in an AtomicRef and take the
// tag off before [Ref.Ptr], which panics otherwise:
//
//	const mark = 1 // The lowest bit, of a T that is aligned to 2 bytes or more.
//	marked := offheap.RefFromUint64[node](r.Uint64() | mark)
//	r = offheap.RefFromUint64[node](marked.Uint64() &^ mark)
const RefBits = 56

// Uint64 is the number of r, 0 for the nil Ref. It is below 1<<[RefBits] and a multiple of T's
// alignment, unless the program has put a tag there.
func (r Ref[T]) Uint64() uint64 { return r.off }

// RefFromUint64 is the Ref of that number. It accepts any number: [Ref.Ptr] and [Ref.In] check, as
// of each Ref, that the number leads to memory of a T. For a T that holds a bool or is
// self-contained, a value of T must begin there. A number that [Ref.Uint64] did not return panics
// there or leads to other data without pointers and bools.
func RefFromUint64[T any](n uint64) Ref[T] { return Ref[T]{off: n} }

// A SliceRef is a link to a []T outside the Go heap: 16 bytes, the Ref to its first element and its
// length. The collector treats both as numbers. Off-heap values hold SliceRefs in place of slices,
// which hold Go pointers. The zero SliceRef is nil. SliceRefs of equal T compare with ==.
// A string is a SliceRef[byte] to a copy of its bytes; string(r.Slice()) reads it.
//
// A SliceRef leads to a block of offheap and stays valid as long as a [Ref] does. Each use checks
// that all elements lie in one block. A wrong SliceRef panics or leads to other data without
// pointers and bools, never beyond a block. A SliceRef is a plain value: several goroutines may use
// it at once.
type SliceRef[T any] struct {
	first Ref[T]
	n     uint64
}

// SliceRefOf returns the SliceRef to the elements of s, which must lie in a block of offheap, not
// necessarily at its start. It keeps the length and not the capacity. If len(s) is 0, it returns
// nil. For memory that is not offheap's it panics with a [*MisuseError], as [RefOf] does, and for a
// T with Go pointers as [MakeSlice] does.
func SliceRefOf[T any](s []T) SliceRef[T] {
	d := describe[T]()
	d.check("SliceRefOf")
	if len(s) == 0 {
		return SliceRef[T]{}
	}
	if d.size == 0 {
		return SliceRef[T]{Ref[T]{off: refZeroSize}, uint64(len(s))}
	}
	return SliceRef[T]{Ref[T]{off: std.refTo(unsafex.SliceAddr(s))}, uint64(len(s))}
}

// Slice returns the elements. The capacity is the length, so append moves them to the Go heap; use
// [Append]. The nil SliceRef gives nil. If r was made of a whole slice or of a prefix, [FreeSlice]
// of the result frees the block. Slice panics if r cannot be a SliceRef to that many T, and with a
// [*MisuseError] if a debug mode knows that the block was freed.
func (r SliceRef[T]) Slice() []T {
	if r.first.off == 0 || r.n == 0 {
		return nil
	}
	addr := std.resolveSlice(r.first.off, r.n, describe[T]())
	return unsafex.Slice[T](addr, int(r.n), int(r.n))
}

// Len is the number of elements. It reads no memory.
func (r SliceRef[T]) Len() int { return int(min(r.n, math.MaxInt)) }

// IsNil reports whether r is the zero SliceRef.
func (r SliceRef[T]) IsNil() bool { return r == SliceRef[T]{} }

// String is for debugging: the type's name, the offset and the length.
func (r SliceRef[T]) String() string {
	return fmt.Sprintf("SliceRef[%s](%#x, %d)", describe[T]().typ, r.first.off, r.n)
}

// resolveSlice is the address of the n values of d, n > 0, that a SliceRef with this offset leads
// to. It panics if there are none.
func (h *heap) resolveSlice(off, n uint64, d *typeDesc) uintptr {
	d.check("SliceRef.Slice")
	if n > math.MaxInt {
		panic(badRef(off, d, n))
	}
	if d.size == 0 {
		return zeroSizeAddr()
	}
	return h.locate(off, d, uintptr(n))
}

// An AtomicRef is a Ref that several goroutines read and change at once: a link of a lock-free
// list, skiplist or tree. The zero AtomicRef is nil. It takes 8 bytes, aligned to 8 bytes on each
// processor, also inside of off-heap values. An AtomicRef must not be copied after its first use;
// go vet reports copies.
//
// As with atomic.Pointer, a Store that a Load observes happens before the Load. But nothing keeps
// the value alive that a Ref leads to: the program must free it only when no goroutine can use the
// Ref any more. After a free, a new value may get the old Ref, and CompareAndSwap does not see the
// difference. A version in the Ref's free bits makes a difference; see [RefBits].
type AtomicRef[T any] struct {
	_   [0]*T // As in a Ref.
	off atomic.Uint64
}

// Load returns the Ref.
func (a *AtomicRef[T]) Load() Ref[T] { return Ref[T]{off: a.off.Load()} }

// Store replaces the Ref by r.
func (a *AtomicRef[T]) Store(r Ref[T]) { a.off.Store(r.off) }

// Swap replaces the Ref by r and returns the old one.
func (a *AtomicRef[T]) Swap(r Ref[T]) (old Ref[T]) { return Ref[T]{off: a.off.Swap(r.off)} }

// CompareAndSwap replaces the Ref by r if it is old, and reports whether it has done so.
func (a *AtomicRef[T]) CompareAndSwap(old, r Ref[T]) (swapped bool) {
	return a.off.CompareAndSwap(old.off, r.off)
}

// refTo is RefOf for an address that is not in the first region. It panics if addr lies in no
// block.
//
//go:noinline
func (h *heap) refTo(addr uintptr) uint64 {
	if t := h.serving(); t != nil {
		return t.refTo(addr)
	}
	r := h.regionOf(addr)
	if r != nil && addr-r.base < r.used.Load() {
		return uint64(addr-r.base) + r.refStart
	}
	if addr == zeroSizeAddr() {
		return refZeroSize
	}
	if t := h.sampledGuard(addr); t != nil {
		return t.refTo(addr) | guardedRef
	}
	h.misuse("RefOf", addr)
	return 0
}

// locate is the address of the value of d that a Ref with this offset leads to, or, if n is not 0,
// of n values in one block, to which a SliceRef does. It panics if there are none.
func (h *heap) locate(off uint64, d *typeDesc, n uintptr) uintptr {
	if t := h.serving(); t != nil {
		return t.resolve(off, d, n)
	}
	if addr, ok := h.resolveGuarded(off, d, n); ok {
		return addr
	}
	for i := range int(h.nregions.Load()) {
		r := &h.regions[i]
		if off < r.refStart || off-r.refStart >= uint64(r.used.Load()) {
			continue
		}
		in := uintptr(off - r.refStart)
		if r.typed != d.typed || d.size > r.used.Load()-in || in&(d.align-1) != 0 ||
			(d.typed || n > 0) && !h.holds(r.base+in, d, max(n, 1)) {
			break
		}
		return r.base + in
	}
	panic(badRef(off, d, uint64(n)))
}

// holds says whether n values of d, whose size is not 0, lie at addr in one block of their kind. Of
// a typed type an element of a block must begin there.
//
// If the block is freed meanwhile, the record may serve another span of its bin between two reads.
// So holds reads once what changes, and begins again if it has changed.
func (h *heap) holds(addr uintptr, d *typeDesc, n uintptr) bool {
	for {
		sp := h.spanOf(addr)
		if sp == nil || sp.state.Load() == spanDead {
			return false
		}
		base, granules := atomic.LoadUintptr(&sp.base), atomic.LoadUint32(&sp.granules)
		invariants.Window()
		b := h.binByID(sp.bin)
		in, size := addr-base, uintptr(granules)*granule
		ok := b.kind.typ == d.kind.typ && in < size
		if ok && b.size != 0 {
			ok = in/uintptr(b.size) < uintptr(b.blocks)
			in, size = in%uintptr(b.size), uintptr(b.size)
		}
		invariants.Window()
		if h.still(sp, base, addr) && atomic.LoadUint32(&sp.granules) == granules {
			return ok && (!d.typed || in%d.size == 0) && n <= (size-in)/d.size
		}
	}
}
