// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"math"
	"slices"

	"github.com/freehold-go/freehold/internal/unsafex"
)

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
				e.slotsOf(b, head, func(slot uint64) {
					if s.level >= level || e.groupOf(e.hash(slot&locMask))&(1<<level-1) == group {
						buf, list = e.copyEntry(slot, buf, list)
					}
				})
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
	r.object = e.object(slot)
	return buf, append(list, r)
}

// clear removes all entries.
func (e *engine) clear() {
	e.lockAll()
	defer e.unlockAll()
	e.flights.forgetAll()
	// A pinned segment stays in its queue: its writer may yet put an entry in the table. Nobody begins to write in the others.
	var segs []*segment
	for _, s := range slices.Concat(e.window, e.main) {
		if s.pins.Load() == 0 {
			segs = append(segs, s)
		}
	}
	for _, page := range e.buckets {
		for i := range uintptr(1) << e.shift {
			if page == nil {
				break
			}
			b := unsafex.Elem(firstBucket(page), i)
			head := lockAt(b)
			e.slotsOf(b, head, func(slot uint64) {
				b := e.entry(slot)
				e.segment(slot & locMask).live.sub(shapeOf(b).size)
				e.count.Add(-1)
				e.lose(slot)
			})
			if e.o.keep {
				e.chains.give(e.chains.empty(&head, nil, func(uint64) {})...)
			}
			clear(b[1:])
			unlock(b, head&^(mostDisplaced*headDisplaced))
		}
	}
	for _, s := range segs {
		e.dequeue(s)
		e.reclaim(s)
	}
	if s := e.victim; s != nil { // It was in no writer's hands when it became the victim.
		e.victim = nil
		e.reclaim(s)
	}
	if e.compacts {
		e.shrinkTable(math.MaxInt)
		e.trim()
	}
}

// rebudget changes the budget.
func (e *engine) rebudget(bytes int64) error {
	least := int64(leastBytes)
	if e.o.objects == nil {
		least = max(least, 8*int64(e.blockSize))
	}
	if bytes < least || bytes > mostBytes {
		return fmt.Errorf("cache: Resize to %d bytes; from %d, with the %d that it was made with, to %d", bytes, least, e.o.Bytes, int64(mostBytes))
	}
	e.lockAll()
	defer e.unlockAll()
	if e.n.Load() == 0 {
		return ErrClosed
	}
	e.budget.Store(bytes)
	defer e.setFill()
	if e.o.objects != nil {
		if !e.lighten() {
			return fmt.Errorf("cache: Resize to %d bytes: the objects weigh %d", bytes, e.weight.Load())
		}
		e.shrinkTable(math.MaxInt)
		e.trim()
		return nil
	}
	for e.held > e.budget.Load() {
		e.unviewed()
		if !e.evictLarge() && !e.releaseBlock() {
			return fmt.Errorf("cache: Resize to %d bytes: %d are held, because functions of View have not returned", bytes, e.held)
		}
		e.shrinkTable(math.MaxInt)
	}
	return nil
}
