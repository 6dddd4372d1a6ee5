// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"fmt"
	"sync"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// A memory is the off-heap memory of one Sorter, Merge or Save, within its budget. It keeps free
// chunks for the next ones, so that a spill does not return pages that the next run touches at once.
// It is safe for concurrent use.
type memory struct {
	purpose *offheap.Purpose
	limit   int64
	chunk   int
	fault   func(op string) error

	mu   sync.Mutex
	used int64    // Of all blocks, free ones included.
	peak int64    // The most that used was.
	idle [][]byte // Free chunks.
	keep int64    // So many bytes are held while others need memory: they were reserved.
}

func newMemory(o *Options) *memory {
	return &memory{purpose: o.Purpose, limit: o.Memory, chunk: o.chunk, fault: o.fault}
}

// alloc returns n bytes with any contents. If the budget has no room for them, it frees idle chunks.
func (m *memory) alloc(n int) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n == m.chunk && len(m.idle) > 0 {
		last := len(m.idle) - 1
		b := m.idle[last]
		m.idle = m.idle[:last]
		return b, nil
	}
	for m.used+int64(n) > m.limit && len(m.idle) > 0 {
		m.drop()
	}
	if m.used+int64(n) > m.limit {
		return nil, fmt.Errorf("sortbuf: %w: %d more bytes; %d of Options.Memory %d are taken", offheap.ErrLimit, n, m.used, m.limit)
	}
	b, err := m.take(n)
	for err != nil && m.mayDrop() { // Of a shared limit, these count, too.
		m.drop()
		b, err = m.take(n)
	}
	if err != nil {
		return nil, err
	}
	m.used += int64(n)
	m.peak = max(m.peak, m.used)
	return b, nil
}

func (m *memory) take(n int) ([]byte, error) {
	if err := m.fault("allocate"); err != nil {
		return nil, err
	}
	if m.purpose == nil {
		return offheap.TryAllocUninit(n)
	}
	return m.purpose.TryAllocUninit(n)
}

// mayDrop says whether there is an idle chunk that need not be kept. What was reserved of a shared
// limit is not given up.
func (m *memory) mayDrop() bool {
	return len(m.idle) > 0 && (m.purpose == nil || m.used-int64(m.chunk) >= m.keep)
}

// drop returns an idle chunk to the machine.
func (m *memory) drop() {
	last := len(m.idle) - 1
	offheap.Free(m.idle[last])
	m.idle[last] = nil
	m.idle = m.idle[:last]
	m.used -= int64(m.chunk)
}

// free takes a block back.
func (m *memory) free(b []byte) {
	if cap(b) == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b = b[:cap(b)]
	if len(b) == m.chunk {
		m.idle = append(m.idle, b)
		return
	}
	offheap.Free(b)
	m.used -= int64(len(b))
}

// reserve allocates free chunks of n bytes. The memory that is held then is kept.
func (m *memory) reserve(n int64) error {
	var held [][]byte
	var err error
	for range n / int64(m.chunk) {
		var b []byte
		if b, err = m.alloc(m.chunk); err != nil {
			break
		}
		held = append(held, b)
	}
	for _, b := range held {
		m.free(b)
	}
	m.keep, _ = m.stats()
	return err
}

// trim frees all idle chunks but those reserved, for the other users of the purpose.
func (m *memory) trim() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.mayDrop() {
		m.drop()
	}
}

// close frees all idle chunks. Later frees return memory at once.
func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.idle) > 0 {
		m.drop()
	}
	m.chunk = -1
}

// room is the bytes of the budget that are not in use. Free chunks are not in use.
func (m *memory) room() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.limit - m.used + int64(len(m.idle))*int64(m.chunk)
}

// stats is the bytes held, and the most there were.
func (m *memory) stats() (used, peak int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, m.peak
}

// words is a block as a slice of T, which has no pointers and no bools.
func words[T uint64 | entry](b []byte) []T {
	// SAFETY: offheap aligns blocks to 8 bytes, and any bits are a T. The slice keeps a block of the Go
	// heap alive, as b does.
	return unsafex.SliceOf[T](unsafex.DataOf(b), len(b)/int(unsafex.Size[T]()), len(b)/int(unsafex.Size[T]()))
}
