// SPDX-License-Identifier: Apache-2.0

package offheap

import "math"

// The units and bounds that all of the allocator shares.
const (
	ptrSize = 4 << (^uintptr(0) >> 63)
	is64    = ptrSize == 8
	is64Int = int64(ptrSize / 8)

	granule = 8 << 10 // Spans are whole granules.

	// maxAlign is the largest alignment that AllocAligned takes: a huge page.
	maxAlign = 2 << 20
	// slabAlign is the largest alignment that slabs give.
	slabAlign = 4096

	// largestAlloc bounds a block: 16 TiB, or half of a 32-bit address space. Counts of granules
	// are 32 bits wide.
	largestAlloc = min(1<<(31+13*is64Int)-1, math.MaxInt/2)
)

// roundUp is the first multiple of align, a power of two, from n on.
func roundUp(n, align uintptr) uintptr { return (n + align - 1) &^ (align - 1) }
