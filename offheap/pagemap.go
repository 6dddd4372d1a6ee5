// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// A pageMap leads from the granules of a region to the records of their spans. It has three
// levels, each an array of addresses of records: an entry of the lowest level stands for one
// granule (8 KiB), one of the next for 512 granules (4 MiB), one of the last for 2 GiB.
//
// A span is noted at the highest level whose units it fills, so that a block takes entries by the
// logarithm of its length: at most 511 at each end on each of the two lower levels. A granule is
// noted at one level exactly. A look-up asks the lowest level first, where all slabs are, and the
// others only if there is nothing.
//
// The three arrays lie in one reservation. They are committed as far as the region is, and take
// memory by the page, when an entry in the page is first written. touched has a bit for each such
// page. All changes are made under the heap's lock; look-ups take no lock.
type pageMap struct {
	levels  [mapLevels]uintptr // Where the arrays begin; the lowest level is first.
	touched []uint64
}

const (
	mapLevels = 3
	mapShift  = 9
	mapFan    = 1 << mapShift // Entries that one entry of the level above stands for.
)

// mapBytes is the length of a level's array, in whole pages, for a region of that many bytes.
func mapBytes(size uintptr, level int) uintptr {
	units := (size/granule + 1<<(mapShift*level) - 1) >> (mapShift * level)
	return roundUp(units*ptrSize, vmem.PageSize())
}

// newPageMap reserves the map of a region of that many bytes.
func newPageMap(mem vmem.Memory, size uintptr) (m pageMap, err error) {
	total := uintptr(0)
	for level := range mapLevels {
		m.levels[level] = total
		total += mapBytes(size, level)
	}
	base, err := mem.Reserve(total, vmem.PageSize(), "offheap page map")
	for level := range mapLevels {
		m.levels[level] += base
	}
	return m, err
}

// commit makes the map usable for the first want bytes of a region of size bytes, of which it is
// for the first have. If it fails, what it has committed is decommitted.
func (m *pageMap) commit(mem vmem.Memory, have, want uintptr) error {
	for level := range mapLevels {
		if from, to := m.span(have, want, level); from < to {
			if err := mem.Commit(from, to-from); err != nil {
				for l := range level {
					m.decommitLevel(mem, have, want, l)
				}
				return err
			}
		}
	}
	return nil
}

// decommit undoes commit. Nothing was noted there.
func (m *pageMap) decommit(mem vmem.Memory, have, want uintptr) {
	for level := range mapLevels {
		m.decommitLevel(mem, have, want, level)
	}
}

func (m *pageMap) decommitLevel(mem vmem.Memory, have, want uintptr, level int) {
	if from, to := m.span(have, want, level); from < to {
		_ = mem.Decommit(from, to-from, "offheap page map") // It is only a charge, and the next commit uses it.
	}
}

// span is the range of a level's array that a region needs for want bytes and not for have.
func (m *pageMap) span(have, want uintptr, level int) (from, to uintptr) {
	return m.levels[level] + mapBytes(have, level), m.levels[level] + mapBytes(want, level)
}

// slot is the entry of unit i of a level.
func (m *pageMap) slot(level int, i uintptr) *uintptr {
	return unsafex.At[uintptr](m.levels[level] + i*ptrSize)
}

// lookUp is the address of the record of the span that has granule i, or 0. Granule i must be one
// for which the map is committed.
func (m *pageMap) lookUp(i uintptr) uintptr {
	if rec := atomic.LoadUintptr(unsafex.At[uintptr](m.levels[0] + i*ptrSize)); rec != 0 {
		return rec
	}
	return m.lookUpAbove(i)
}

//go:noinline
func (m *pageMap) lookUpAbove(i uintptr) uintptr {
	for level := 1; level < mapLevels; level++ {
		if rec := atomic.LoadUintptr(m.slot(level, i>>(mapShift*level))); rec != 0 {
			return rec
		}
	}
	// Where a block shrinks, its end moves to lower levels, which are written first.
	if rec := atomic.LoadUintptr(m.slot(1, i>>mapShift)); rec != 0 {
		return rec
	}
	return atomic.LoadUintptr(m.slot(0, i))
}

// mapNote says where a span is noted: in two ranges of entries of each level.
type mapNote [mapLevels][2]struct{ lo, hi uintptr }

