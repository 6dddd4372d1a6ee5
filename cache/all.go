// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A record is a copy of an entry.
type record struct {
	key, value []byte
	until      deadlines
}

// all calls f with each entry that has not expired, until f returns false. The record is valid during
// the call.
//
// An entry never leaves its offset in the pages, nor the group that it has now, but to groups that are split
// from it. So all goes from offset to offset, and from group to group as they are now. Under mu the table does not change.
func (e *engine) all(f func(r record) bool) {
	var buf []byte
	var list []record
	n := e.n.Load()
	if n == 0 {
		return
	}
	level := e.size(n).level
	for offset := uint64(0); offset < 1<<e.shift; offset += family {
		for group := range uint64(1) << level {
			buf, list = e.groupAt(offset, group, level, buf[:0], list[:0])
			for _, r := range list {
				if !f(r) {
					return
				}
			}
		}
	}
}

// groupAt copies the entries at the offsets of a family of a group, if there are 2^level of them.
func (e *engine) groupAt(offset, group uint64, level uint, buf []byte, list []record) ([]byte, []record) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.n.Load()
	if n == 0 {
		return buf, list
	}
	s := e.size(n)
	for g := group & (1<<s.level - 1); g < 1<<s.level; g += 1 << level {
		for p := range s.pagesOf(g, offset) {
			for i := range uint64(family) {
				b := e.at(s.page(g, p)<<e.shift | offset + i)
				head := lockAt(b)
				for j := 1; j < bucketWords; j++ {
					if b[j] != 0 && (s.level >= level || e.groupOf(e.hash(b[j]&locMask))&(1<<level-1) == group) {
						buf, list = e.copyEntry(b[j], buf, list)
					}
				}
				unlock(b, head)
			}
		}
	}
	return buf, list
}

// copyEntry adds the entry of a slot to the list, if it has not expired. Its bucket is locked.
func (e *engine) copyEntry(slot uint64, buf []byte, list []record) ([]byte, []record) {
	b := e.entry(slot)
	r := record{until: deadlinesOf(b)}
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
	for _, page := range e.buckets {
		for i := range uintptr(1) << e.shift {
			if page == nil {
				break
			}
			b := unsafex.Elem(firstBucket(page), i)
			head := lockAt(b)
			for j := 1; j < bucketWords; j++ {
				if b[j] != 0 {
					e.segment(b[j] & locMask).live.sub(shapeOf(e.entry(b[j])).size)
					e.count.Add(-1)
					b[j] = 0
				}
			}
			unlock(b, head&^(mostDisplaced*headDisplaced))
		}
	}
	// A pinned segment stays in its queue: its writer may yet put an entry in the table.
	for _, q := range [][]*segment{slices.Clone(e.window), slices.Clone(e.main)} {
		for _, s := range q {
			if s.pins.Load() == 0 {
				e.dequeue(s)
				e.reclaim(s)
			}
		}
	}
	if s := e.victim; s != nil { // It was in no writer's hands when it became the victim.
		e.victim = nil
		e.reclaim(s)
	}
}

// rebudget changes the budget.
func (e *engine) rebudget(bytes int64) error {
	if least := max(8*int64(e.blockSize), leastBytes); bytes < least {
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

// purge evicts the entries of a segment that the table still leads to, although the segment's memory has
// none: a program has written to a slice that View gave it earlier, and the entries are no longer what they
// were. The caller holds mu.
func (e *engine) purge(s *segment) {
	for i := uint64(0); i < uint64(len(e.buckets))<<e.shift; i += family {
		f := found{first: e.at(i), all: true}
		if f.first == nil {
			continue
		}
		for j := range f.heads {
			f.heads[j] = lockAt(f.bucket(j))
		}
		for f.in = 0; f.in < family; f.in++ {
			for f.slot = 1; f.slot < bucketWords; f.slot++ {
				if slot := *f.at(); slot != 0 && slot&locMask>>e.segShift == s.no {
					e.removed = e.drop(&f, Evicted, e.removed)
				}
			}
		}
		f.unlock()
	}
}

// shrinkTable takes buckets off a table that is less than half as full as it may be, and returns the
// memory of its last pages.
func (e *engine) shrinkTable() {
	var left [][]uint64
	for {
		n := e.n.Load()
		if n == 4<<e.shift || uint64(e.count.Load())*128 >= n*slots*fill {
			break
		}
		e.table.resize(n-family, e.dropFull)
		if s := e.size(n - family); s.offset == 0 { // A page is empty.
			i := int(s.page(s.group, s.pages))
			e.lockPage(e.buckets[i]) // For good.
			left = append(left, e.buckets[i])
			e.setPage(i, nil)
		}
	}
	if len(left) > 0 {
		quiesce()
	}
	for _, page := range left {
		e.held -= int64(8 * len(page))
		e.release(page)
	}
}
