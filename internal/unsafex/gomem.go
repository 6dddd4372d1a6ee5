// SPDX-License-Identifier: Apache-2.0

package unsafex

import "unsafe"

// Ptr is the address of memory on the Go heap or off it, typed so that the collector sees it and
// keeps the memory alive. Packages that may not import unsafe name and pass it on, and turn it
// into values with the functions here.
type Ptr = unsafe.Pointer

// Add is the address n bytes behind p. The caller guarantees that it lies in the same block.
func Add(p Ptr, n uintptr) Ptr {
	// SAFETY: the caller vouches for the range.
	return unsafe.Add(p, n)
}

// Before is the address n bytes before p. The caller guarantees that it lies in the same block.
func Before(p Ptr, n uintptr) Ptr {
	// SAFETY: the caller vouches for the range.
	return unsafe.Add(p, -int(n))
}

// PtrAddr is the number of p. It keeps nothing alive.
func PtrAddr(p Ptr) uintptr { return uintptr(p) }

// As is p as a pointer to a T. The caller guarantees that the memory behind it is aligned for T,
// large enough, and of bits that a T may have; if T holds pointers, that the collector knows the
// memory as that of a T.
func As[T any](p Ptr) *T {
	// SAFETY: the caller vouches for the memory.
	return (*T)(p)
}

// PtrOf is the address of *v.
func PtrOf[T any](v *T) Ptr {
	// SAFETY: a conversion from a pointer is always allowed.
	return unsafe.Pointer(v)
}

// DataOf is the address of the first element of s, also where len(s) is 0.
func DataOf[T any](s []T) Ptr {
	// SAFETY: a conversion from a pointer is always allowed.
	return unsafe.Pointer(unsafe.SliceData(s))
}

// SliceOf is the memory at p as length elements of T with room for capacity. The caller
// guarantees of capacity values what it guarantees of one for As, and length <= capacity.
func SliceOf[T any](p Ptr, length, capacity int) []T {
	// SAFETY: the caller vouches for the memory.
	return unsafe.Slice((*T)(p), capacity)[:length]
}

// StringOf is the n bytes at p as a string. The caller guarantees that no code changes them while
// anybody may look at the string.
func StringOf(p Ptr, n int) string {
	// SAFETY: the caller vouches for the memory.
	return unsafe.String((*byte)(p), n)
}

// StringData is the address of the first byte of s. The bytes must not be changed.
func StringData(s string) Ptr {
	// SAFETY: a conversion from a pointer is always allowed.
	return unsafe.Pointer(unsafe.StringData(s))
}

// Elem is the address of the i-th T of an array whose first is *p. The caller guarantees that
// there are as many.
func Elem[T any](p *T, i uintptr) *T {
	// SAFETY: the caller vouches for the length.
	return (*T)(unsafe.Add(unsafe.Pointer(p), i*unsafe.Sizeof(*p)))
}

// ClearAt writes zeros over n bytes at p without write barriers: the caller guarantees that the
// memory holds no pointers that the collector follows.
func ClearAt(p Ptr, n uintptr) {
	// SAFETY: the caller vouches for the range.
	clear(unsafe.Slice((*byte)(p), n))
}

// FillAt writes v over n bytes at p without write barriers; what ClearAt demands holds here, too.
func FillAt(p Ptr, n uintptr, v byte) {
	// SAFETY: the caller vouches for the range.
	mem := unsafe.Slice((*byte)(p), n)
	for i := range mem {
		mem[i] = v
	}
}

// Unescaped is p without escape analysis knowing: what p leads to may stay on the caller's stack
// (GC-14). The caller guarantees that nothing keeps the result.
func Unescaped(p Ptr) Ptr { return pointerTo[Ptr](uintptr(p)) }

// pointerTo is the pointer with number n, as strings.Builder of the standard library hides its
// pointer: the result of a conversion is a pointer to the compiler, also where this is inlined, and
// so follows a stack that moves. It must be a conversion: if the number is stored in a variable and
// loaded from there as a pointer, the compiler forwards the number, which a caller then keeps across
// calls. The type parameter is for go vet, which reports conversions of numbers to unsafe.Pointer.
//
//go:nosplit
//go:nocheckptr
func pointerTo[P ~unsafe.Pointer](n uintptr) P {
	// SAFETY: between the conversion of the pointer to n and this one nothing is called, so the stack
	// cannot move (GC-14).
	return P(n ^ 0)
}

// Word is the bits of *p, a value of 1, 2, 4 or 8 bytes that is aligned to its size or to that of a
// pointer; it is 0 for all of another size.
func Word[T any](p *T) uint64 {
	// SAFETY: reads as many bytes as *p has.
	switch unsafe.Sizeof(*p) {
	case 8:
		return *(*uint64)(unsafe.Pointer(p))
	case 4:
		return uint64(*(*uint32)(unsafe.Pointer(p)))
	case 2:
		return uint64(*(*uint16)(unsafe.Pointer(p)))
	case 1:
		return uint64(*(*uint8)(unsafe.Pointer(p)))
	}
	return 0
}
