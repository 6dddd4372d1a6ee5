// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"hash/maphash"
	"math/bits"
)

// A record is a copy of an entry.
type record struct {
	key, value []byte
	until      deadlines
	used       bool // Since it was written or moved.
}

// all calls f with each entry that has not expired, until f returns false. The record is valid during
// the call.
//
// It goes through the buckets that the table has at the beginning, and for each pair through the ones that were
// split from it since. Under mu no bucket is split, so an entry is met once.
func (e *engine) all(f func(r record) bool) {
	var buf []byte
	var list []record
	first := e.n.Load()
	for i := uint64(0); i < first; i += 2 {
		buf, list = e.pairOf(i, first, buf[:0], list[:0])
		for _, r := range list {
			if !f(r) {
				return
			}
		}
	}
}

// pairOf copies the entries that buckets i and i+1 had if the table had n buckets.
func (e *engine) pairOf(i, n uint64, buf []byte, list []record) ([]byte, []record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	has := e.n.Load()
	if has == 0 {
		return buf, list
	}
	for j := index(i, has); j < has; j = nextOf(j, i, n) {
		for _, b := range [2]*bucket{e.at(j), e.at(j + 1)} {
			head := lockAt(b)
			for s := 1; s < bucketWords; s++ {
				if b[s] != 0 && index(e.address(maphash.Bytes(e.seed, keyOf(e.entry(b[s])))), n)&^1 == i {
					buf, list = e.copyEntry(b[s], buf, list)
				}
			}
			unlock(b, head)
		}
	}
	return buf, list
}

// nextOf is the next bucket behind j that was split from bucket i, where the table had n.
func nextOf(j, i, n uint64) uint64 {
	base := uint64(1) << (bits.Len64(n) - 1)
	if i < n-base || i >= base {
		return j + 2*base
	}
	return j + base
}

// copyEntry adds the entry of a slot to the list, if it has not expired. Its bucket is locked.
func (e *engine) copyEntry(slot uint64, buf []byte, list []record) ([]byte, []record) {
	b := e.entry(slot)
	r := record{until: deadlinesOf(b), used: slot&slotUses != 0}
	if first := r.until.first(); b[0]&flagAbsent != 0 || first != 0 && e.now() >= first {
		return buf, list
	}
	key, value := keyOf(b), valueOf(b)
	at := len(buf)
	buf = append(append(buf, key...), value...)
	r.key = buf[at : at+len(key) : at+len(key)]
	r.value = buf[at+len(key) : at+len(key)+len(value) : at+len(key)+len(value)]
	return buf, append(list, r)
}

// clear removes all entries.
func (e *engine) clear() {
	e.lockAll()
	defer e.unlockAll()
	n := e.n.Load()
	for i := uint64(0); i < n; i++ {
		b := e.at(i)
		head := lockAt(b)
		for s := 1; s < bucketWords; s++ {
			if b[s] != 0 {
				e.segment(b[s] & locMask).live.Add(-int64(shapeOf(e.entry(b[s])).size))
				e.count.Add(-1)
				b[s] = 0
			}
		}
		unlock(b, head&^(mostDisplaced*headDisplaced))
	}
	for _, s := range e.window {
		e.left(s)
	}
	for _, q := range [][]*segment{e.window, e.main, {e.victim}} {
		for _, s := range q {
			if s != nil {
				e.reclaim(s)
			}
		}
	}
	e.window, e.main, e.victim = nil, nil, nil
}

// resize changes the budget.
func (e *engine) resize(bytes int64) error {
	if least := max(4*int64(e.blockSize), leastBytes); bytes < least {
		return fmt.Errorf("cache: Resize to %d bytes; at least %d, with the %d that it was made with", bytes, least, e.o.Bytes)
	}
	e.lockAll()
	defer e.unlockAll()
	if e.n.Load() == 0 {
		return ErrClosed
	}
	e.budget = bytes
	for e.held > e.budget {
		e.unviewed()
		if !e.evictLarge() && !e.releaseBlock() {
			return fmt.Errorf("cache: Resize to %d bytes: %d are held, because functions of View have not returned", bytes, e.held)
		}
		e.shrinkTable()
	}
	return nil
}

// shrinkTable takes buckets off a table that is less than half as full as it may be. Its last pages
// become free segments.
func (e *engine) shrinkTable() {
	for e.n.Load() > 1<<e.first && uint64(e.count.Load())*128 < e.n.Load()*slots*fill {
		e.shrink(func(slot uint64) {
			e.count.Add(-1)
			e.counts.removed[Evicted].Add(1)
			e.removed = e.dead(slot, Evicted, e.removed)
		})
	}
	pages := int(e.n.Load()>>e.shift) + 1
	if pages >= len(e.pageSegs) {
		return
	}
	left := e.pageSegs[pages:]
	for i := range left {
		for j := range uint64(1) << e.shift {
			lockAt(e.at(uint64(pages+i)<<e.shift + j))
		}
	}
	e.pageSegs = e.pageSegs[:pages:pages]
	e.setPages()
	quiesce()
	for _, s := range left {
		e.reclaim(s)
	}
}
