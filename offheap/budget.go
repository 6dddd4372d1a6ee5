// SPDX-License-Identifier: Apache-2.0

package offheap

import "sync/atomic"

// A budget has the bytes of the heap, or those of one purpose, and their limit. A block counts in the
// heap's budget and in that of its purpose; see kind.budgets.
type budget struct {
	who   string       // Whose it is, in errors.
	held  int64        // Bytes in spans, and beside. Guarded by the lock of the heap.
	limit atomic.Int64 // Of the bytes in use, 0 for none. Written under that lock.
	quota quota
	tight int64 // The fewest bytes held at a refusal since the last flush at a limit. Guarded by that lock.

	_   [64]byte
	out atomic.Int64 // The sum of the bins' counts, in bytes. It has a cache line of its own.
	_   [64]byte
}

// add adds n bytes to the bytes held. The caller holds the lock of the heap.
func (g *budget) add(n int64) {
	g.held += n
	g.quota.follow(n, g.held, g.limit.Load())
}

// grown says whether the bytes held have grown by more than an eighth of the limit since a flush made
// it tight. If so, the caller flushes. The caller holds the lock of the heap.
func (g *budget) grown() bool {
	if limit := g.limit.Load(); limit > 0 && g.held-g.tight > limit/8 {
		g.tight = g.held
		return true
	}
	g.tight = min(g.tight, g.held)
	return false
}
