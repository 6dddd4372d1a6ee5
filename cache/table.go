// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The table finds entries. It is a hash table of buckets that grows by four buckets at a time, so its
// size follows the number of entries without a stall. The load of all buckets stays within 4 : 5:
// that is linear hashing with partial expansions (Larson, 1980; plain linear hashing has buckets that
// are twice as full as others).
//
// Buckets lie in pages of 2^shift. An address, which is the bits of a key's hash, has these parts:
//
//	offset   the bucket in its page
//	quarter  2 bits: the page among the first four of its group
//	group    as many bits as there are
//	next     1 bit, which will be the next bit of the group
//
// A group has 4 pages and grows to 5, 6, 7 and 8; then its first four pages and the others are a group
// each. All groups get their fifth page before one gets a sixth. Within a page that is being added,
// one family of buckets is added after the other: some entries at the same offsets of the group's
// other pages move there. The table `places` says which.
//
// A bucket is a cache line of eight words. Word 0 is the head:
//
//	bit  0       the lock
//	bits 1..3    entries of this bucket that lie in others of its family, because it was full
//	bits 4..9    uses since the counters were halved
//	bits 10..61  13 counters of 4 bits; of a Map, bits 10..41 are the number of the first bucket of a chain, or 0
//
// The others are slots, 0 if empty:
//
//	bits 0..43   location: number of the segment << shift | offset
//	bits 44..45  distance: the entry belongs to the bucket whose number differs by these two bits
//	bits 46..47  uses since the entry was written or moved, at most 3
//	bits 48..63  tag: the hash's highest 16 bits
//
// Four buckets, whose numbers differ in the lowest two bits, are a family. An entry whose home is full
// goes to another of the family. Whoever locks a family locks it from the lowest number on. A
// bucket's lock guards its slots, its head, and value and deadlines of the entries that belong to it.
//
// The counters are a sketch of how often keys were asked for (TinyLFU; Einziger, Friedman, Manes,
// 2017), also of keys that are not here. A key has two counters of its home bucket, so counting
// touches no other cache line. On the traces of docs/cache.md it is as good as a sketch apart.
//
// The table of a Map has no counters. Entries for which a family has no room lie in a chain: see chains.go.
//
// A goroutine that looks for a bucket is pinned from its reads of n and pages to its attempt to take
// the lock. Once a page's buckets are all locked for good and the world was stopped (quiesce), no
// goroutine can reach it, and its memory is free.

type table struct {
	seed  maphash.Seed
	shift uint                      // log2 of the buckets of a page.
	n     atomic.Uint64             // Buckets in use, a multiple of family; 0 when the cache is closed.
	pages atomic.Pointer[[]*bucket] // The first bucket of each page, nil where there is none.
	hash  func(loc uint64) uint64   // Hash of the key of the entry at loc.

	chains chains
}

// A size is what a number of buckets means.
type size struct {
	level  uint   // log2 of the number of groups.
	pages  uint64 // Pages of each group, 4 to 7.
	group  uint64 // Groups before this one have one page more.
	offset uint64 // So have the buckets of this group below this offset.
}

func (t *table) size(n uint64) size {
	all := n >> t.shift // Pages that are complete.
	level := uint(bits.Len64(all)) - 3
	more := all - 4<<level
	return size{level, 4 + more>>level, more & (1<<level - 1), n & (1<<t.shift - 1)}
}

// pagesOf is the number of pages of a group that have a bucket at offset.
func (s *size) pagesOf(group, offset uint64) uint64 {
	if group < s.group || group == s.group && offset < s.offset {
		return s.pages + 1
	}
	return s.pages
}

// page is the number of a page: place is 0 to 7.
func (s *size) page(group, place uint64) uint64 {
	return 4*group + place&3 + place>>2<<(s.level+2)
}

// places is the page of an entry in its group, by the pages of the group less 4, the next bit, the fraction
// and the quarter. Without a next bit it is the quarter. With it, 26, 43 and 55 of 64 move to the
// fifth to seventh page, which makes all pages equally full, and all to their place in the eight.
var places = func() (t [5][2 << (fractionBits + 2)]uint8) {
	for pages := range t {
		for i := range t[pages] {
			quarter, fraction := i&3, i>>2&(1<<fractionBits-1)
			place := quarter
			if next := i>>(fractionBits+2) != 0; next {
				switch {
				case pages == 1 && fraction < 26:
					place = 4
				case pages == 2 && fraction < 43:
					place = 4 + quarter&1
				case pages == 3 && fraction < 55:
					place = 4 + quarter
					if quarter == 3 {
						place = 4 + min(fraction/19, 2)
					}
				case pages == 4:
					place = 4 + quarter
				}
			}
			t[pages][i] = uint8(place)
		}
	}
	return t
}()

