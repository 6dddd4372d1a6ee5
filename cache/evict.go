// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"hash/maphash"
	"slices"
)

// Eviction. New entries go to the window, a queue of segments of a tenth of the memory. The others
// are main, a queue with CLOCK (Corbató, 1968): an entry that was used is moved to the queue's end, with one use
// less. What leaves the window goes to main if it was used there; otherwise it must have been asked
// for more often than main's next victim, by the counters of the table, or it is evicted.
//
// Memory comes back by the segment. One step of evict empties one: the one with the fewest living bytes, if a
// quarter or more of it is dead, or the oldest of the window or of main. (If half had to be dead, a cache whose
// values change in size would hold a tenth less, for the same CPU time.) Entries that stay are copied to an open
// segment of their queue. All of this runs under the engine's mu; the bucket's lock is taken for each entry.

// seal puts an open segment in the window, and lets the oldest of the window be main while there is memory
// for all. The caller holds mu.
func (e *engine) seal(s *segment) {
	e.enqueue(s, roleWindow)
	for !e.o.keep && len(e.window) > 1 && e.windowBytes > e.budget.Load()/windowShare && e.roomy() {
		oldest := e.window[0]
		e.window = slices.Delete(e.window, 0, 1)
		e.left(oldest)
		e.enqueue(oldest, roleMain)
	}
}

// roomy says whether there is memory for another segment.
func (e *engine) roomy() bool {
	if e.o.objects != nil {
		return e.weight.Load()+e.budget.Load()/segmentShare <= e.budget.Load()
	}
	return len(e.free) > spare || e.held+int64(e.blockSize) <= e.budget.Load()
}

// full says whether a segment has no room for another entry.
func (e *engine) full(s *segment, size int, weight int64) bool {
	return s.used+size > s.room() || e.o.objects != nil && s.used > 0 && s.weight+weight > e.budget.Load()/segmentShare
}

// windowShare is the part of the memory that is the window.
const windowShare = 10

func (e *engine) enqueue(s *segment, r role) {
	s.role = r
	if r == roleMain {
		e.main = append(e.main, s)
		return
	}
	e.window = append(e.window, s)
	e.windowBytes += e.charge(s)
}

// charge is what a segment takes of the budget.
func (e *engine) charge(s *segment) int64 {
	if e.o.objects != nil {
		return s.weight
	}
	return int64(len(s.mem))
}

// left notes that a segment has left the window.
func (e *engine) left(s *segment) { e.windowBytes -= e.charge(s) }

// dequeue takes a segment out of its queue.
func (e *engine) dequeue(s *segment) {
	is := func(o *segment) bool { return o == s }
	if s.role == roleMain {
		e.main = slices.DeleteFunc(e.main, is)
		return
	}
	e.window = slices.DeleteFunc(e.window, is)
	e.left(s)
}

// oldest takes the first segment of a queue that nobody has pinned.
func oldest(q *[]*segment) *segment {
	for i, s := range *q {
		if s.pins.Load() == 0 {
			*q = slices.Delete(*q, i, i+1)
			return s
		}
	}
	return nil
}

// evict makes at least one segment free, or says that it cannot. The caller holds mu. Objects become
// lighter by it, not always at the first time.
func (e *engine) evict() bool {
	e.passed = 0
	if e.o.objects == nil {
		if s := e.emptiest(12); s != nil {
			e.compact(s)
			return true
		}
	}
	if e.windowBytes > e.budget.Load()/windowShare || len(e.main) == 0 && e.victim == nil {
		if s := oldest(&e.window); s != nil {
			e.left(s)
			e.evictWindow(s)
			return true
		}
	}
	if e.evictMain() {
		return true
	}
	if s := oldest(&e.window); s != nil {
		e.left(s)
		e.evictWindow(s)
		return true
	}
	return false
}

// emptiest takes the segment with the fewest living bytes from its queue, if less than so many sixteenths of it
// live and nobody has pinned it.
func (e *engine) emptiest(sixteenths int64) *segment {
	var best *segment
	least := int64(0)
	for _, q := range [][]*segment{e.window, e.main} {
		for _, s := range q {
			if n := s.live.bytes(); 16*n < int64(s.used)*sixteenths && (best == nil || n < least) && s.pins.Load() == 0 {
				best, least = s, n
			}
		}
	}
	if best != nil {
		e.dequeue(best)
	}
	return best
}

