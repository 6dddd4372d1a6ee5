// SPDX-License-Identifier: Apache-2.0

package offheap

import "github.com/freehold-go/freehold/internal/invariants"

// Shared slabs.
//
// A holder that has a slab of its own keeps the slab's free blocks from other holders. With 64 Ps and
// sixty sizes, these are several times the blocks of a program that has 10 MiB in use. So holders
// share slabs while they ask rarely and the bin has few slabs: supply gives a holder one group of a
// slab, or one block of more than 2 KiB, and other holders get the rest.

// A portion is what supply gets for a holder.
type portion uint8

const (
	wholeSlab portion = iota // A slab of its own.
	oneGroup                 // A group of a slab that others use, too.
	oneBlock
)

const (
	// fewSlabs is the number of slabs for each holder below which a bin is shared. In a bin with more
	// slabs, those that holders keep are a quarter at most.
	fewSlabs = 4
	// rareAsks is how often a holder may ask supply for blocks of a bin between two runs of the purge,
	// and still share. A holder that asks more often gets a slab of its own, because asking takes locks.
	rareAsks = 128
)

// portionFor is what a holder gets. rare says that the holder asks rarely.
//
// Near a limit holders always share slabs: a holder with a slab of its own would keep the last free
// blocks from others, which would flush the Ps for them, and cannot flush a Local.
func (h *heap) portionFor(b *bin, rare bool) portion {
	switch {
	case (!rare || b.slabs.Load() >= fewSlabs*int64(len(*h.active.Load()))) && !b.nearLimit():
		return wholeSlab
	case b.shift < 3:
		return oneBlock // A group has fewer than eight blocks.
	}
	return oneGroup
}

// asksRarely counts that the holder asks supply for blocks. It reports whether the holder has asked at
// most rareAsks times since the purge last ran.
func (s *slot) asksRarely(h *heap) bool {
	if run := uint8(h.purge.runs.Load()); s.run != run {
		s.run, s.asks = run, 0
	}
	if s.asks == rareAsks {
		return false
	}
	s.asks++
	return true
}

// takeGroup checks out a group of a listed slab for the holder and returns a block of it. It reports
// false if no listed slab has a group with free blocks. The address can be 0 with true: then the
// caller tries again.
//
// takeGroup holds the bin's lock to the end, so no slab is retired meanwhile. The holder is pinned
// within groupOf alone.
func (h *heap) takeGroup(b *bin, l *Local) (addr uintptr, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.list != 0 {
		sp := spanAt(b.list)
		if addr, ok := h.groupOf(b, l, sp); ok {
			return addr, true
		}
		b.remove(sp)
		invariants.Window()
		sp.state.Store(spanUnlisted)
		invariants.Window()
		// A block may have become free after groupOf. Its free saw a listed slab and did not list it.
		if sp.hasFree() {
			b.push(sp)
		}
	}
	return 0, false
}

// groupOf is takeGroup for one slab. The caller holds the bin's lock, or the slab is its current one.
func (h *heap) groupOf(b *bin, l *Local, sp *span) (addr uintptr, ok bool) {
	pin, id, c := h.enter(l)
	defer leave(pin, l)
	s := c.slot(b)
	if s == nil || s.base != 0 {
		return 0, true // A flush took the slots, or the goroutine runs on another P now.
	}
	s.start(b)
	for g := range sp.groups() {
		if s.checkOutFree(h, sp, g, id) {
			return s.pop(), true
		}
	}
	return 0, false
}
