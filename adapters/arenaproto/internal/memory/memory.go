// SPDX-License-Identifier: Apache-2.0

// Package memory is all unsafe code of arenaproto.
//
// The decoder reads its input and writes its messages at offsets from a pointer. Each function here
// states what its caller must guarantee.
package memory

import (
	"encoding/binary"
	"unsafe"
)

// Pointer is the address of memory that the collector knows.
type Pointer = unsafe.Pointer

// A Slice is a slice of any type, as it lies in memory (GC-8).
type Slice struct {
	Data     Pointer
	Len, Cap int
}

// An Interface is an interface with methods that holds a pointer, as it lies in memory (GC-8).
type Interface struct{ Tab, Data Pointer }

// Add is the address n bytes behind p. The caller guarantees that it lies in the same block.
func Add(p Pointer, n uintptr) Pointer {
	// SAFETY: the caller vouches for the range.
	return unsafe.Add(p, n)
}

// As is p as a pointer to a T. The caller guarantees that p is the address of a T, or that T has the
// layout of what lies there.
func As[T any](p Pointer) *T {
	// SAFETY: the caller vouches for the memory.
	return (*T)(p)
}

// Of is the address of *v.
func Of[T any](v *T) Pointer {
	// SAFETY: a conversion from a pointer is always allowed.
	return unsafe.Pointer(v)
}

// Data is the address of the first byte of b, also where len(b) is 0.
func Data(b []byte) Pointer {
	// SAFETY: a conversion from a pointer is always allowed.
	return unsafe.Pointer(unsafe.SliceData(b))
}

// Byte is the byte at index i of the bytes at p. The caller guarantees that there is one.
func Byte(p Pointer, i int) byte {
	// SAFETY: the caller vouches for the index.
	return *(*byte)(unsafe.Add(p, i))
}

// Load32 is the four bytes at index i, the first one lowest. The caller guarantees that there are
// four.
func Load32(p Pointer, i int) uint32 {
	// SAFETY: the caller vouches for the range.
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p, i))[:])
}

// Load64 is the eight bytes at index i, the first one lowest. The caller guarantees that there are
// eight.
func Load64(p Pointer, i int) uint64 {
	// SAFETY: the caller vouches for the range.
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, i))[:])
}

// String is n bytes at index i as a string. The caller guarantees that they exist and do not change
// while the string is in use.
func String(p Pointer, i, n int) string {
	if n == 0 {
		return ""
	}
	// SAFETY: the caller vouches for the range.
	return unsafe.String((*byte)(unsafe.Add(p, i)), n)
}

// PutString stores in the string at to what String returns.
func PutString(to, p Pointer, i, n int) {
	if n == 0 {
		*(*string)(to) = ""
		return
	}
	// SAFETY: the caller vouches for the range and for the string. A string is its address and its length (GC-8).
	// unsafe.String would check the length once more.
	*(*stringHeader)(to) = stringHeader{unsafe.Add(p, i), n}
}

// A stringHeader is a string as it lies in memory (GC-8).
type stringHeader struct {
	data Pointer
	len  int
}

// Bytes is n bytes at index i as a slice without further capacity. It is not nil. The caller
// guarantees that they exist.
func Bytes(p Pointer, i, n int) []byte {
	if n == 0 {
		return []byte{}
	}
	// SAFETY: the caller vouches for the range.
	return unsafe.Slice((*byte)(unsafe.Add(p, i)), n)
}

// Joined is the bytes of front and the n bytes behind them as one slice, if they lie between base and
// front's end without a gap: front ends at index i of the bytes at base, and begins behind base. The
// caller guarantees that the n bytes from index i on exist.
func Joined(front []byte, base Pointer, i, n int) ([]byte, bool) {
	// SAFETY: front begins and ends in the bytes at base, which are one block, so the n bytes behind
	// its end are the block's, too.
	begin, at := uintptr(unsafe.Pointer(unsafe.SliceData(front))), uintptr(base)
	if len(front) == 0 || begin < at || begin+uintptr(len(front)) != at+uintptr(i) {
		return nil, false
	}
	return unsafe.Slice(unsafe.SliceData(front), len(front)+n), true
}
