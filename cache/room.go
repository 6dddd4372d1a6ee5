// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// take returns a free segment. It adds a block or evicts entries if there is none. The caller holds mu.
func (e *engine) take() (*segment, error) {
	for {
		e.unviewed()
		if len(e.free) > spare {
			return e.pop(), nil
		}
		var err error
		if e.held+int64(e.blockSize) <= e.budget {
			if err = e.addBlock(); err == nil {
				continue
			}
		}
		if !e.evict() {
			if err == nil && len(e.free) > 0 {
				return e.pop(), nil
			}
			if err == nil {
				err = fmt.Errorf("cache: %w: all of %d bytes are in use", offheap.ErrLimit, e.budget)
			}
			return nil, err
		}
	}
}

// stripe is the one for a key.
func (e *engine) stripe(h uint64) *stripe { return &e.stripes[h>>40&uint64(len(e.stripes)-1)] }

// place returns a pinned segment with room for an entry of n bytes at off.
func (e *engine) place(h uint64, n int) (s *segment, off int, err error) {
	if n > e.mostSmall {
		s, err = e.placeLarge(n)
		return s, 0, err
	}
	st := e.stripe(h)
	var told []removal
	st.mu.Lock()
	if s = st.seg; s == nil || s.used+n > len(s.mem) {
		s, told, err = e.next(st)
	}
	if err == nil {
		off = s.used
		s.used += n
		s.live.Add(int64(n))
		s.pins.Add(1)
	}
	st.mu.Unlock()
	e.tell(told)
	return s, off, err
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
func (e *engine) placeLarge(n int) (*segment, error) {
	e.lockAll()
	defer e.unlockAll()
	if e.n.Load() == 0 {
		return nil, ErrClosed
	}
	size := int64(n+7) &^ 7
	for e.held+size > e.budget {
		e.unviewed()
		if !e.evictLarge() && !e.releaseBlock() {
			return nil, fmt.Errorf("cache: %w: no room for an entry of %d bytes in %d", offheap.ErrLimit, n, e.budget)
		}
	}
	words, err := e.allocate(int(size))
	if err != nil {
		return nil, err
	}
	s := &segment{mem: bytesOf(words), used: n}
	e.number(s)
	e.held += size
	s.live.Store(int64(n))
	s.pins.Store(1)
	e.seal(s)
	return s, nil
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
	for i := range e.stripes {
		e.stripes[i].mu.Unlock()
	}
	e.unlockAndTell()
}

// releaseBlock returns a block to the machine: the one with the fewest bytes in entries. Its entries
// are evicted, its pages move. It says whether there was one that nobody has pinned. The caller has
// called lockAll.
func (e *engine) releaseBlock() bool {
	best, least := -1, int64(0)
	for i, b := range e.blocks {
		n, pages := int64(0), 0
		for _, s := range b.segs {
			if s.pins.Load() != 0 {
				n = -1
				break
			}
			n += s.live.Load()
			if s.role == rolePage {
				pages++
			}
		}
		if n >= 0 && (best < 0 || n+int64(pages<<e.segShift) < least) {
			best, least = i, n+int64(pages<<e.segShift)
		}
	}
	if best < 0 {
		return false
	}
	e.sealCopies() // Eviction may have opened them since lockAll, in this block.
	b := e.blocks[best]
	inBlock := func(s *segment) bool { return s.block == b }
	e.free = slices.DeleteFunc(e.free, inBlock)
	for _, s := range b.segs {
		switch s.role {
		case roleWindow, roleMain:
			e.dequeue(s)
			e.empty(s)
		case roleVictim:
			e.victim = nil
			e.empty(s)
		}
	}
	e.free = slices.DeleteFunc(e.free, inBlock)
	// A view may have begun before its entry was evicted. Nobody can pin the others any more.
	whole := !slices.ContainsFunc(b.segs, func(s *segment) bool { return s.role == roleViewed })
	for _, s := range b.segs {
		whole = whole && (s.role != rolePage || e.movePage(s))
	}
	quiesce()
	if !whole {
		for _, s := range b.segs {
			if s.role == roleFree {
				e.free = append(e.free, s)
			}
		}
		return false
	}
	e.blocks = slices.DeleteFunc(e.blocks, func(o *block) bool { return o == b })
	for _, s := range b.segs {
		e.unnumber(s)
	}
	e.held -= int64(e.blockSize)
	e.release(b.words)
	return true
}

// addPage makes room for another family of buckets. The caller holds mu.
func (e *engine) addPage() error {
	s := e.size(e.n.Load())
	i := int(s.page(s.group, s.pages))
	if i < len(e.pageSegs) && e.pageSegs[i] != nil {
		return nil
	}
	seg, err := e.take()
	if err == nil {
		e.setPage(i, seg)
	}
	return err
}

// setPage makes a segment page i of the table, with empty buckets.
func (e *engine) setPage(i int, s *segment) {
	clear(s.mem)
	if i >= len(e.pageSegs) {
		e.pageSegs = append(e.pageSegs, make([]*segment, i+1-len(e.pageSegs))...)
	}
	e.usePage(i, s)
}

// usePage lets page i be a segment, or none.
func (e *engine) usePage(i int, s *segment) {
	if e.pageSegs[i] = s; s != nil {
		s.role = rolePage
	}
	pages := make([]*bucket, len(e.pageSegs))
	for i, s := range e.pageSegs {
		if s != nil {
			pages[i] = firstBucket(s)
		}
	}
	e.pages.Store(&pages)
}

// lockPage locks all buckets of a page, if there is one, and returns their heads.
func (e *engine) lockPage(first *bucket) (heads []uint64) {
	if first == nil {
		return nil
	}
	for i := range uintptr(1) << e.shift {
		heads = append(heads, lockAt(unsafex.Elem(first, i)))
	}
	return heads
}

// movePage moves a page of the table to another segment, and leaves the old one with all buckets
// locked, which the caller frees after quiesce. It says whether there was memory.
func (e *engine) movePage(from *segment) bool {
	to, err := e.take()
	if err != nil {
		return false
	}
	heads := e.lockPage(firstBucket(from))
	copy(to.mem, from.mem)
	e.usePage(slices.Index(e.pageSegs, from), to)
	for i, head := range heads {
		unlock(unsafex.Elem(firstBucket(to), uintptr(i)), head)
	}
	from.role = roleFree // Once the world was stopped.
	return true
}
