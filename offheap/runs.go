// SPDX-License-Identifier: Apache-2.0

package offheap

import "math/bits"

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
