// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"iter"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/debugmode"
)

// A block is one that tracked keeps a record of.
type block struct {
	addr uintptr
	size uintptr // The requested bytes.
	room uintptr // What it takes from addr on: behind size follows a canary.
	kind *kind
	desc *typeDesc // Of the values in it, nil for bytes.
	keep any       // The Go memory that it lies in, so that the collector keeps it.

	guarded bool // It lies on guarded pages.
	number  uint64
	stack   debugmode.Stack // That allocated it, in the debug modes.
}

// blockTable finds blocks by their addresses: by the 4 KiB page that they begin in.
//
// Blocks larger than a page are noted a second time, by the power of two that holds them: a block
// of at most 1<<k bytes begins in the unit of 1<<k bytes that an address inside it lies in, or in
// the one before. So what an interior pointer lies in is found in two places for each power.
type blockTable struct {
	shards [64]tableShard
	powers [tablePowers]tableShard // The first is that of two pages.
	used   atomic.Uint64           // A bit for each power that was ever noted.
}

const (
	tablePage     = 1 << tablePageBits
	tablePageBits = 12
	// trackedMax bounds a block: 64 GiB, or 512 MiB on 32-bit systems. What the Go heap cannot give
	// ends the process without an error, so that the impossible must be refused before.
	trackedMax     = 1 << trackedMaxBits
	trackedMaxBits = 29 + 7*is64Int
	tablePowers    = trackedMaxBits - tablePageBits
)

// tableShard is a table of blocks by the page, or the larger unit, that they begin in.
type tableShard struct {
	mu    sync.Mutex
	units map[uintptr][]block
}

func (s *tableShard) put(unit uintptr, b block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.units == nil {
		s.units = make(map[uintptr][]block)
	}
	s.units[unit] = append(s.units[unit], b)
}

// find is the block of the unit that begins at addr, and with inside one that addr lies in.
func (s *tableShard) find(unit, addr uintptr, inside bool) (block, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.units[unit] {
		if b.addr == addr || inside && addr-b.addr < b.size {
			return b, true
		}
	}
	return block{}, false
}

// take strikes the block of the unit off that begins at addr. An arena's block counts only if owned
// is true, and any other block only if it is false.
func (s *tableShard) take(unit, addr uintptr, owned bool) (block, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.units[unit]
	i := slices.IndexFunc(list, func(b block) bool { return b.addr == addr && b.kind.owned == owned })
	if i < 0 {
		return block{}, false
	}
	b, last := list[i], len(list)-1
	list[i], list[last] = list[last], block{}
	if last == 0 {
		delete(s.units, unit)
	} else {
		s.units[unit] = list[:last]
	}
	return b, true
}

func (t *blockTable) shard(page uintptr) *tableShard {
	return &t.shards[page%uintptr(len(t.shards))]
}

// power is where a block of n bytes, which is more than a page, is noted besides.
func power(n uintptr) int { return bits.Len64(uint64(n-1)) - tablePageBits - 1 }

// unit is the number of the unit of a power that addr lies in.
func unit(addr uintptr, power int) uintptr { return addr >> (power + tablePageBits + 1) }

// note enters a block.
func (t *blockTable) note(b block) {
	if b.size > tablePage {
		p := power(b.size)
		t.powers[p].put(unit(b.addr, p), b)
		t.used.Or(1 << p)
	}
	// Last: take finds a block here first, and then all else that note wrote. A stale free may name the
	// address at this moment.
	t.shard(b.addr/tablePage).put(b.addr/tablePage, b)
}

// take strikes the block off that begins at addr. Of several callers one gets it. owned is as in
// tableShard.take.
func (t *blockTable) take(addr uintptr, owned bool) (block, bool) {
	b, ok := t.shard(addr/tablePage).take(addr/tablePage, addr, owned)
	if !ok {
		return b, false
	}
	if b.size > tablePage {
		p := power(b.size)
		t.powers[p].take(unit(addr, p), addr, owned)
	}
	return b, true
}

// find is the block that begins at addr.
func (t *blockTable) find(addr uintptr) (block, bool) {
	return t.shard(addr/tablePage).find(addr/tablePage, addr, false)
}

// use calls f for the block that begins at addr, while it cannot be freed. It reports what f does, or false if
// there is none. f must not allocate off the heap.
func (t *blockTable) use(addr uintptr, f func(b *block) bool) bool {
	return t.shard(addr/tablePage).use(addr/tablePage, addr, f)
}

// use is blockTable.use for a block of the unit.
func (s *tableShard) use(unit, addr uintptr, f func(b *block) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.units[unit]
	i := slices.IndexFunc(list, func(b block) bool { return b.addr == addr })
	return i >= 0 && f(&list[i])
}

// containing is the block that addr lies in, which it need not begin.
func (t *blockTable) containing(addr uintptr) (block, bool) {
	for s, unit := range t.places(addr) {
		if b, ok := s.find(unit, addr, true); ok {
			return b, true
		}
	}
	return block{}, false
}

// places yields the tables, and the units in them, in which the block around addr may be.
func (t *blockTable) places(addr uintptr) iter.Seq2[*tableShard, uintptr] {
	return func(yield func(*tableShard, uintptr) bool) {
		page := addr / tablePage
		if !yield(t.shard(page), page) || !yield(t.shard(page-1), page-1) {
			return
		}
		for used := t.used.Load(); used != 0; used &= used - 1 {
			p := bits.TrailingZeros64(used)
			if s, u := &t.powers[p], unit(addr, p); !yield(s, u) || !yield(s, u-1) {
				return
			}
		}
	}
}

// each calls f for each block while it cannot be freed. f must not allocate off the heap.
func (t *blockTable) each(f func(b *block)) {
	for i := range t.shards {
		t.shards[i].each(f)
	}
}

func (s *tableShard) each(f func(b *block)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.units {
		for i := range list {
			f(&list[i])
		}
	}
}
