// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"

	"github.com/freehold-go/freehold"
)

// Stats are bytes, as of about the same moment. While goroutines allocate and free, a sum can be
// wrong: by at most 256 KiB for each size class of each kind of memory (that of a purpose, of a
// type with bools) and each P and Local that allocates or frees blocks of it during the sum. So it
// can be below 0.
type Stats struct {
	// InUse is in blocks that were allocated and not freed, at the size of their size class or
	// rounded up to 8 KiB. InUse is exact while no goroutine allocates or frees.
	InUse int64
	// Retained is free and takes memory of the machine, as far as the allocator knows: pages of 8
	// KiB that were written and not purged, and of slabs pages of the system's size. Where huge
	// pages are in use the first write to one gives memory to 2 MiB; a part of it that no span has
	// is Purged.
	Retained int64
	// Purged is free and was given back to the machine (or never used); its address space stays.
	// The spare address space of large blocks of types with bools is Purged, too: up to a quarter
	// of a block, and more where a freed one lay.
	Purged int64
	// Reserved is the address space that blocks have ever been allocated from: the sum of InUse,
	// Retained and Purged, up to concurrent changes. What the regions set aside beyond it, which
	// takes nothing of the machine, is in [Regions].
	Reserved int64
	// Metadata is the allocator's own records, the pages of the page map that were written among
	// them. They are in none of the other figures.
	Metadata int64
	// Held is slabs and large blocks in use at least in part, and the slabs that Ps and Locals
	// keep. It is exact, and [SetLimit] bounds it.
	Held int64
	// Limit is the bound that [SetLimit] set, 0 for none.
	Limit int64
	// LocalsDropped counts the Locals that the program dropped without Close and that the collector
	// has found so far. It is a number of Locals, not of bytes. Their free blocks were taken back.
	LocalsDropped int64
	// Purposes are the accounts of each [Purpose], in the order of their making.
	Purposes []PurposeStats
}

// PurposeStats are the bytes of one purpose; see [Stats].
type PurposeStats struct {
	Name  string
	InUse int64
	Held  int64
	Limit int64 // That [Purpose.SetLimit] set, 0 for none.
}

// ReadStats reads the counters. It takes some microseconds for a few Ps and Locals, and more with
// many of them and with many purposes.
func ReadStats() Stats {
	std.start()
	return std.stats()
}

// inUse is the bytes of a bin's blocks that are in use. The caller holds the heap's lock.
// Goroutines that allocate and free meanwhile make it wrong by what they pass on.
func (h *heap) inUse(b *bin) int64 {
	switch {
	case b.size == 0: // Large blocks are never in slots.
		return b.out.Load()
	case b.slabs.Load() == 0: // As in most bins. A program with thousands of Locals has as many slots to add.
		return 0
	}
	n := b.out.Load()
	if b.slotted {
		for _, c := range *h.active.Load() {
			if s := c.slot(b); s != nil {
				n += int64(s.outstanding())
			}
		}
	}
	return n * int64(b.size)
}

func (h *heap) stats() Stats {
	if t := h.serving(); t != nil {
		return t.stats()
	}
	byPurpose := map[*purposeState]int64{}
	var st Stats
	h.mu.Lock()
	for _, b := range *h.bins.Load() {
		n := h.inUse(b)
		byPurpose[b.kind.purpose] += n
		st.InUse += n
	}
	st.Limit, st.LocalsDropped = h.limit.Load(), h.localsDropped.Load()
	var used int64
	for i := range int(h.nregions.Load()) {
		used += int64(h.regions[i].used.Load())
	}
	dirty := h.purge.freshBytes + h.purge.staleBytes - h.purge.halfBytes
	st.Held, st.Reserved, st.Metadata = h.held.Load(), used, h.meta.bytes+h.mapBytes
	st.Retained = max(0, st.Held-st.InUse-h.purge.idle.Load()+dirty)
	st.Purged = max(0, used-(st.InUse-h.recordedBytes)-st.Retained)
	st.Reserved += h.recordedBytes
	for _, p := range h.purposesLocked() {
		st.Purposes = append(st.Purposes, PurposeStats{Name: p.name, InUse: byPurpose[p], Held: p.held.Load(), Limit: p.limit.Load()})
	}
	h.mu.Unlock()
	return st
}

func (t *recorder) stats() Stats {
	n := t.inUse.Load()
	s := Stats{InUse: n, Reserved: n, Limit: t.h.limit.Load(), LocalsDropped: t.h.localsDropped.Load()}
	if t.under != nil {
		u := t.under.stats()
		s.Metadata = u.Metadata
		// The memory beyond the blocks' lengths and the quarantined blocks cannot be allocated now.
		s.Retained = max(0, u.InUse+u.Retained+t.pages.Load()-n)
		s.Purged = u.Purged
		s.Reserved = n + s.Retained + s.Purged
	}
	t.h.mu.Lock()
	defer t.h.mu.Unlock()
	s.Held = t.h.held.Load()
	for _, p := range t.h.purposesLocked() {
		s.Purposes = append(s.Purposes, PurposeStats{Name: p.name, InUse: p.held.Load(), Held: p.held.Load(), Limit: p.limit.Load()})
	}
	return s
}

// totals are the bytes taken from the machine beside the Go heap.
func (h *heap) totals() freehold.Totals {
	if t := h.serving(); t != nil && t.under == nil {
		return freehold.Totals{} // Go counts these bytes.
	}
	s := h.stats()
	return freehold.Totals{InUse: s.InUse, Reserved: s.Reserved, Retained: s.Retained + s.Metadata, Purged: s.Purged}
}

// purposesLocked lists the purposes of a heap, which are those of its kinds without a type.
func (h *heap) purposesLocked() (list []*purposeState) {
	for _, k := range h.kinds {
		if k.purpose != nil && !k.typed() {
			list = append(list, k.purpose)
		}
	}
	return list
}

// A Region is a range of address space that offheap holds.
type Region struct {
	Kind      string // "blocks" or "typed blocks".
	Addr      uintptr
	Reserved  int64 // Bytes of address space.
	Committed int64 // Bytes that may be accessed.
	Used      int64 // Bytes that were ever allocated.
}

// String is one line for people.
func (r Region) String() string {
	return fmt.Sprintf("%#x %s: %d bytes reserved, %d committed, %d used", r.Addr, r.Kind, r.Reserved, r.Committed, r.Used)
}

// Regions lists the regions of blocks.
func Regions() []Region {
	std.start()
	return std.slabs().listRegions()
}

func (h *heap) listRegions() (list []Region) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range int(h.nregions.Load()) {
		r := &h.regions[i]
		kind := "blocks"
		if r.typed {
			kind = "typed blocks"
		}
		list = append(list, Region{Kind: kind, Addr: r.base, Reserved: int64(r.size),
			Committed: int64(r.committed), Used: int64(r.used.Load())})
	}
	return list
}

// Purge returns all free memory to the machine now: every page without a block in use, except those
// that Locals keep. It stops the world for some microseconds to take back the free blocks that the
// Ps keep; the purge in the background does not.
func Purge() {
	std.start()
	std.slabs().purge.run(true)
}
