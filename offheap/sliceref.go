// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A SliceRef is a link to a []T outside the Go heap: 16 bytes, the Ref to its first element and its
// length. The collector treats both as numbers. Off-heap values hold SliceRefs in place of slices,
// which hold Go pointers. The zero SliceRef is nil. SliceRefs of equal T compare with ==.
// A string is a SliceRef[byte] to a copy of its bytes; string(r.Slice()) reads it.
//
// A SliceRef leads to a block of offheap and stays valid as long as a [Ref] does. Each use checks that
// all elements lie in one block. A wrong SliceRef panics or leads to other data without pointers and
// bools, never beyond a block. A SliceRef is a plain value: several goroutines may use it at once.
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
