// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// take returns a free segment. It adds a block or evicts entries if there is none; of Map and Objects it
// compacts segments. The caller holds mu.
func (e *engine) take() (*segment, error) {
	if e.o.objects != nil && e.died.Load() >= e.tidyAt.Load() {
		e.compactMany()
		e.died.Store(0)
	}
	for {
		e.unviewed()
		if len(e.free) > spare {
			return e.pop(), nil
		}
		var err error
		if e.held+int64(e.blockSize) <= e.most() {
			if err = e.addBlock(); err == nil {
				continue
			}
		}
		if e.compacts && !e.compactOne() || !e.compacts && !e.evict() {
			if err == nil && len(e.free) > 0 && !e.compacts {
				return e.pop(), nil
			}
			if err == nil {
				err = fmt.Errorf("cache: %w: all of %d bytes are in use", offheap.ErrLimit, e.budget.Load())
			}
			return nil, err
		}
	}
}

// most bounds held.
func (e *engine) most() int64 {
	if e.o.objects != nil {
		return mostBytes
	}
	return e.budget.Load()
}

// stripe is the one for a key.
func (e *engine) stripe(h uint64) *stripe { return &e.stripes[h>>40&uint64(len(e.stripes)-1)] }

// place returns a pinned segment with room for an entry of n bytes at off, and what was evicted for it.
func (e *engine) place(h uint64, n int, weight int64) (s *segment, off int, told []removal, err error) {
	if n > e.mostSmall {
		s, told, err = e.placeLarge(n, weight)
		return s, 0, told, err
	}
	st := e.stripe(h)
	st.mu.Lock()
	if s = st.seg; s == nil || e.full(s, n, weight) {
		s, told, err = e.next(st)
	}
	if err == nil {
		off = s.used
		s.used += n
		s.weight += weight
		s.live.add(n)
		s.pins.Add(1)
	}
	st.mu.Unlock()
	return s, off, told, err
}

// next gives a stripe another segment, and returns what was evicted for it. The old one joins the
// window.
func (e *engine) next(st *stripe) (s *segment, told []removal, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.n.Load() == 0 {
		return nil, nil, ErrClosed
	}
	s, err = e.take()
	told, e.removed = e.removed, nil
	if err != nil {
		return nil, told, err
	}
	if st.seg != nil {
		e.seal(st.seg)
	}
	st.seg = s
	return s, told, nil
}

// placeLarge returns a pinned segment of its own for an entry of n bytes.
func (e *engine) placeLarge(n int, weight int64) (s *segment, told []removal, err error) {
	e.mu.Lock()
	defer func() { told = e.unlock() }()
	if e.n.Load() == 0 {
		return nil, nil, ErrClosed
	}
	size := (n + headRoom + 7) &^ 7
	words, err := e.obtain(size)
	if err != nil {
		return nil, nil, err
	}
	s = &segment{mem: bytesOf(words), used: n, born: e.now(), weight: weight}
	e.number(s)
	s.live.add(n)
	s.pins.Store(1)
	e.seal(s)
	return s, nil, nil
}

// obtain returns memory of its own for a large entry or a page. It evicts what is in the way. The caller
// holds mu.
func (e *engine) obtain(n int) ([]uint64, error) {
	for e.held+int64(n) > e.most() {
		e.unviewed()
		if e.compacts && e.compactOne() {
			e.trim()
			continue
		}
		if e.compacts || !e.evictLarge() && !e.releaseBlock() {
			return nil, fmt.Errorf("cache: %w: no room for %d bytes in %d", offheap.ErrLimit, n, e.budget.Load())
		}
	}
	words, err := e.allocate(n)
	if err == nil {
		e.held += int64(n)
	}
	return words, err
}

// evictLarge evicts the oldest large entry of main, or else of the window.
func (e *engine) evictLarge() bool {
	for _, q := range [][]*segment{e.main, e.window} {
		for _, s := range q {
			if s.block == nil && s.pins.Load() == 0 {
				e.dequeue(s)
				e.empty(s)
				return true
			}
		}
	}
	return false
}

// lockAll locks the stripes and mu, and seals the open segments.
func (e *engine) lockAll() {
	for i := range e.stripes {
		e.stripes[i].mu.Lock()
	}
	e.mu.Lock()
	for i := range e.stripes {
		if st := &e.stripes[i]; st.seg != nil {
			e.seal(st.seg)
			st.seg = nil
		}
	}
	e.sealCopies()
}

