//go:build asan && linux && (amd64 || arm64)

// Command leakcheck is a program for a test: it keeps the only pointer to memory of C in off-heap memory, or loses it.
package main

// #include <stdlib.h>
import "C"

import (
	"os"
	"unsafe"

	"github.com/freehold-go/freehold/offheap"
)

// slot has room for a pointer of C's, which Go must not take for one of its own.
type slot struct{ address uintptr }

//go:noinline
func fill(s *slot) {
	// SAFETY: an address of C's memory, kept as a number.
	s.address = uintptr(unsafe.Pointer(C.malloc(1000)))
}

// overwrite leaves nothing of what the stack held.
//
//go:noinline
func overwrite() {
	var stack [4 << 10]byte
	for i := range stack {
		stack[i] = byte(i)
	}
	if stack[7] != 7 {
		os.Exit(3)
	}
}

var kept *slot

func main() {
	kept = offheap.New[slot]()
	fill(kept)
	if len(os.Args) > 1 {
		for range 9 { // Of ten addresses the slot holds one.
			fill(kept)
		}
	}
	overwrite()
}
