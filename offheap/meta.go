// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"github.com/freehold-go/freehold/internal/vmem"
)

// meta allocates memory for the allocator's own records. It lies apart from the blocks, so that no
// write through a stale slice reaches it (C1). It is zero, and never comes back: a bin keeps the records of
// the slabs that it gave up, see span. It is guarded by the lock of the heap.
type meta struct {
	next, end uintptr
	bytes     int64 // Taken from the system.
}

const (
	metaAlign = 64 // A cache line.
	metaChunk = 1 << 20
)

// alloc returns the address of size bytes, aligned to a cache line.
func (m *meta) alloc(mem vmem.Memory, size uintptr) (uintptr, error) {
	size = roundUp(size, metaAlign)
	if m.end-m.next < size {
		chunk := roundUp(max(metaChunk, size), vmem.PageSize())
		base, err := mem.Reserve(chunk, vmem.PageSize(), "offheap metadata")
		if err != nil {
			return 0, outOfMemory("metadata", size, err)
		}
		if err := mem.Commit(base, chunk); err != nil {
			_ = mem.Release(base, chunk) // No caller saw the range; the commit's error is the one to return.
			return 0, outOfMemory("metadata", size, err)
		}
		m.next, m.end = base, base+chunk
		m.bytes += int64(chunk)
	}
	addr := m.next
	m.next += size
	return addr, nil
}
