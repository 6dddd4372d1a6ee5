// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"slices"
	"time"

	"github.com/freehold-go/freehold/offheap"
)

func newEngine(o settings) (*engine, error) {
	e := &engine{o: o, start: time.Now(), unit: 1}
	if o.Clock != nil {
		e.start = o.Clock()
	}
	name := "cache"
	if o.Name != "" {
		name += " " + o.Name
	}
	e.purpose = offheap.NewPurpose(name)
	block := min(o.Bytes/128, mostBlock)
	seg := min(max(o.Bytes/256, leastSegment), mostSegment, block)
	page := seg
	switch {
	case o.keep:
		seg = min(seg, mapSegment)
		block, page = seg, seg
	case o.objects != nil:
		seg = min(max(o.Bytes/4096, leastObjects), mostObjects)
		block, page = 16*seg, max(seg, objectsPage)
		e.unit = pointerUnit
	}
	e.segShift = uint(bits.Len64(uint64(seg)) - 1)
	e.blockSize = int(block >> e.segShift << e.segShift)
	e.mostSmall = 1 << e.segShift / 2
	e.compacts = o.keep || o.objects != nil
	e.budget.Store(o.Bytes)
	e.tidyAt.Store(int64(tidyBlocks * e.blockSize))
	e.stripes = make([]stripe, 1)
	if o.Bytes >= manySegments<<e.segShift {
		e.stripes = make([]stripe, mostStripes)
	}
	e.setFill()
	e.counts.reads = make([]readCounts, runtime.GOMAXPROCS(0)+1)
	e.dir.Store(new(directory))
	*e.dir.Load() = make(directory, 1)
	mems := make([][]byte, 1)
	e.mems.Store(&mems)
	e.seed, e.shift = maphash.MakeSeed(), uint(bits.Len64(uint64(page))-1-6)
	e.chains.on, e.chains.shift = o.keep, e.shift
	e.chains.pages.Store(new([]*bucket))
	e.hash = func(loc uint64) uint64 { return maphash.Bytes(e.seed, keyOf(e.entry(loc))) }
	e.pages.Store(new([]*bucket))
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range 4 {
		if err := e.newPage(i); err != nil {
			e.freeAll()
			return nil, err
		}
	}
	e.n.Store(4 << e.shift)
	return e, nil
}

// close removes everything and returns the memory. Calls that are under way find nothing or
// ErrClosed. It waits for views.
func (e *engine) close() {
	e.lockAll()
	if e.n.Load() == 0 {
		e.unlockAll()
		return
	}
	for _, page := range e.buckets {
		e.lockPage(page) // For good: whoever waits sees n.
	}
	e.n.Store(0)
	quiesce()
	e.count.Store(0)
	e.weight.Store(0)
	d := *e.dir.Load()
	for i := range d {
		if s := d[i].Load(); s != nil {
			for attempt := 0; s.pins.Load() != 0; attempt++ {
				pause(attempt)
			}
		}
	}
	e.freeAll()
	e.unlockAll()
	e.sweeper.stop()
}

// freeAll returns all memory. The caller holds mu, and nobody uses the table.
func (e *engine) freeAll() {
	d := *e.dir.Load()
	for i := range d {
		if s := d[i].Load(); s != nil && s.block == nil {
			e.release(s.words())
		}
	}
	for _, page := range slices.Concat(e.buckets, e.chainPages) {
		e.release(page)
	}
	e.dir.Store(new(directory))
	for _, b := range e.blocks {
		e.release(b.words)
	}
	e.mems.Store(new([][]byte))
	e.held = 0
	e.blocks, e.free, e.viewed, e.buckets, e.chainPages, e.window, e.main, e.victim = nil, nil, nil, nil, nil, nil, nil, nil
	e.windowBytes = 0
}

func (e *engine) stats() (s Stats) {
	s.Name, s.Entries = e.o.Name, e.count.Load()
	for i := range e.counts.reads {
		s.Hits += e.counts.reads[i].hits.Load()
		s.Misses += e.counts.reads[i].misses.Load()
		s.Replaced += e.counts.reads[i].replaced.Load()
	}
	s.Evicted, s.Expired = e.counts.removed[Evicted].Load(), e.counts.removed[Expired].Load()
	s.Deleted = e.counts.removed[Deleted].Load()
	s.Loads, s.LoadsFailed = e.counts.loads.Load(), e.counts.failed.Load()
	e.mu.Lock()
	defer e.mu.Unlock()
	s.EvictionAge = time.Duration(e.age) * time.Millisecond
	s.Bytes, s.BytesHeld, s.Weight = e.budget.Load(), e.held, e.weight.Load()
	for _, page := range slices.Concat(e.buckets, e.chainPages) {
		s.BytesTable += int64(8 * len(page))
	}
	d := *e.dir.Load()
	for i := range d {
		if seg := d[i].Load(); seg != nil {
			s.BytesEntries += seg.live.bytes()
			if seg.pins.Load() != 0 && seg.role != roleOpen {
				s.BytesViewed += int64(len(seg.mem))
			}
		}
	}
	return s
}
