// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"slices"
	"sync"
)

// quarantine keeps the blocks freed last from being used again, so that no other block has their
// addresses. So a double free is distinguished from a foreign pointer, and a write after a free
// damages no other block. It keeps at least 8 blocks, and otherwise no more than its bounds allow.
type quarantine struct {
	most      int     // Blocks.
	bytesMost uintptr // Bytes that they take.

	mu     sync.Mutex
	blocks []block // The oldest first.
	bytes  uintptr
	seen   int // The first seen blocks have been checked in this round.
}

func (q *quarantine) put(b block) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.blocks = append(q.blocks, b)
	q.bytes += b.room
}

// pop takes the oldest block out if the bounds are exceeded, or if its memory is needed.
func (q *quarantine) pop(needed bool) (b block, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := len(q.blocks)
	if n == 0 || !needed && (n <= 8 || n <= q.most && q.bytes <= q.bytesMost) {
		return block{}, false
	}
	b, q.blocks[0] = q.blocks[0], block{}
	q.blocks = q.blocks[1:]
	q.bytes -= b.room
	q.seen = max(0, q.seen-1)
	return b, true
}

// some calls f for n blocks, each time for the next ones in turn, while none can leave.
func (q *quarantine) some(n int, f func(b *block)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range min(n, len(q.blocks)) {
		if q.seen >= len(q.blocks) {
			q.seen = 0
		}
		f(&q.blocks[q.seen])
		q.seen++
	}
}

// has says whether addr lies in a block that was freed not long ago.
func (q *quarantine) has(addr uintptr) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.blocks, func(b block) bool { return addr-b.addr < b.size })
}

// each calls f for each block while none can leave.
func (q *quarantine) each(f func(b *block)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.blocks {
		f(&q.blocks[i])
	}
}
