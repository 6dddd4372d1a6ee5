// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"math"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// A region is reserved address space, allocated in granules. It is never unmapped. Regions for
// typed data are separate: memory there keeps the type that it was first allocated for.
type region struct {
	base     uintptr
	size     uintptr
	refStart uint64 // What a Ref to its first byte says.
	typed    bool
	pages    pageMap
	used     atomic.Uintptr // Bytes from base that were ever allocated; these are committed.

	// Guarded by the lock of the heap.
	committed uintptr // Bytes from base.
	runs      pageRuns
	fresh     []uint64 // Granules freed since the last tick of the purge.
	stale     []uint64 // Granules freed before it; both hold data and memory.
	half      []uint64 // Those of both that take memory for one of their two pages alone.
	huge      []uint64 // Units of 2 MiB that may be one huge page.
	noHuge    []bool   // Zones in which the system was asked not to make huge pages.
}

const (
	commitUnit  = wordBits * granule // 512 KiB
	zone        = 64 << 20           // The unit in which huge pages are asked for or refused.
	hugeUnit    = 2 << 20
	hugeFrom    = 16 << 20 // Bytes of a region that stay in small pages: small programs stay small.
	maxRegions  = 64
	firstRegion = 256 << 30 * (is64Int) // Address space costs nothing where it is not limited.
	smallRegion = 32 << 20
	typedRegion = 64 << 30 * is64Int
)

// regionOf is the region of an address, or nil for a foreign one. This is the range check that
// comes before any record is read.
func (h *heap) regionOf(addr uintptr) *region {
	for i := range int(h.nregions.Load()) {
		if r := &h.regions[i]; addr-r.base < r.size {
			return r
		}
	}
	return nil
}

// spanOf is the span that holds addr, or nil.
func (h *heap) spanOf(addr uintptr) *span {
	// The first region is nearly always the only one. Its base is set before used is more than 0.
	r := &h.regions[0]
	if used := r.used.Load(); used != 0 && addr-r.base < used {
		return r.entry(addr)
	}
	return h.spanBeyond(addr)
}

func (h *heap) spanBeyond(addr uintptr) *span {
	r := h.regionOf(addr)
	if r == nil || addr-r.base >= r.used.Load() {
		return nil // The page map is committed as far as granules were allocated.
	}
	return r.entry(addr)
}

// entry is the page map's entry for an address whose granule was allocated.
func (r *region) entry(addr uintptr) *span {
	return unsafex.At[span](r.pages.lookUp((addr - r.base) / granule))
}

// addRegion reserves a region that holds at least n bytes. The caller holds the lock.
func (h *heap) addRegion(n uintptr, typed bool) (*region, error) {
	i := int(h.nregions.Load())
	if i == maxRegions {
		return nil, outOfMemory("address space", n, errors.New("all regions are in use"))
	}
	least := roundUp(max(n, smallRegion), commitUnit)
	if least < n {
		return nil, outOfMemory("address space", n, errors.New("the request exceeds the address space"))
	}
	var last error
	for size := max(h.wishedRegion(i, typed), least); ; size = max(roundUp(size/2, commitUnit), least) {
		base, err := h.mem.Reserve(size, zone, "offheap blocks")
		if err == nil {
			var pages pageMap
			if pages, err = newPageMap(h.mem, size); err == nil {
				return h.enterRegion(i, base, size, pages, typed), nil
			}
			_ = h.mem.Release(base, size) // No caller saw it; the first error is the one to return.
		}
		last = err
		if size == least {
			break
		}
	}
	return nil, outOfMemory("address space", n, last)
}

// wishedRegion is the size to try first. Where address space is limited (32 bits, RLIMIT_AS) the
// Go heap needs some of it too, so that regions start small and grow with use.
func (h *heap) wishedRegion(i int, typed bool) uintptr {
	if is64 && vmem.AddressSpaceLimit() == math.MaxUint64 {
		if typed {
			return uintptr(typedRegion)
		}
		return uintptr(firstRegion)
	}
	var sum uintptr
	for j := range i {
		sum += h.regions[j].size
	}
	return roundUp(max(smallRegion, sum/2), zone)
}

func (h *heap) enterRegion(i int, base, size uintptr, pages pageMap, typed bool) *region {
	r := &h.regions[i]
	r.refStart = refBias
	if i > 0 {
		p := &h.regions[i-1]
		r.refStart = p.refStart + uint64(p.size)
	}
	r.typed, r.pages, r.base, r.size = typed, pages, base, size
	h.nregions.Store(int32(i + 1))
	return r
}

// commit makes at least n more bytes at the end of r usable. The caller holds the lock.
func (h *heap) commit(r *region, n uintptr) error {
	step := min(max(n, r.committed/8, 2*commitUnit), max(n, zone))
	step = roundUp(step, commitUnit)
	if end := r.committed + step; end > hugeFrom && !r.typed {
		step = roundUp(end, hugeUnit) - r.committed // A huge page is made only where all of it is committed.
	}
	step = min(step, r.size-r.committed)
	if step < n {
		return errRegionFull
	}
	for {
		err := h.commitExactly(r, step)
		least := roundUp(n, commitUnit)
		if err == nil || step == least {
			return err
		}
		step = least // The machine may have less than we would like, and yet enough.
	}
}

var errRegionFull = errors.New("the regions are full")

func (h *heap) commitExactly(r *region, step uintptr) error {
	// The page map first: a span must never be without its entry.
	if err := r.pages.commit(h.mem, r.committed, r.committed+step); err != nil {
		return outOfMemory("page map", step, err)
	}
	if err := h.mem.Commit(r.base+r.committed, step); err != nil {
		r.pages.decommit(h.mem, r.committed, r.committed+step)
		return outOfMemory("blocks", step, err)
	}
	from := r.committed
	r.committed += step
	if h.announces {
		sanitize.Reserve(r.base+from, step)
	}
	words := int(step / commitUnit)
	r.runs.grow(words)
	r.fresh = append(r.fresh, make([]uint64, words)...)
	r.stale = append(r.stale, make([]uint64, words)...)
	r.half = append(r.half, make([]uint64, words)...)
	h.adviseNew(r, from)
	return nil
}