// compact moves the entries of a segment to the open segment of its queue.
func (e *engine) compact(s *segment) {
	to := s.role
	e.walk(s, func(c *candidate) {
		switch {
		case !c.alive():
		case c.expired():
			c.remove(Expired)
		case !c.move(to, c.uses):
			c.remove(Evicted)
		}
	})
	e.reclaim(s)
}

// tidySegments is the most that one tidy compacts, so that it stays short.
const tidySegments = 64

// compactMany compacts segments of which less than three quarters live, and says whether those were all.
func (e *engine) compactMany() bool {
	var list []*segment
	take := func(s *segment) bool {
		if len(list) == tidySegments || 4*s.live.bytes() >= 3*int64(s.used) || s.pins.Load() != 0 {
			return false
		}
		if s.role == roleWindow {
			e.left(s)
		}
		list = append(list, s)
		return true
	}
	e.window = slices.DeleteFunc(e.window, take)
	e.main = slices.DeleteFunc(e.main, take)
	for _, s := range list {
		if !e.canMove(s) {
			e.enqueue(s, s.role)
			continue
		}
		e.compact(s)
	}
	return len(list) < tidySegments
}

// compactOne compacts the segment with the fewest living bytes, if it has dead ones.
func (e *engine) compactOne() bool {
	s := e.emptiest(16)
	if s == nil {
		return false
	}
	if !e.canMove(s) {
		e.enqueue(s, s.role)
		return false
	}
	e.compact(s)
	return true
}

// canMove says whether there is room for what lives in a segment. One free segment is enough.
func (e *engine) canMove(s *segment) bool { return len(e.free) > 0 || s.live.entries() == 0 }

// empty evicts all entries of a segment.
func (e *engine) empty(s *segment) {
	e.walk(s, func(c *candidate) {
		if c.alive() {
			c.remove(Evicted)
		}
	})
	e.reclaim(s)
}

// evictWindow empties a segment that has left the window.
func (e *engine) evictWindow(s *segment) {
	e.walk(s, func(c *candidate) {
		switch {
		case !c.alive():
		case c.expired():
			c.remove(Expired)
		case c.uses > 0:
			if !c.move(roleMain, 0) {
				c.remove(Evicted)
			}
		default:
			v := e.nextVictim(0)
			if v == nil || c.asked <= v.asked || !c.move(roleMain, 0) {
				c.remove(Evicted)
				return
			}
			if v.alive() {
				v.remove(Evicted)
			}
			e.victim.at += v.size
		}
	})
	if s.block == nil && s.live.entries() != 0 { // A large entry moves with its segment.
		e.enqueue(s, roleMain)
		return
	}
	e.reclaim(s)
}

// passSegments is the number of segments of main that one step may copy whole before entries that
// were used are evicted, too: fewer than one use first, then fewer than two.
const passSegments = 4

// evictMain evicts entries of main until a segment is free.
func (e *engine) evictMain() bool {
	for n := 0; ; n++ {
		v := e.nextVictim(uint64(n) / passSegments)
		if v == nil {
			return false
		}
		s := e.victim
		for v != nil && e.victim == s {
			if v.alive() {
				v.remove(Evicted)
			}
			s.at += v.size
			v = e.nextVictim(uint64(n) / passSegments)
		}
		if e.o.objects != nil && e.weight.Load() > e.budget.Load() {
			continue
		}
		if len(e.free) > 0 || e.held+int64(e.blockSize) <= e.budget.Load() {
			return true
		}
	}
}

// lighten evicts objects until the others are within the budget. The caller holds mu.
func (e *engine) lighten() bool {
	for e.weight.Load() > e.budget.Load() && e.n.Load() != 0 {
		for len(e.free) < spare && e.addBlock() == nil { // Entries that stay move there.
		}
		if !e.evict() {
			break
		}
	}
	return e.weight.Load() <= e.budget.Load()
}

// passEntries is the number of entries of main, one after the other, that one step passes because they were used,
// before those with one use more are evicted, too. So a step is short, and ends although readers use all entries all the time.
const passEntries = 4096

