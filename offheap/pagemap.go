// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// The units and bounds that all of the allocator shares.
const (
	ptrSize = 4 << (^uintptr(0) >> 63)
	is64    = ptrSize == 8
	is64Int = int64(ptrSize / 8)

	granule = 8 << 10 // Spans are whole granules.

	// maxAlign is the largest alignment that AllocAligned takes: a huge page.
	maxAlign = 2 << 20
	// slabAlign is the largest alignment that slabs give.
	slabAlign = 4096

	// largestAlloc bounds a block: 16 TiB, or half of a 32-bit address space. Counts of granules
	// are 32 bits wide.
	largestAlloc = min(1<<(31+13*is64Int)-1, math.MaxInt/2)
)

// roundUp is the first multiple of align, a power of two, from n on.
func roundUp(n, align uintptr) uintptr { return (n + align - 1) &^ (align - 1) }

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
// page; it stays written, so that the map takes a thousandth of the address space in use at most.
// All changes are made under the heap's lock; look-ups take no lock.
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
// for the first have. What it has committed when it fails
// stays so, and the next commit takes it again: it is only a charge.
func (m *pageMap) commit(mem vmem.Memory, have, want uintptr) error {
	for level := range mapLevels {
		if from, to := m.span(have, want, level); from < to {
			if err := mem.Commit(from, to-from); err != nil {
				return err
			}
		}
	}
	return nil
}

// span is the range of a level's array that a region needs for want bytes and not for have.
func (m *pageMap) span(have, want uintptr, level int) (from, to uintptr) {
	return m.levels[level] + mapBytes(have, level), m.levels[level] + mapBytes(want, level)
}

// entryAt is the entry of unit i of a level.
func (m *pageMap) entryAt(level int, i uintptr) *uintptr {
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
		if rec := atomic.LoadUintptr(m.entryAt(level, i>>(mapShift*level))); rec != 0 {
			return rec
		}
	}
	// Where a block shrinks, its end moves to lower levels, which are written first.
	if rec := atomic.LoadUintptr(m.entryAt(1, i>>mapShift)); rec != 0 {
		return rec
	}
	return atomic.LoadUintptr(m.entryAt(0, i))
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
					atomic.StoreUintptr(m.entryAt(level, k), 0)
				}
			}
		}
	}
	return fresh
}