// sealCopies puts the open segments of eviction in their queues.
func (e *engine) sealCopies() {
	for i, s := range e.copies {
		if s != nil {
			e.copies[i] = nil
			e.enqueue(s, role(i))
		}
	}
}

func (e *engine) unlockAll() {
	e.unlockStripes()
	e.unlockAndTell()
}

func (e *engine) unlockStripes() {
	for i := range e.stripes {
		e.stripes[i].mu.Unlock()
	}
}

// releaseBlock returns a block to the machine: the one with the fewest bytes in entries, which move to other
// segments as far as there is room. It says whether there was a block without open or pinned segments. The
// caller holds mu.
func (e *engine) releaseBlock() bool {
	perBlock := e.blockSize >> e.segShift
	for range 2 * perBlock {
		if len(e.free) >= perBlock+spare || !e.evict() {
			break
		}
	}
	best, least := -1, int64(0)
	for i, b := range e.blocks {
		n := int64(0)
		for _, s := range b.segs {
			if s.pins.Load() != 0 || s.role == roleOpen {
				n = -1
				break
			}
			n += s.live.bytes()
		}
		if n >= 0 && (best < 0 || n < least) {
			best, least = i, n
		}
	}
	if best < 0 {
		return false
	}
	b := e.blocks[best]
	b.leaving = true
	e.free = slices.DeleteFunc(e.free, func(s *segment) bool { return s.block == b })
	for _, s := range b.segs {
		switch s.role {
		case roleWindow, roleMain:
			e.dequeue(s)
			e.compact(s)
		case roleVictim:
			e.victim = nil
			s.role = roleMain
			e.compact(s)
		}
	}
	quiesce()
	// A view may have begun before its entry left. Nobody can pin the others any more.
	if slices.ContainsFunc(b.segs, func(s *segment) bool { return s.role == roleViewed }) {
		b.leaving = false
		for _, s := range b.segs {
			if s.role == roleFree {
				e.free = append(e.free, s)
			}
		}
		return false
	}
	e.blocks = slices.DeleteFunc(e.blocks, func(o *block) bool { return o == b })
	e.releaseFree(b)
	return true
}

// addPage makes room for another family of buckets. The caller holds mu.
func (e *engine) addPage() error {
	s := e.size(e.n.Load())
	i := int(s.page(s.group, s.pages))
	if i < len(e.buckets) && e.buckets[i] != nil {
		return nil
	}
	return e.newPage(i)
}

// newPage makes page i of the table, with empty buckets. The caller holds mu.
func (e *engine) newPage(i int) error {
	page, err := e.obtain(bucketBytes << e.shift)
	if err == nil {
		e.setPage(i, page)
	}
	return err
}

// setPage lets page i have this memory, or none.
func (e *engine) setPage(i int, page []uint64) {
	if i >= len(e.buckets) {
		e.buckets = append(e.buckets, make([][]uint64, i+1-len(e.buckets))...)
	}
	e.buckets[i] = page
	pages := make([]*bucket, len(e.buckets))
	for i, page := range e.buckets {
		if page != nil {
			pages[i] = firstBucket(page)
		}
	}
	e.pages.Store(&pages)
}

// lockPage locks all buckets of a page, if there is one.
func (e *engine) lockPage(page []uint64) {
	for i := range len(page) / bucketWords {
		lockAt(unsafex.Elem(firstBucket(page), uintptr(i)))
	}
}

// shrinkTable takes buckets off a table that is less than half as full as it may be, and returns the
// memory of its last pages: of as many as most says. It says whether that was all.
func (e *engine) shrinkTable(most int) bool {
	var left [][]uint64
	done := false
	for len(left) < most {
		n := e.n.Load()
		if n == 4<<e.shift || uint64(e.count.Load())*128 >= n*slots*fill || e.o.keep && e.provide() != nil {
			done = true
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
	return done
}

// provide makes at least one bucket free for a chain, and those that a resize may need. The caller holds mu.
func (e *engine) provide() error {
	c := &e.chains
	c.mu.Lock()
	enough := len(c.free) > mostChained
	c.mu.Unlock()
	if enough {
		return nil
	}
	page, err := e.obtain(bucketBytes << e.shift)
	if err != nil {
		return err
	}
	e.chainPages = append(e.chainPages, page)
	pages := append(slices.Clone(*c.pages.Load()), firstBucket(page))
	c.pages.Store(&pages)
	for i := range uint32(1) << e.shift {
		c.give(uint32(len(pages)-1)<<e.shift + i + 1)
	}
	return nil
}
