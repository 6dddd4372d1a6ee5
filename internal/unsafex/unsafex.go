// SPDX-License-Identifier: Apache-2.0

// Package unsafex is the only pointer arithmetic of freehold outside internal/vmem.
//
// Off-heap addresses travel through freehold as uintptr, because the memory behind them is never
// the Go heap's, never moves and is never unmapped. The functions here turn such an address into
// something that Go code can use. Each states what its caller must guarantee.
package unsafex

import (
	"sync/atomic"
	"unsafe"
)

// Pointer turns an address into a pointer. The caller guarantees that the address lies in memory
// that freehold mapped and committed, so that neither the collector (GC-4) nor checkptr ever takes
// the result for a pointer into the Go heap.
func Pointer(addr uintptr) unsafe.Pointer {
	// SAFETY: reads the bits of a local variable; see the function's comment for the value.
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

// At is Pointer for a value of type T. The address must also be aligned for T and have
// unsafe.Sizeof(T) bytes behind it.
func At[T any](addr uintptr) *T { return (*T)(Pointer(addr)) }

// Bytes is the memory [addr, addr+n) as a slice of capacity n. The caller guarantees that all of
// it is mapped and committed.
func Bytes(addr, n uintptr) []byte {
	// SAFETY: the caller vouches for the range; n is bounded by a mapping and so by the address
	// space.
	return unsafe.Slice((*byte)(Pointer(addr)), n)
}

// Slice is the memory at addr as length elements of T with room for capacity. The caller
// guarantees that capacity*unsafe.Sizeof(T) bytes are mapped, committed and aligned for T.
func Slice[T any](addr uintptr, length, capacity int) []T {
	// SAFETY: the caller vouches for the range.
	return unsafe.Slice((*T)(Pointer(addr)), capacity)[:length]
}

// Clear writes zeros over [addr, addr+n) without write barriers. The range must be committed and,
// if it held pointers, these must be pointers that the collector has no interest in (GC-4).
func Clear(addr, n uintptr) { clear(Bytes(addr, n)) }

// Addr is the address of *p. The result keeps nothing alive.
func Addr[T any](p *T) uintptr {
	// SAFETY: a conversion to uintptr is always allowed.
	return uintptr(unsafe.Pointer(p))
}

// SliceAddr is the address of the first element of s, also where len(s) is 0. It keeps nothing
// alive.
func SliceAddr[T any](s []T) uintptr {
	// SAFETY: a conversion to uintptr is always allowed.
	return uintptr(unsafe.Pointer(unsafe.SliceData(s)))
}

// Size is the size of a T in bytes.
func Size[T any]() uintptr {
	// SAFETY: Sizeof evaluates nothing. A variable in its place would be made on the Go heap for a
	// large T.
	return unsafe.Sizeof(*(*T)(nil))
}

// Align is the alignment of a T in bytes.
func Align[T any]() uintptr {
	// SAFETY: Alignof evaluates nothing; see Size.
	return unsafe.Alignof(*(*T)(nil))
}

// Load64 reads the aligned 64-bit word at addr atomically. The word must be committed.
func Load64(addr uintptr) uint64 { return atomic.LoadUint64((*uint64)(Pointer(addr))) }

// CAS64 replaces old by v in the aligned 64-bit word at addr. The word must be committed.
func CAS64(addr uintptr, old, v uint64) bool {
	return atomic.CompareAndSwapUint64((*uint64)(Pointer(addr)), old, v)
}