func noteOf(i, end uintptr) (n mapNote) {
	for level := 0; level < mapLevels-1; level++ {
		lo := min(roundUp(i, mapFan), end)
		hi := max(lo, end&^(mapFan-1))
		n[level][0].lo, n[level][0].hi = i, lo
		n[level][1].lo, n[level][1].hi = hi, end
		i, end = lo>>mapShift, hi>>mapShift
	}
	n[mapLevels-1][0].lo, n[mapLevels-1][0].hi = i, end
	return n
}

// note leads the granules [i, end) to a record, or to none with 0. To note none is right for the
// very ranges that were noted. It returns the bytes of pages that were written for the first time.
func (m *pageMap) note(i, end, rec uintptr) (fresh int64) {
	for level, ranges := range noteOf(i, end) {
		for _, r := range ranges {
			if r.lo < r.hi {
				fresh += m.fill(level, r.lo, r.hi, rec)
			}
		}
	}
	return fresh
}

// renote changes what leads to a record from [i, was) to [i, end). A look-up meanwhile finds the
// record for each granule that both have: new entries come before old ones go.
func (m *pageMap) renote(i, was, end, rec uintptr) (fresh int64) {
	fresh = m.note(i, end, rec)
	now := noteOf(i, end)
	for level, ranges := range noteOf(i, was) {
		for _, r := range ranges {
			for k := r.lo; k < r.hi; k++ {
				if a, b := now[level][0], now[level][1]; (k < a.lo || k >= a.hi) && (k < b.lo || k >= b.hi) {
					atomic.StoreUintptr(m.slot(level, k), 0)
				}
			}
		}
	}
	return fresh
}

// fill writes the entries [i, end) of a level.
func (m *pageMap) fill(level int, i, end, rec uintptr) (fresh int64) {
	for k := i; k < end; k++ {
		atomic.StoreUintptr(m.slot(level, k), rec)
	}
	first, last := m.page(level, i), m.page(level, end-1)
	for len(m.touched)*wordBits <= last {
		m.touched = append(m.touched, 0)
	}
	for p := first; p <= last; p++ {
		if m.touched[p/wordBits]>>(p%wordBits)&1 == 0 {
			m.touched[p/wordBits] |= 1 << (p % wordBits)
			fresh += int64(vmem.PageSize())
		}
	}
	return fresh
}

// page is the number, in the reservation, of the page with the entry of unit i of a level.
func (m *pageMap) page(level int, i uintptr) int {
	return int((m.levels[level] + i*ptrSize - m.levels[0]) / vmem.PageSize())
}

func (m *pageMap) isTouched(page int) bool {
	return page/wordBits < len(m.touched) && m.touched[page/wordBits]>>(page%wordBits)&1 != 0
}

// next is the first granule of [i, end) that is noted, and the record that it leads to, or end and
// 0. The caller holds the heap's lock.
func (m *pageMap) next(i, end uintptr) (at, rec uintptr) {
	for i < end {
		if rec := m.lookUp(i); rec != 0 {
			return i, rec
		}
		if i++; !m.isTouched(m.page(0, i-1)) {
			i = roundUp(i, mapFan) // No entry above them, and none in the page: so none for any of them.
		}
	}
	return end, 0
}

// purge gives the pages back that have no entry any more, of those with the lowest entries of
// [i, end). It returns their bytes.
func (m *pageMap) purge(mem vmem.Memory, i, end uintptr) (bytes int64) {
	last := min(m.page(0, end-1), len(m.touched)*wordBits-1)
	for p := m.page(0, i); p <= last; p++ {
		first := p
		for p <= last && m.isTouched(p) && m.isEmpty(p) {
			p++
		}
		size := uintptr(p-first) * vmem.PageSize()
		if size == 0 || mem.Purge(m.levels[0]+uintptr(first)*vmem.PageSize(), size) != nil {
			continue
		}
		setBits(m.touched, first, p-first, false)
		bytes += int64(size)
	}
	return bytes
}

// isEmpty says whether a page has no entry.
func (m *pageMap) isEmpty(page int) bool {
	at := m.levels[0] + uintptr(page)*vmem.PageSize()
	for end := at + vmem.PageSize(); at < end; at += ptrSize {
		if *unsafex.At[uintptr](at) != 0 {
			return false
		}
	}
	return true
}
