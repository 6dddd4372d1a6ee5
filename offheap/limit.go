// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"slices"
)

// The life cycle of a request at a limit:
//
//  1. allocSpan, or a large block that grows, asks checkLimit under the heap's lock, before it
//     takes granules. Free blocks of slabs that exist are below the limit already and are not asked
//     for.
//  2. If a limit refuses the span, the request waits for a purge that is under way, because the
//     purge keeps free blocks to itself. Then it flushes the Ps if that may help: see
//     worthFlushing.
//  3. The request is made once more. If it fails again, it is refused.

// SetLimit bounds the bytes in slabs and large blocks ([Stats].Held), which resident memory
// follows; 0 means no bound. It returns the old bound. A request that needs another slab (64 to 512
// KiB) or a large block beyond the bound fails with [ErrLimit]; a request that a free block serves
// needs no room. Before a request fails, offheap takes back the free memory that Ps keep, if that
// may help.
//
// Each size class in use takes at least one slab, for each kind of memory: that of a [Purpose], and
// that of each type with bools; blocks that [SetSamplePeriod] samples are a kind, too. So a bound
// below a slab for each of them means nothing. Slabs with a block in use count whole. So do those
// that a [Local] keeps, and slabs of types with bools or of self-contained types, which stay their
// type's. A request may be refused while another goroutine takes or frees the last free block.
func SetLimit(n int64) (old int64) {
	checkLimitArgument(n)
	std.start()
	return std.setLimit(&std.budget, n)
}

func (h *heap) setLimit(g *budget, n int64) (old int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return g.limit.Swap(n)
}

func checkLimitArgument(n int64) {
	if n < 0 {
		panic(fmt.Errorf("offheap: SetLimit: negative limit %d; 0 means none", n))
	}
}

// retry makes a request of b, which failed with err, once more. No purge is under way meanwhile. If
// a flush may help, it comes first.
func (h *heap) retry(b *bin, err error, request func() error) error {
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
//   - If Ps hold empty slabs, and these have the bytes that the limit lacks, a flush gives them back.
//
// A free that happened before the request is seen here, whatever P it was on. Locals do not count:
// a flush leaves them alone.
func (h *heap) worthFlushing(b *bin, err error) bool {
	var refusal *limitError
	return !errors.As(err, &refusal) || h.psHoldFree(b) || h.psHoldRoom(refusal)
}

// psHoldRoom says whether Ps hold slabs, all of whose blocks are free, of the bytes that e lacks.
func (h *heap) psHoldRoom(e *limitError) bool {
	var empty []*span
	lacks := e.of.held.Load() + e.n - e.limit // A purge may have given slabs back since.
	for _, b := range *h.bins.Load() {
		if b.size == 0 || b.kind.typed() || b.slabs.Load() == 0 || !slices.Contains(b.kind.budgets, e.of) {
			continue
		}
		for s := range h.slotsOfPs(b) {
			for sp := range s.slabs(h, b) {
				if !h.emptyWithPs(sp, b) || slices.Contains(empty, sp) {
					continue
				}
				empty = append(empty, sp)
				if lacks -= int64(sp.bytes()); lacks <= 0 {
					return true
				}
			}
		}
	}
	return false
}

// limitReached says whether the limits leave no room for another slab of b.
func (b *bin) limitReached() bool {
	for _, g := range b.kind.budgets {
		if !g.leaves(int64(b.granules) * granule) {
			return true
		}
	}
	return false
}
