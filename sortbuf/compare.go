// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"slices"
	"sync/atomic"
)

// compareBlock is the positions that are sorted at once: with their keys they fit the cache.
const compareBlock = 4096

// sortByCompare writes the positions of the records to out, in the order of compare: blocks that fit
// the cache are sorted, then merged once. in has room for as many. It returns false if stop was set.
func sortByCompare(r *records, in, out []uint64, compare func(a, b []byte) int, most int, stop *atomic.Bool) bool {
	n := 0
	asc, desc := true, true
	var last []byte
	r.walk(0, len(r.blocks), func(pos uint64, key []byte) bool {
		if n > 0 && (asc || desc) {
			c := compare(last, key)
			asc, desc = asc && c <= 0, desc && c > 0
		}
		in[n], last = pos, key
		n++
		return n%1024 > 0 || !stop.Load()
	})
	switch {
	case stop.Load():
		return false
	case asc:
		copy(out, in)
		return true
	case desc:
		copy(out, in)
		slices.Reverse(out)
		return true
	}
	blocks := slices.Collect(slices.Chunk(in, compareBlock))
	workers(most, len(blocks), func(i int) {
		if stop.Load() {
			return
		}
		slices.SortFunc(blocks[i], func(a, b uint64) int {
			if c := compare(r.key(a), r.key(b)); c != 0 {
				return c
			}
			if a < b {
				return -1
			}
			return 1
		})
	})
	return mergeBlocks(r, blocks, out, compare, stop)
}

// mergeBlocks merges sorted blocks.
func mergeBlocks(r *records, blocks [][]uint64, out []uint64, compare func(a, b []byte) int, stop *atomic.Bool) bool {
	t := newLoserTree(len(blocks), 0, compare)
	for i, b := range blocks {
		t.open(i, r.key(b[0]))
	}
	t.start()
	for i := range out {
		if i%1024 == 0 && stop.Load() {
			return false
		}
		w := t.winner
		b := blocks[w]
		out[i] = b[0]
		b = b[1:]
		blocks[w] = b
		if len(b) > 0 {
			t.set(w, r.key(b[0]))
		} else {
			t.end(w)
		}
		t.replay()
	}
	return true
}
