// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	"github.com/freehold-go/freehold/offheap"
)

// allocate returns memory of the Purpose.
func (e *engine) allocate(n int) ([]uint64, error) {
	if e.o.refuse != nil {
		if err := e.o.refuse(); err != nil {
			return nil, err
		}
	}
	words := (n + 7) / 8
	return offheap.For[uint64](e.purpose).Aligned(bucketBytes).TryMakeSlice(words, words)
}

func (e *engine) release(words []uint64) { offheap.For[uint64](e.purpose).FreeSlice(words) }

// number gives a segment a number. The caller holds mu.
func (e *engine) number(s *segment) {
	if len(e.numbers) == 0 {
		old := *e.dir.Load()
		d := make(directory, 2*len(old))
		for i := range old {
			d[i].Store(old[i].Load())
		}
		e.dir.Store(&d)
		mems := make([][]byte, len(d))
		copy(mems, *e.mems.Load())
		e.mems.Store(&mems)
		for no := len(d) - 1; no >= max(len(old), 1); no-- { // Location 0 is none.
			e.numbers = append(e.numbers, uint64(no))
		}
	}
	last := len(e.numbers) - 1
	s.no = e.numbers[last]
	e.numbers = e.numbers[:last]
	(*e.dir.Load())[s.no].Store(s)
	(*e.mems.Load())[s.no] = s.mem
	if e.o.objects != nil {
		n := 1
		if s.block != nil {
			n = len(s.mem) / pointerUnit
		}
		e.o.objects.resize(s.no, n)
	}
}

// unnumber takes the number of a segment back.
func (e *engine) unnumber(s *segment) {
	(*e.dir.Load())[s.no].Store(nil)
	(*e.mems.Load())[s.no] = nil
	if e.o.objects != nil {
		e.o.objects.resize(s.no, 0)
	}
	e.numbers = append(e.numbers, s.no)
}

// addBlock adds a block of free segments. The caller holds mu and has looked at the budget.
func (e *engine) addBlock() error {
	words, err := e.allocate(e.blockSize)
	if err != nil {
		return err
	}
	b := &block{words: words}
	mem := bytesOf(words)
	for len(mem) > 0 {
		s := &segment{mem: mem[: 1<<e.segShift : 1<<e.segShift], block: b}
		mem = mem[1<<e.segShift:]
		e.number(s)
		b.segs = append(b.segs, s)
		e.free = append(e.free, s)
	}
	e.blocks = append(e.blocks, b)
	e.held += int64(e.blockSize)
	return nil
}

// releaseFree returns the memory of a block that is no longer listed, and has no entries.
func (e *engine) releaseFree(b *block) {
	for _, s := range b.segs {
		e.unnumber(s)
	}
	e.held -= int64(e.blockSize)
	e.release(b.words)
}

// spare is the number of free segments that only eviction takes, which moves entries to them.
const spare = 3

// unviewed reclaims the segments that views have left.
func (e *engine) unviewed() {
	if len(e.viewed) == 0 {
		return
	}
	left := e.viewed
	e.viewed = nil
	for _, s := range left {
		e.reclaim(s)
	}
}

// pop takes the last free segment.
func (e *engine) pop() *segment {
	last := len(e.free) - 1
	s := e.free[last]
	e.free = e.free[:last]
	s.role, s.used, s.at, s.weight, s.born = roleOpen, 0, 0, 0, e.now()
	return s
}

// reclaim makes a segment free that the table does not lead to. If a view has pinned it, that happens
// later: nobody can pin it any more.
func (e *engine) reclaim(s *segment) {
	if s.live.entries() != 0 {
		e.purge(s)
	}
	if s.gone > 0 { // The mean of the last evictions: each counts for 1/256.
		e.age += (e.now() - s.born - e.age) * min(s.gone, 256) / 256
		s.gone = 0
	}
	if s.pins.Load() != 0 {
		s.role = roleViewed
		e.viewed = append(e.viewed, s)
		return
	}
	s.live.reset()
	s.role = roleFree
	if s.block != nil {
		if !s.block.leaving {
			e.free = append(e.free, s)
		}
		return
	}
	e.unnumber(s)
	e.held -= int64(len(s.mem))
	e.release(s.words())
}

// purge evicts the entries of a segment that the table still leads to, although the segment's memory has
// none: a program has written to a slice that View gave it earlier, and the entries are no longer what they
// were. The caller holds mu.
func (e *engine) purge(s *segment) {
	of := func(b *bucket) int {
		for i := 1; i < bucketWords; i++ {
			if b[i] != 0 && b[i]&locMask>>e.segShift == s.no {
				return i
			}
		}
		return -1
	}
	for i := uint64(0); i < uint64(len(e.buckets))<<e.shift; i += family {
		f := found{first: e.at(i), all: true}
		if f.first == nil {
			continue
		}
		for j := range f.heads {
			f.heads[j] = lockAt(f.bucket(j))
		}
		for f.in = 0; f.in < family; f.in++ {
			for f.home = f.in; ; {
				if f.chain, f.slot = nil, of(f.bucket(f.in)); f.slot < 0 {
					if e.inChain(&f, of); f.slot < 0 {
						break
					}
				}
				e.removed = e.drop(&f, Evicted, e.removed)
			}
		}
		f.unlock()
	}
}

// trim returns free blocks, but for a few.
func (e *engine) trim() {
	var list []*block
	left := len(e.free)
	e.blocks = slices.DeleteFunc(e.blocks, func(b *block) bool {
		if left-len(b.segs) < 2*spare || slices.ContainsFunc(b.segs, func(s *segment) bool { return s.role != roleFree }) {
			return false
		}
		b.leaving = true
		left -= len(b.segs)
		list = append(list, b)
		return true
	})
	e.free = slices.DeleteFunc(e.free, func(s *segment) bool { return s.block.leaving })
	for _, b := range list {
		e.releaseFree(b)
	}
}
