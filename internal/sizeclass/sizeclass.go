// SPDX-License-Identifier: Apache-2.0

// Package sizeclass is the table of size classes and the arithmetic on it.
//
// Classes are 16, 24, … 64 bytes, and from there eight to an octave up to [Max]: 72, 80, … 128,
// 144, … 64 KiB. Every class is a multiple of 8 bytes. A request above 64 bytes wastes less than
// an eighth (12.5 %) of its size, which is less than a ninth of its block. The waste is largest
// just above a power of two: 65 bytes take 72 (10.8 %), and 32 KiB + 1 byte take 36 KiB (12.5 %).
// The spacing is jemalloc's with eight steps instead of four (jemalloc(3), "Size classes").
package sizeclass

import "math/bits"

const (
	// Min is the smallest class in bytes.
	Min = 16
	// Max is the largest class in bytes. Larger blocks come straight from the page heap.
	Max = 64 << 10

	fine  = 7               // Classes up to 64 bytes: 16, 24, 32, 40, 48, 56, 64.
	steps = 8               // Classes in an octave above.
	Count = fine + 10*steps // Ten octaves from 64 bytes to 64 KiB.
)

// sizes holds the size of each class in bytes.
var sizes = func() (t [Count]uint32) {
	for c := range fine {
		t[c] = uint32(Min + 8*c)
	}
	for c := fine; c < Count; c++ {
		octave, step := uint((c-fine)/steps), uint32((c-fine)%steps)
		t[c] = (steps + 1 + step) << (octave + 3)
	}
	return t
}()

// small answers Of for requests up to 1 KiB, in units of 8 bytes.
var small = func() (t [1024/8 + 1]uint8) {
	for i := range t {
		t[i] = uint8(compute(uintptr(i) * 8))
	}
	return t
}()

// Of is the class of a request of n bytes. It holds for n up to Max only.
func Of(n uintptr) uint32 {
	if i := (n + 7) / 8; i < uintptr(len(small)) {
		return uint32(small[i])
	}
	return compute(n)
}

func compute(n uintptr) uint32 {
	if n <= 64 {
		return uint32((max(n, Min) - Min + 7) / 8)
	}
	shift := uint(bits.Len64(uint64(n-1))) - 4 // The step of n's octave is 1<<shift.
	return fine + uint32(shift-3)*steps + uint32((n-1)>>shift) - steps
}

// Size is the size of class c in bytes. c must be below Count.
func Size(c uint32) uintptr { return uintptr(sizes[c]) }

// OfAligned is the smallest class that holds n bytes and whose every block is aligned to align,
// given slabs that are aligned to align themselves. It reports false where there is none.
func OfAligned(n, align uintptr) (uint32, bool) {
	if n > Max {
		return 0, false
	}
	for c := Of(n); c < Count; c++ {
		if Size(c)%align == 0 {
			return c, true
		}
	}
	return 0, false
}

// Capacity rounds n up to one of four lengths to an octave: 1, 2, … 8, 10, 12, 14, 16, 20, … It is for
// address space whose length never changes and that is to serve again.
func Capacity(n uintptr) uintptr {
	step := uintptr(1) << max(bits.Len64(uint64(n-min(n, 1)))-3, 0)
	return (n + step - 1) &^ (step - 1)
}
