// SPDX-License-Identifier: Apache-2.0

package main

import "unsafe"

// beside is a pointer to the byte n bytes behind the first one of *p, or before it if n is negative. The check of unsafe arithmetic that comes
// with -race, -asan and -msan is off here: it knows some of the mistakes, by the objects of the Go heap that happen to lie nearby.
//
//go:nocheckptr
func beside[T any](p *T, n int) *byte {
	// SAFETY: there is none, which is the point: these programs do what a mistake in unsafe code
	// does.
	return (*byte)(unsafe.Add(unsafe.Pointer(p), n))
}

// hide stores the address of *p where the collector does not look for pointers.
func hide[T any](p *T, at *[8]byte) {
	// SAFETY: the bytes are the program's own; to the collector it is a number that is stored.
	*(*uintptr)(unsafe.Pointer(at)) = uintptr(unsafe.Pointer(p))
}

// address is p as a number.
func address[T any](p *T) uintptr {
	// SAFETY: it is never made a pointer again.
	return uintptr(unsafe.Pointer(p))
}

const wordSize = unsafe.Sizeof(uintptr(0))

// lengthened is s with a length that its block does not have.
//
//go:nocheckptr
func lengthened[T any](s []T, n int) []T {
	// SAFETY: there is none, as above.
	return unsafe.Slice(unsafe.SliceData(s), n)
}

// asPoint is what a program does that keeps values of several types as one.
func asPoint(o *other) *point {
	// SAFETY: both types are three numbers of 64 bits.
	return (*point)(unsafe.Pointer(o))
}
