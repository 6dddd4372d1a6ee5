// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/vmem"
)

// allocLarge takes a block of more than sizeclass.Max bytes, or of an alignment above a granule,
// straight from the page heap. If zero is set, it clears those of the first n bytes that lie on
// pages with old data; pages fresh from the machine are zero.
func (h *heap) allocLarge(k *kind, n, align uintptr, zero bool) (uintptr, error) {
	if n > largestAlloc || align > maxAlign {
		return 0, outOfMemory("blocks", n, errTooLarge)
	}
	if err := checkMachine(n); err != nil {
		return 0, err
	}
	b := h.bin(k, largeClass)
	count := int(roundUp(max(n, 1), granule) / granule)
	var sp *span
	var dirty dirtyRuns
	take := func() (err error) {
		sp, dirty, err = h.allocSpan(b, count, max(align, granule), func(sp *span) {
			sp.full.Store(0)
			sp.state.Store(spanBusy) // Until it is complete: a free of a stale slice may name the address.
		})
		return err
	}
	err := take()
	if err != nil {
		err = h.retry(b, err, take)
	}
	if err != nil {
		h.followGrowth()
		return 0, err
	}
	addr := sp.base
	invariants.Window()
	if h.chosen(sp.bytes()) {
		h.sampleLarge(k, sp)
	}
	if zero {
		for _, d := range dirty.runs[:dirty.n] {
			if d.lo < addr+n {
				wipe(d.lo, min(d.hi, addr+n)-d.lo)
			}
		}
	}
	sp.state.Store(spanLarge)
	h.followGrowth()
	return addr, nil
}

// checkMachine refuses a block that is larger than all memory of the machine, as the kernel does by
// default for mappings that it accounts. Such a block costs nothing then: no address space, and no
// records for it.
func checkMachine(n uintptr) error {
	const small = 1 << 30 // No system call for these; their records are small.
	if n <= small {
		return nil
	}
	if most := vmem.MachineMemory(); uint64(n) > most {
		return outOfMemory("blocks", n, fmt.Errorf("the machine has %d bytes of memory and swap: set vm.overcommit_memory=1 if most of the block stays unused", most))
	}
	return nil
}

func (h *heap) freeLarge(b *bin, sp *span, addr uintptr, op string) {
	invariants.Window()
	h.lockLarge(op, sp, addr)
	sp.state.Store(spanDead)
	h.mu.Unlock()
	invariants.Window()
	if sp.full.Load() != 0 {
		allocsample.Remove(addr)
	}
	if b.kind.wipe {
		wipe(sp.base, sp.bytes())
	}
	h.freeSpan(b, sp)
}

// resizeLarge makes a large block hold n bytes where it is, if what follows it is free or belongs
// to its range, and zeroes what comes after the first old bytes. It returns the bytes that the
// block has then, or 0 if that is impossible. It never moves the mapping, as mremap would: a stale
// pointer must go on to point into freehold's memory.
func (h *heap) resizeLarge(op string, b *bin, sp *span, addr, old, n uintptr) uintptr {
	if n > largestAlloc {
		return 0
	}
	var dirty dirtyRuns
	invariants.Window()
	h.lockLarge(op, sp, addr)
	want, have := int(roundUp(n, granule)/granule), int(sp.granules)
	ok := h.resizeLocked(b, sp, want, have, &dirty)
	h.mu.Unlock()
	h.followGrowth()
	if !ok {
		return 0
	}
	invariants.Window()
	h.resampleLarge(b.kind, sp, uintptr(have)*granule)
	if lo, hi := b.kind.cleared(old, n, uintptr(have)*granule); lo < hi {
		wipe(addr+lo, hi-lo)
	}
	for _, d := range dirty.runs[:dirty.n] {
		wipe(d.lo, d.hi-d.lo)
	}
	switch {
	case want < have && b.kind.typed():
		r := h.regionOf(addr)
		h.emptyTyped(granuleRange{r, int((addr-r.base)/granule) + want, have - want}) // What follows is zero.
	case want < have:
		h.purge.arm()
	}
	return uintptr(want) * granule
}

// lockLarge takes the lock. It panics if no large block with that record begins at addr that the
// program may free. It may have been freed after the caller's look-up, and sp serve another by now.
func (h *heap) lockLarge(op string, sp *span, addr uintptr) {
	h.mu.Lock()
	if h.spanOf(addr) != sp || sp.base != addr || sp.state.Load() != spanLarge {
		h.mu.Unlock()
		h.misuse(op, addr)
	}
}

func (h *heap) resizeLocked(b *bin, sp *span, want, have int, dirty *dirtyRuns) bool {
	r := h.regionOf(sp.base)
	i := int((sp.base-r.base)/granule) + min(want, have)
	n := max(want, have) - min(want, have)
	bytes := int64(want-have) * granule
	switch {
	case n == 0:
		return true
	case b.kind.typed(): // A small block would keep a long range from others.
		if want > sp.rangeGranules() || want < min(have, sp.rangeGranules()/2) {
			return false
		}
	case want > have && !r.runs.isFree(i, n):
		return false
	case want < have && b.kind.wipe:
		return false // The tail would have to be wiped under the lock; the block moves instead.
	}
	if want > have && b.kind.checkLimit(bytes) != nil {
		return false
	}
	switch {
	case b.kind.typed(): // Nothing but this block can use the rest of its range.
	case want > have:
		r.runs.set(i, n, false)
		h.clean(r, i, n, dirty)
		if end := uintptr(i+n) * granule; end > r.used.Load() {
			r.used.Store(end)
		}
	default:
		r.runs.set(i, n, true)
		setBits(r.fresh, i, n, true)
		h.purge.freshBytes -= bytes
	}
	first := (sp.base - r.base) / granule
	h.mapBytes += r.pages.renote(first, first+uintptr(have), first+uintptr(want), sp.addr())
	atomic.StoreUint32(&sp.granules, uint32(want))
	h.count(b, bytes)
	return true
}
