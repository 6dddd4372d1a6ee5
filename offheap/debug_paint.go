// SPDX-License-Identifier: Apache-2.0

package offheap

import "github.com/freehold-go/freehold/internal/unsafex"

// These functions read and write memory that is the program's, maybe while the program writes to
// it. The race detector must not report that.

// paint writes the byte over n bytes at addr.
//
//go:norace
func paint(addr, n uintptr, with byte) {
	if n == 0 {
		return
	}
	mem := unsafex.Bytes(addr, n)
	for i := range mem {
		mem[i] = with
	}
}

// unpainted finds the first of n bytes at addr that differs from the byte. whole says that none does.
//
//go:norace
func unpainted(addr, n uintptr, with byte) (off uintptr, whole bool) {
	if addr%8 == 0 { // Whole words first.
		word := uint64(with) * 0x0101010101010101
		for _, w := range unsafex.Slice[uint64](addr, int(n/8), int(n/8)) {
			if w != word {
				break
			}
			off += 8
		}
	}
	for ; off < n; off++ {
		if *unsafex.At[byte](addr + off) != with {
			return off, false
		}
	}
	return 0, true
}

// wipe looks at the parts, of sparsePart bytes, of a range of at least sparseFrom bytes.
const (
	sparseFrom = 1 << 20
	sparsePart = 64 << 10
	// longestClear bounds the bytes that are cleared at once, a millisecond's work: the collector
	// waits for the end of a clear. Go's clear leaves the caches out from 32 MiB on.
	longestClear = 32 << 20
)

// wipe writes zeros over n bytes at addr. Of a long range it reads each part first and leaves a part
// that is zero alone. So pages that the program never wrote take no memory on Linux, which shows one
// page of zeros to readers. A part that is not zero is mostly known by its first word. Such parts in
// a row are cleared together, because a long clear writes past the processor's caches and takes a
// third of the time.
//
// To give the pages back to the system would be faster for a sparse range. But then the bytes stay
// in the machine's memory until the kernel uses the pages again, and locked pages cannot be given
// back.
//
//go:norace
func wipe(addr, n uintptr) {
	end := addr + n
	if n >= sparseFrom {
		for part := roundUp(addr, sparsePart); part+sparsePart <= end; part += sparsePart {
			if _, zero := unpainted(part, sparsePart, 0); zero {
				unsafex.Clear(addr, part-addr)
				addr = part + sparsePart
			} else if part-addr >= longestClear {
				unsafex.Clear(addr, part-addr)
				addr = part
			}
		}
	}
	unsafex.Clear(addr, end-addr)
}
