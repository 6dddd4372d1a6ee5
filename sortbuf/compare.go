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
	each := (len(blocks) + most - 1) / most
	workers(most, most, func(i int) {
		var keys []keyed
		for _, b := range blocks[min(i*each, len(blocks)):min((i+1)*each, len(blocks))] {
			if stop.Load() {
				return
			}
			keys = sortBlock(r, b, keys, compare)
		}
	})
	return mergeBlocks(r, blocks, out, compare, stop)
}

// A keyed is a position with its key, so that comparisons need not find the key.
type keyed struct {
	key []byte
	pos uint64
}

// sortBlock sorts positions. keys is memory, which it returns for the next block.
func sortBlock(r *records, block []uint64, keys []keyed, compare func(a, b []byte) int) []keyed {
	keys = keys[:0]
	for _, pos := range block {
		keys = append(keys, keyed{r.key(pos), pos})
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		if c := compare(a.key, b.key); c != 0 {
			return c
		}
		if a.pos < b.pos {
			return -1
		}
		return 1
	})
	for i := range keys {
		block[i] = keys[i].pos
	}
	return keys
}

// touched keeps the compiler from leaving out reads ahead.
var touched atomic.Uint32

// mergeBlocks merges sorted blocks.
func mergeBlocks(r *records, blocks [][]uint64, out []uint64, compare func(a, b []byte) int, stop *atomic.Bool) bool {
	t := newLoserTree(len(blocks), 0, compare)
	for i, b := range blocks {
		t.open(i, r.key(b[0]))
	}
	t.start()
	var seen byte
	defer func() { touched.Store(uint32(seen)) }()
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
			if len(b) > 2 {
				seen += r.first(b[2]) // A cache miss, which need not be waited for.
			}
		} else {
			t.end(w)
		}
		t.replay()
	}
	return true
}
