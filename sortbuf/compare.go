// SPDX-License-Identifier: Apache-2.0

package sortbuf

import (
	"slices"
	"sync/atomic"
)

// compareBlock is the positions that are sorted at once. With their keys of some 40 bytes they fit a
// cache of 1 MiB. Smaller blocks cost a level of the merge each, which takes longer than one of the sort.
const compareBlock = 16 << 10

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

// keysAhead is the keys of a block that are loaded at once. Each is a cache miss, and these overlap.
const keysAhead = 8

// A blockReading is a sorted block that is merged.
type blockReading struct {
	rest []uint64 // From the next record on.
	i, n int      // keys[i:n] are those of the next records.
	keys [keysAhead][]byte
}

// load loads the next keys. It returns false behind the last one.
func (b *blockReading) load(r *records) bool {
	b.i, b.n = 0, min(keysAhead, len(b.rest))
	for i, pos := range b.rest[:b.n] {
		b.keys[i] = r.key(pos)
	}
	return b.n > 0
}

// mergeBlocks merges sorted blocks.
func mergeBlocks(r *records, blocks [][]uint64, out []uint64, compare func(a, b []byte) int, stop *atomic.Bool) bool {
	t := newLoserTree(len(blocks), 0, compare)
	reading := make([]blockReading, len(blocks))
	for i, block := range blocks {
		b := &reading[i]
		b.rest = block
		b.load(r)
		t.open(i, b.keys[0])
	}
	t.start()
	for i := range out {
		if i%1024 == 0 && stop.Load() {
			return false
		}
		b := &reading[t.winner]
		out[i] = b.rest[0]
		b.rest = b.rest[1:]
		if b.i++; b.i < b.n || b.load(r) {
			t.set(t.winner, b.keys[b.i])
		} else {
			t.end(t.winner)
		}
		t.replay()
	}
	return true
}