// place is the page in its group of an entry with hash h, in a group of so many pages.
func (s *size) place(h, pages uint64, next uint64) uint64 {
	return uint64(places[pages-4][next<<(fractionBits+2)|h>>fractionAt<<2|h>>quarterAt&3])
}

// groupOf is all bits of a hash that may choose a group.
func (t *table) groupOf(h uint64) uint64 {
	return h>>tagShift&(1<<groupBits-1) | h&(1<<tagShift-1)>>t.shift<<groupBits
}

// home is the bucket of a hash in a table of n.
func (t *table) home(h, n uint64) uint64 {
	s := t.size(n)
	offset := h & (1<<t.shift - 1)
	bitsOf := t.groupOf(h)
	group := bitsOf & (1<<s.level - 1)
	return s.page(group, s.place(h, s.pagesOf(group, offset), bitsOf>>s.level&1))<<t.shift | offset
}

// at is bucket i. The caller is pinned, holds a lock of its page, or the engine's mu. It is nil if the
// page has gone since the caller read n.
func (t *table) at(i uint64) *bucket {
	page := (*t.pages.Load())[i>>t.shift]
	if page == nil {
		return nil
	}
	return unsafex.Elem(page, uintptr(i&(1<<t.shift-1)))
}

// found is a family with its locks, and where in it an entry is.
type found struct {
	first *bucket // Of the family; nil if the cache is closed.
	home  int     // The number in the family of the home bucket.
	all   bool    // All of the family is locked, not only the home.
	heads [family]uint64
	in    int     // The number of the bucket with the entry.
	slot  int     // Its slot, -1 if there is none.
	chain *bucket // If it is not nil, the entry is in this one, of the chain of the bucket `in`.
}

func (f *found) bucket(i int) *bucket { return unsafex.Elem(f.first, uintptr(i)) }

// at is the slot of the entry.
func (f *found) at() *uint64 {
	b := f.chain
	if b == nil {
		b = f.bucket(f.in)
	}
	return &b[f.slot&(bucketWords-1)]
}

// has is the slot of the entry as it is now, 0 if there is none.
func (f *found) has() uint64 {
	if f.slot < 0 {
		return 0
	}
	return *f.at()
}

// count counts a use of the key.
func (f *found) count(h uint64) { f.heads[f.home&3] = counted(f.heads[f.home&3], h) }

func (f *found) unlock() {
	switch {
	case f.first == nil:
	case f.all:
		for i, head := range f.heads {
			unlock(f.bucket(i), head)
		}
	default:
		unlock(f.bucket(f.home), f.heads[f.home&3])
	}
}

// elsewhere says whether a bucket with this head has entries in others.
func (t *table) elsewhere(head uint64) bool {
	return displaced(head) > 0 || t.chains.on && chainOf(head) != 0
}

// inChain looks for an entry in the chain of the home, which is locked. is says in which slot of a bucket it lies.
func (t *table) inChain(f *found, is func(b *bucket) int) {
	if !t.chains.on {
		return
	}
	for no := chainOf(f.heads[f.home&3]); no != 0; no = uint32(f.chain[0]) {
		f.chain = t.chains.bucket(no)
		if f.slot = is(f.chain); f.slot >= 0 {
			f.in = f.home
			return
		}
	}
	f.chain = nil
}

// shorten fills the slot of f, which has become empty, from the chain of its bucket, if there is one.
func (t *table) shorten(f *found) {
	head := &f.heads[f.in]
	no := chainOf(*head)
	if no == 0 {
		return
	}
	b := t.chains.bucket(no)
	for i := 1; i < bucketWords; i++ {
		if slot := b[i]; slot != 0 {
			b[i] = 0
			*f.at() = slot
			break
		}
	}
	if *b == (bucket{b[0]}) {
		setChain(head, uint32(b[0]))
		t.chains.give(no)
	}
}

// slotsOf calls f with each entry of a bucket with this head and of its chain. Its lock is held.
func (t *table) slotsOf(b *bucket, head uint64, f func(slot uint64)) {
	for {
		for _, slot := range b[1:] {
			if slot != 0 {
				f(slot)
			}
		}
		if !t.chains.on {
			return
		}
		no := chainOf(head)
		if no == 0 {
			return
		}
		b = t.chains.bucket(no)
		head = b[0] << chainAt
	}
}

