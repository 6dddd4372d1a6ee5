// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"github.com/freehold-go/freehold/internal/vmem"
)

// meta allocates memory for the allocator's own records. It lies apart from the blocks, so that no
// write through a stale slice reaches it (C1). Records are recycled among records of the same size
// and never returned; fresh ones are zero. It is guarded by the lock of the heap.
type meta struct {
	next, end uintptr
	free      map[uintptr][]uintptr // Recycled records by size.
	bytes     int64                 // Taken from the system.
}

const (
	metaAlign = 64 // A cache line.
	metaChunk = 1 << 20
)

// alloc returns the address of size bytes, aligned to a cache line.
func (m *meta) alloc(mem vmem.Memory, size uintptr) (uintptr, error) {
	size = roundUp(size, metaAlign)
	if list := m.free[size]; len(list) > 0 {
		m.free[size] = list[:len(list)-1]
		return list[len(list)-1], nil
	}
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

// has says whether alloc can serve a record of that size without asking the system.
func (m *meta) has(size uintptr) bool {
	size = roundUp(size, metaAlign)
	return len(m.free[size]) > 0 || m.end-m.next >= size
}

// recycle takes a record back. Its contents stay: group words keep their versions, so that a
// compare-and-swap on a word of the record's earlier life fails.
func (m *meta) recycle(addr, size uintptr) {
	if m.free == nil {
		m.free = make(map[uintptr][]uintptr)
	}
	size = roundUp(size, metaAlign)
	m.free[size] = append(m.free[size], addr)
}
