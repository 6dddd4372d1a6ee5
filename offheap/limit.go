// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
)

// The life cycle of a request at a limit:
//
//  1. allocSpan, or a large block that grows, asks checkLimit under the heap's lock, before it takes
//     granules. Free blocks of slabs that exist are below the limit already and are not asked for.
//  2. If a limit refuses the span, the request waits for a purge that is under way, because the purge
//     keeps free blocks to itself. Then it flushes the Ps if that may help: see worthFlushing.
//  3. The request is made once more. If it fails again, it is refused.

// checkLimit says whether the limits leave room for n more bytes of k. The caller holds the heap's lock.
func (k *kind) checkLimit(n int64) error {
	for _, g := range k.budgets {
		if !g.leaves(n) {
			return &limitError{g, n, g.held.Load(), g.limit.Load()}
		}
	}
	return nil
}

// nearLimit says whether the limits leave no room for another slab of b.
func (b *bin) nearLimit() bool {
	for _, g := range b.kind.budgets {
		if !g.leaves(int64(b.granules) * granule) {
			return true
		}
	}
	return false
}

// A limitError is a request that a limit refused. Its text is made by Error: a program at its limit
// is refused again and again, and seldom asks for the text.
type limitError struct {
	of             *budget // Whose limit. A string would make the error half as large again.
	n, held, limit int64
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%v: %d more bytes for %s; %d of at most %d are taken: free blocks, or raise the limit with SetLimit", ErrLimit, e.n, e.of.who, e.held, e.limit)
}

func (e *limitError) Unwrap() error { return ErrLimit }

// syncStep is how many more bytes may be held before the memory limit follows; ticks of the purge
// follow the returned memory.
const syncStep = 4 << 20

// hold adds n bytes, of kind k, to the bytes held. The caller holds the lock.
func (h *heap) hold(k *kind, n int64) {
	for _, g := range k.budgets {
		if held, limit := g.held.Add(n), g.limit.Load(); held < limit-limit/8 {
			g.refusals.Store(0)
		}
	}
	if held := h.held.Load(); held-h.synced > syncStep {
		h.synced = held
		h.grown.Store(true)
	}
}

// again makes a request of b, which failed with err, once more. No purge is under way meanwhile. If a
// flush may help, it comes first.
func (h *heap) again(b *bin, err error, request func() error) error {
	h.purge.mu.Lock()
	defer h.purge.mu.Unlock()
	if h.worthFlushing(b, err) {
		h.flushPs()
	}
	return request()
}

// worthFlushing says whether a flush is worth its price for a request of b that failed with err: it
// stops the world. A program at its limit is refused again and again.
//
//   - At the end of memory, which is rare, all that Ps hold may help.
//   - If a P holds a free block of b, a flush makes it available.
//   - Ps may hold empty slabs of other sizes. Refusals in a row flush for these at the first, the
//     second, the fourth and so on.
//
// A free that happened before the request is seen here, whatever P it was on. Locals do not count:
// a flush leaves them alone.
func (h *heap) worthFlushing(b *bin, err error) bool {
	var refusal *limitError
	if !errors.As(err, &refusal) {
		return true
	}
	n := refusal.of.refusals.Add(1)
	return n&(n-1) == 0 || h.psHoldFree(b)
}