// fill writes the entries [i, end) of a level.
func (m *pageMap) fill(level int, i, end, rec uintptr) (fresh int64) {
	for k := i; k < end; k++ {
		atomic.StoreUintptr(m.entryAt(level, k), rec)
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

// pageRuns finds free runs of granules in one region, lowest address first, in O(log n).
//
// One bit stands for one granule. Over the words of the bitmap lies a segment tree whose nodes
// know the longest free run below them and the free runs at both ends, so that runs across words
// and nodes are found too (the idea is that of the Go runtime's page allocator, mpagealloc.go).
// Lowest address first keeps live data together and leaves whole huge pages free at the top.
//
// It is guarded by the lock of the heap.
type pageRuns struct {
	free   []uint64 // Bit set: free.
	leaves int      // Capacity of the tree in words, a power of two.
	tree   []runNode
}

// runNode summarises a range of granules: the longest free run and those at the start and end.
type runNode struct{ start, max, end uint32 }

const wordBits = 64

// grow appends words of free granules.
func (r *pageRuns) grow(words int) {
	for range words {
		r.free = append(r.free, ^uint64(0))
	}
	first := len(r.free) - words
	if len(r.free) > r.leaves {
		r.leaves = 1 << bits.Len(uint(len(r.free)-1))
		r.tree = make([]runNode, 2*r.leaves)
		first = 0
	}
	r.update(first, len(r.free))
}

// set marks n granules from i as free or not. They must be in the other state.
func (r *pageRuns) set(i, n int, free bool) {
	setBits(r.free, i, n, free)
	r.update(i/wordBits, (i+n-1)/wordBits+1)
}

// update recomputes the leaves [first, last) and what lies above them.
func (r *pageRuns) update(first, last int) {
	for w := first; w < last; w++ {
		r.tree[r.leaves+w] = summarise(r.free[w])
	}
	width := uint32(wordBits)
	for lo, hi := (r.leaves+first)/2, (r.leaves+last-1)/2; lo >= 1; lo, hi = lo/2, hi/2 {
		for i := lo; i <= hi; i++ {
			r.tree[i] = join(r.tree[2*i], r.tree[2*i+1], width)
		}
		width *= 2
	}
}

// join combines the summaries of two neighbours of width granules each.
func join(a, b runNode, width uint32) runNode {
	n := runNode{start: a.start, max: max(a.max, b.max, a.end+b.start), end: b.end}
	if a.start == width {
		n.start += b.start
	}
	if b.end == width {
		n.end += a.end
	}
	return n
}

func summarise(w uint64) runNode {
	if w == ^uint64(0) {
		return runNode{wordBits, wordBits, wordBits}
	}
	n := runNode{start: uint32(bits.TrailingZeros64(^w)), end: uint32(bits.LeadingZeros64(^w))}
	for v := w; v != 0; n.max++ {
		v &= v << 1
	}
	return n
}

// find is the lowest index of n free granules in a row.
func (r *pageRuns) find(n int) (int, bool) {
	if len(r.tree) == 0 || int(r.tree[1].max) < n {
		return 0, false
	}
	i, lo, width := 1, 0, r.leaves*wordBits
	for i < r.leaves {
		a, b := r.tree[2*i], r.tree[2*i+1]
		width /= 2
		switch {
		case int(a.max) >= n:
			i = 2 * i
		case int(a.end+b.start) >= n:
			return lo + width - int(a.end), true
		default:
			i, lo = 2*i+1, lo+width
		}
	}
	v := r.free[i-r.leaves]
	for range n - 1 {
		v &= v >> 1
	}
	return lo + bits.TrailingZeros64(v), true
}

// isFree says whether the n granules from i are all free; beyond the end nothing is.
func (r *pageRuns) isFree(i, n int) bool {
	return i+n <= len(r.free)*wordBits && !anyBits(r.free, i, n, ^uint64(0))
}

// setBits sets or clears n bits from i.
func setBits(words []uint64, i, n int, on bool) {
	for w, mask := range spanWords(i, n) {
		if on {
			words[w] |= mask
		} else {
			words[w] &^= mask
		}
	}
}

// anyBits says whether any of n bits from i differs from 0 after xor with flip.
func anyBits(words []uint64, i, n int, flip uint64) bool {
	for w, mask := range spanWords(i, n) {
		if (words[w]^flip)&mask != 0 {
			return true
		}
	}
	return false
}

// spanWords yields each word that holds some of the n bits from i, with a mask of these bits.
func spanWords(i, n int) func(yield func(int, uint64) bool) {
	return func(yield func(int, uint64) bool) {
		for n > 0 {
			off := i % wordBits
			k := min(n, wordBits-off)
			mask := ^uint64(0) >> (wordBits - k) << off
			if !yield(i/wordBits, mask) {
				return
			}
			i, n = i+k, n-k
		}
	}
}

// nextRun is the first run of set bits of words in [i, end), at most limit long; n is 0 if there is
// none.
func nextRun(words []uint64, i, end, limit int) (start, n int) {
	for i < end {
		w := words[i/wordBits] >> (i % wordBits)
		if w != 0 {
			i += bits.TrailingZeros64(w)
			break
		}
		i = (i/wordBits + 1) * wordBits
	}
	start = i
	for i < end && n < limit {
		rest := ^(words[i/wordBits] >> (i % wordBits))
		k := min(bits.TrailingZeros64(rest), wordBits-i%wordBits)
		n, i = n+k, i+k
		if i%wordBits != 0 || k == 0 {
			break
		}
	}
	return start, max(0, min(n, limit, end-start))
}