// lock locks the home bucket of a hash, or with all its family.
func (t *table) lock(f *found, h uint64, all bool) {
	f.slot, f.chain = -1, nil
	for attempt := 0; ; attempt++ {
		pin := percpu.Acquire()
		n := t.n.Load()
		if n == 0 {
			pin.Release()
			f.first = nil
			return
		}
		i := t.home(h, n)
		f.first, f.home = t.at(i&^(family-1)), int(i&(family-1))
		ok, head := false, uint64(0)
		lowest := f.home
		if all {
			lowest = 0
		}
		if f.first != nil {
			head, ok = try(f.bucket(lowest))
		}
		if sanitize.Race && !ok {
			sanitize.RaceRelease(unsafex.Addr(&looked))
		}
		pin.Release()
		if !ok {
			pause(attempt)
			continue
		}
		f.heads[lowest&3] = head
		if f.all = all; all { // The lock of the first keeps the page.
			for i := 1; i < family; i++ {
				f.heads[i] = lockAt(f.bucket(i))
			}
		}
		if now := t.n.Load(); now == n || now != 0 && t.home(h, now) == i {
			f.in = f.home
			return
		}
		f.unlock()
	}
}

// resize makes the table a family of buckets larger or smaller, and calls drop for each entry that
// finds no room any more. The pages exist. The caller holds the engine's mu.
//
// A goroutine that gets the lock of one of these buckets afterwards sees the new n, and looks again.
func (t *table) resize(to uint64, drop func(slot uint64)) {
	n := t.n.Load()
	s := t.size(min(n, to)) // The family is added to this size.
	pages := s.pages        // Of the group, when it is gone.
	if to > n {
		pages++
	}
	var at [8]found
	for p := range s.pages + 1 {
		f := &at[p]
		f.first, f.all = t.at(s.page(s.group, p)<<t.shift|s.offset), true
		for i := range f.heads {
			f.heads[i] = lockAt(f.bucket(i))
		}
	}
	type mover struct {
		slot, from uint64 // from is the head of its home.
		place      uint8
		home       uint8
	}
	movers := make([]mover, 0, 8*family*slots)
	var free []uint32 // Buckets of chains.
	for p := range s.pages + 1 {
		f := &at[p]
		for i := range f.heads {
			b := f.bucket(i)
			for j := 1; j < bucketWords; j++ {
				slot := b[j]
				if slot == 0 {
					continue
				}
				place := s.place(slot, pages, t.next(slot, s.level))
				if place == p {
					continue
				}
				distance := slot & slotDistance >> locBits
				home := i ^ int(distance)
				if distance != 0 {
					f.heads[home] -= headDisplaced
				}
				b[j] = 0
				movers = append(movers, mover{slot: slot &^ slotDistance, from: f.heads[home], place: uint8(place), home: uint8(home)})
			}
			if t.chains.on {
				free = t.chains.empty(&f.heads[i], free, func(slot uint64) {
					movers = append(movers, mover{slot: slot, place: uint8(s.place(slot, pages, t.next(slot, s.level))), home: uint8(i)})
				})
			}
		}
	}
	for _, m := range movers {
		f := &at[m.place]
		f.home = int(m.home)
		switch {
		case t.chains.on:
			if !f.put(m.slot) {
				t.chains.add(&f.heads[f.home], m.slot, func() (no uint32) {
					if last := len(free) - 1; last >= 0 {
						no = free[last]
						free = free[:last]
						return no
					}
					return t.chains.take(0)
				})
			}
		case f.put(m.slot):
			f.heads[f.home] = moved(f.heads[f.home], m.from, m.slot)
		default:
			drop(m.slot)
		}
	}
	t.chains.give(free...)
	t.n.Store(to)
	for p := range s.pages + 1 {
		at[p].unlock()
	}
}

// put puts an entry in an empty slot of its home, or of its family if that is locked. It says whether there was one.
func (f *found) put(slot uint64) bool {
	if i := empty(f.bucket(f.home)); i > 0 {
		f.bucket(f.home)[i] = slot
		return true
	}
	if !f.all || displaced(f.heads[f.home]) == mostDisplaced {
		return false
	}
	for distance := 1; distance < family; distance++ {
		b := f.bucket(f.home ^ distance)
		if i := empty(b); i > 0 {
			b[i] = slot | uint64(distance)<<locBits
			f.heads[f.home] += headDisplaced
			return true
		}
	}
	return false
}

// next is the next bit of the entry of a slot.
func (t *table) next(slot uint64, level uint) uint64 {
	if level < groupBits {
		return slot >> (tagShift + level) & 1
	}
	return t.groupOf(t.hash(slot&locMask)) >> level & 1
}
