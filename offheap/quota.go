// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math"
	"sync/atomic"
)

// A quota is the number of bytes in free blocks that holders may take from slabs before the counters
// are added up again, plus one. It is 0 while the spans hold at most the limit: then holders may take
// every free block. It is written under the heap's lock, but for take.
type quota struct{ left atomic.Int64 }

// take takes n bytes, or reports false if the quota is not large enough. It takes no lock.
func (q *quota) take(n int64) bool {
	for {
		v := q.left.Load()
		switch {
		case v == 0:
			return true
		case v <= n:
			return false
		case q.left.CompareAndSwap(v, v-n):
			return true
		}
	}
}

// open ends a sum that found room for n bytes and for taken of them at once, which the caller takes.
// Room without bound means that the spans hold at most the limit.
func (q *quota) open(n, taken int64) {
	if n == math.MaxInt64 {
		q.left.Store(0)
	} else {
		q.set(n - taken)
	}
}

func (q *quota) set(n int64) { q.left.Store(max(n, 0) + 1) }

// close makes the next take add up the counters. Who is about to add them up, and to act on the
// sum, closes the quota first: then no other goroutine takes what the sum does not have.
func (q *quota) close() { q.set(0) }

// reset makes the next take add up the counters, if the spans hold more than the limit.
func (q *quota) reset(held, limit int64) {
	if limit > 0 && held > limit {
		q.close()
	} else {
		q.left.Store(0)
	}
}

// follow notes that the bytes held grew by n to held.
func (q *quota) follow(n, held, limit int64) {
	if near := limit > 0 && held > limit; near != (q.left.Load() != 0) {
		q.reset(held, limit)
	} else if n > 0 && !q.take(n) {
		q.close()
	}
}
