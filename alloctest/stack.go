// SPDX-License-Identifier: Apache-2.0

package alloctest

import "unsafe"

// sliceWords is a slice whose address is a number, which escape analysis does not follow.
type sliceWords struct {
	first    uintptr
	len, cap int
}

// onStack calls f with memory of this goroutine's stack. Without the detour the compiler would move
// the array to the heap, because f passes it on to a method of an interface.
//
//go:noinline
func onStack(f func(b []byte)) {
	var memory [256]byte
	b := memory[:]
	// SAFETY: sliceWords has the layout of a slice. The address is a number only between these two
	// statements, in which nothing can make the stack move; afterwards it is a pointer again, in a
	// slice that is itself on this stack, so that a move adjusts it. The array outlives the call of
	// f because b is used after it.
	words := *(*sliceWords)(unsafe.Pointer(&b))
	// SAFETY: as above.
	hidden := *(*[]byte)(unsafe.Pointer(&words))
	f(hidden)
	b[0]++
}