// nextVictim is the next entry of main to evict: one with at most `most` uses. Those before it, with
// more uses, are copied to main's end with one use less. It is nil if main is empty or pinned.
func (e *engine) nextVictim(most uint64) *candidate {
	for {
		s := e.victim
		if s == nil {
			if s = oldest(&e.main); s == nil {
				return nil
			}
			s.role, s.at = roleVictim, 0
			e.victim = s
		}
		for s.at < s.used {
			c := &e.dueller
			c.look(e, s, s.at)
			switch {
			case !c.alive():
			case c.expired():
				c.remove(Expired)
			case c.uses <= most:
				e.passed = 0
				return c
			case c.uses <= most+e.passed/passEntries:
				return c
			default:
				e.passed++
				if s.block != nil && !c.move(roleMain, c.uses-1) {
					return c
				}
				if s.block == nil {
					c.lessUsed()
					e.victim = nil
					e.enqueue(s, roleMain)
				}
			}
			s.at += c.size
		}
		if e.victim == s {
			e.victim = nil
			e.reclaim(s)
		}
	}
}

// look makes c the entry of a segment at off.
func (c *candidate) look(e *engine, s *segment, off int) {
	b := s.mem[off:]
	*c = candidate{e: e, seg: s, off: off, size: min(shapeOf(b).size, s.used-off), loc: e.location(s, off), h: maphash.Bytes(e.seed, keyOf(b))}
	var f found
	c.find(&f)
	if c.in = f.slot >= 0; c.in {
		c.uses = *f.at() & slotUses / slotUse
		c.asked = uses(f.heads[f.home], c.h)
		c.until = deadlinesOf(b).first()
		c.weight = e.weightOf(b)
	}
	f.unlock()
}

// find locks the home of the entry, or its family, and finds the slot that leads to it.
func (c *candidate) find(f *found) {
	if c.e.lock(f, c.h, false); f.first == nil {
		return
	}
	if f.slot = holds(f.bucket(f.home), c.loc); f.slot >= 0 || !c.e.elsewhere(f.heads[f.home]) {
		return
	}
	f.unlock()
	c.e.lookAll(f, c.h, func(b *bucket, _ uint64) int { return holds(b, c.loc) })
}

// walk calls f for each entry of a segment.
func (e *engine) walk(s *segment, f func(c *candidate)) {
	for off := 0; off < s.used; {
		c := &e.walked
		c.look(e, s, off)
		off += c.size
		f(c)
	}
}

func (c *candidate) alive() bool   { return c.in }
func (c *candidate) expired() bool { return c.until != 0 && c.e.ended(c.until) }

// remove takes the entry out of the table, if it is still there.
func (c *candidate) remove(why Reason) {
	var f found
	c.find(&f)
	if f.slot >= 0 {
		if why == Evicted {
			c.seg.gone++
		}
		c.e.removed = c.e.drop(&f, why, c.e.removed)
	}
	f.unlock()
	c.in = false
}

// move copies the entry to the open segment of a queue. It says whether the entry is there, or was
// removed meanwhile; false is for lack of memory.
func (c *candidate) move(to role, uses uint64) bool {
	e := c.e
	if c.seg.block == nil { // The segment will be enqueued as it is.
		return true
	}
	s := e.copies[to]
	if s == nil || e.full(s, c.size, c.weight) {
		if len(e.free) == 0 {
			return false
		}
		if s != nil {
			e.enqueue(s, to)
		}
		s = e.pop()
		e.copies[to] = s
	}
	var f found
	c.find(&f)
	if f.slot >= 0 {
		copy(s.mem[s.used:], c.seg.mem[c.off:c.off+c.size])
		slot, loc := f.at(), e.location(s, s.used)
		*slot = *slot&^(locMask|slotUses) | loc | uses*slotUse
		e.setObject(loc, e.object(c.loc))
		e.setObject(c.loc, nil)
		s.used += c.size
		s.weight += c.weight
		s.live.add(c.size)
		s.born += (c.seg.born - s.born) / s.live.entries()
		c.seg.live.sub(c.size)
	}
	f.unlock()
	c.in = false
	return true
}

// lessUsed takes one use off the entry.
func (c *candidate) lessUsed() {
	var f found
	c.find(&f)
	if f.slot >= 0 && *f.at()&slotUses != 0 {
		*f.at() -= slotUse
	}
	f.unlock()
}

// dropFull evicts an entry for which the table has no room any more. Its bucket is locked.
func (e *engine) dropFull(slot uint64) {
	e.removed = e.gone(slot, Evicted, e.removed)
}
