// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The table finds entries. It is a hash table of buckets that grows by two buckets at a time (linear
// hashing; Litwin, 1980), so its size follows the number of entries without a stall, and its load
// stays the same.
//
// A bucket is a cache line of eight words. Word 0 is the head:
//
//	bit  0       the lock
//	bits 1..3    entries of this bucket that lie in its neighbour, because it was full
//	bits 4..9    uses since the counters were halved
//	bits 10..61  13 counters of 4 bits
//
// The others are slots, 0 if empty:
//
//	bits 0..44   location: number of the segment << shift | offset
//	bit  45      displaced: the entry belongs to the neighbour
//	bits 46..47  uses since the entry was written or moved, at most 3
//	bits 48..63  tag: the hash's highest 16 bits
//
// The neighbour of bucket i is i^1; both are split together. Whoever locks both locks the even one
// first. A bucket's lock guards its slots, its head, and value and deadline of the entries that
// belong to it.
//
// The counters are a sketch of how often keys were asked for (TinyLFU; Einziger, Friedman, Manes,
// 2017), also of keys that are not here. A key has two counters of its home bucket, so counting
// touches no other cache line. On the traces of benchmarks/cache it is as good as a sketch apart.
//
// A goroutine that looks for a bucket is pinned from its reads of n and pages to its attempt to take
// the lock. Once a page's buckets are all locked for good and the world was stopped (quiesce), no
// goroutine can reach it, and its memory is free.

const (
	bucketWords = 8
	bucketBytes = 8 * bucketWords
	slots       = bucketWords - 1

	headLocked    = 1
	headDisplaced = 2 // The unit of the number of displaced entries.
	mostDisplaced = 7
	headUse       = 1 << 4 // The unit of the number of uses.
	headUses      = 63 << 4
	agingUses     = 48
	counterAt     = 10
	counters      = 13
	halveMask     = 0x7777777777777 << counterAt // The counters' bits that stay when they are halved.

	locBits       = 45
	locMask       = 1<<locBits - 1
	slotDisplaced = 1 << locBits
	slotUse       = 1 << (locBits + 1)
	slotUses      = 3 * slotUse
	tagShift      = 48

	// tagBits is the number of bits of the tag that choose the bucket once the table has grown. So a
	// split reads no entries until the table is 256 times its first size.
	tagBits = 8
)

type bucket = [bucketWords]uint64

type table struct {
	seed  maphash.Seed
	first uint                      // log2 of the first number of buckets.
	shift uint                      // log2 of the buckets of a page.
	n     atomic.Uint64             // Buckets in use, an even number; 0 when the cache is closed.
	pages atomic.Pointer[[]*bucket] // The first bucket of each page.
	hash  func(loc uint64) uint64   // Hash of the key of the entry at loc.
}

// address is the bits of a hash by which buckets are chosen, the lowest first.
func (t *table) address(h uint64) uint64 {
	low := h & (1<<t.first - 1)
	grown := h >> tagShift & (1<<tagBits - 1) << t.first
	return low | grown | h&(1<<tagShift-1)>>t.first<<(t.first+tagBits)
}

// index is the bucket of an address among n.
func index(x, n uint64) uint64 {
	level := uint(bits.Len64(n) - 1)
	if i := x & (2<<level - 1); i < n {
		return i
	}
	return x & (1<<level - 1)
}

// at is bucket i, which exists. The caller is pinned, holds a lock of its page, or the engine's mu.
func (t *table) at(i uint64) *bucket {
	pages := *t.pages.Load()
	return unsafex.Elem(pages[i>>t.shift], uintptr(i&(1<<t.shift-1)))
}

// try tries to lock a bucket and returns its head.
func try(b *bucket) (head uint64, ok bool) {
	head = atomic.LoadUint64(&b[0])
	return head, head&headLocked == 0 && atomic.CompareAndSwapUint64(&b[0], head, head|headLocked)
}

// unlock unlocks a bucket, and gives it a head.
func unlock(b *bucket, head uint64) { atomic.StoreUint64(&b[0], head&^headLocked) }

// pause waits before another attempt. The holder of a lock may have been preempted.
func pause(attempt int) {
	if attempt > 8 {
		runtime.Gosched()
	}
}

// lock locks the home bucket of an address and returns its head. b is nil if the cache is closed.
func (t *table) lock(x uint64) (b *bucket, head uint64) {
	for attempt := 0; ; attempt++ {
		pin := percpu.Acquire()
		n := t.n.Load()
		if n == 0 {
			pin.Release()
			return nil, 0
		}
		i := index(x, n)
		b = t.at(i)
		head, ok := try(b)
		pin.Release()
		if !ok {
			pause(attempt)
			continue
		}
		if now := t.n.Load(); now == n || now != 0 && index(x, now) == i {
			return b, head
		}
		unlock(b, head)
	}
}

// A pair is a locked bucket, the home of an address, and its locked neighbour.
type pair struct {
	home, other         *bucket
	homeHead, otherHead uint64
}

// lockPair locks both. p.home is nil if the cache is closed.
func (t *table) lockPair(x uint64) (p pair) {
	for attempt := 0; ; attempt++ {
		pin := percpu.Acquire()
		n := t.n.Load()
		if n == 0 {
			pin.Release()
			return pair{}
		}
		i := index(x, n)
		p.home, p.other = t.at(i), t.at(i^1)
		var ok bool
		if i&1 == 0 {
			p.homeHead, ok = try(p.home)
		} else {
			p.otherHead, ok = try(p.other)
		}
		pin.Release()
		if !ok {
			pause(attempt)
			continue
		}
		// The lock of one keeps the page of both.
		if i&1 == 0 {
			p.otherHead = lockAt(p.other)
		} else {
			p.homeHead = lockAt(p.home)
		}
		if now := t.n.Load(); now == n || now != 0 && index(x, now) == i {
			return p
		}
		p.unlock()
	}
}

// lockAt locks a bucket whose page cannot go.
func lockAt(b *bucket) (head uint64) {
	for attempt := 0; ; attempt++ {
		if head, ok := try(b); ok {
			return head
		}
		pause(attempt)
	}
}

func (p *pair) unlock() {
	unlock(p.home, p.homeHead)
	unlock(p.other, p.otherHead)
}

// displaced is the number of entries of a bucket that lie in its neighbour.
func displaced(head uint64) uint64 { return head / headDisplaced % (mostDisplaced + 1) }

// counted is a head after one more use of a key with hash h.
func counted(head, h uint64) uint64 {
	i, j := counterShifts(h)
	a, b := head>>i&15, head>>j&15
	m := min(a, b)
	if m < 15 {
		if a == m {
			head += 1 << i
		}
		if b == m {
			head += 1 << j
		}
	}
	head += headUse
	if head&headUses < agingUses*headUse {
		return head
	}
	const all = (1<<(4*counters) - 1) << counterAt
	return head&^(headUses|all) | agingUses/2*headUse | head&all>>1&halveMask
}

// uses is the estimate of the uses of a key with hash h.
func uses(head, h uint64) uint64 {
	i, j := counterShifts(h)
	return min(head>>i&15, head>>j&15)
}

// counterShifts are the places of a key's two counters in the head.
func counterShifts(h uint64) (i, j uint64) {
	i = h >> 32 & 0xffff * counters >> 16
	j = h >> 16 & 0xffff * (counters - 1) >> 16
	if j >= i {
		j++
	}
	return counterAt + 4*i, counterAt + 4*j
}

// empty is the number of an empty slot of b, or -1.
func empty(b *bucket) int {
	for i := 1; i < bucketWords; i++ {
		if b[i] == 0 {
			return i
		}
	}
	return -1
}

// holds is the number of the slot of b with an entry at loc, or -1.
func holds(b *bucket, loc uint64) int {
	for i := 1; i < bucketWords; i++ {
		if b[i]&locMask == loc {
			return i
		}
	}
	return -1
}

// grow splits the next pair of buckets. The page of bucket n exists. The caller holds the engine's mu.
//
// A goroutine that locks one of the old buckets afterwards sees the new n, and looks again.
func (t *table) grow() {
	n := t.n.Load()
	level := uint(bits.Len64(n) - 1)
	p := n - 1<<level
	from := [2]*bucket{t.at(p), t.at(p + 1)}
	to := [4]*bucket{from[0], from[1], t.at(n), t.at(n + 1)}
	var heads [4]uint64
	var held [2 * slots]uint64 // The slots, with the displaced bit of an entry as the number of its home.
	count := 0
	for i, b := range from {
		head := lockAt(b) &^ (mostDisplaced * headDisplaced)
		heads[i], heads[i+2] = head, head
		for s := 1; s < bucketWords; s++ {
			if b[s] != 0 {
				held[count] = b[s] ^ uint64(i)<<locBits
				count++
			}
			b[s] = 0
		}
	}
	for _, b := range to[2:] {
		lockAt(b) // A goroutine that was late may hold it for a moment, if the table had it before.
		clear(b[1:])
	}
	for _, s := range held[:count] {
		home := s >> locBits & 1
		if t.bit(s, level) {
			home += 2
		}
		s &^= slotDisplaced
		if i := empty(to[home]); i > 0 {
			to[home][i] = s
			continue
		}
		// The entries that follow find room in their home or in its neighbour: a pair gets no more than
		// two buckets hold.
		heads[home] += headDisplaced
		to[home^1][empty(to[home^1])] = s | slotDisplaced
	}
	t.n.Store(n + 2)
	unlock(to[2], heads[2])
	unlock(to[3], heads[3])
	unlock(to[0], heads[0])
	unlock(to[1], heads[1])
}

// shrink merges the last pair of buckets into the pair that it was split from, and calls drop for each
// entry that finds no room there. The caller holds the engine's mu.
func (t *table) shrink(drop func(loc uint64)) {
	n := t.n.Load() - 2
	p := n - 1<<(bits.Len64(n)-1)
	to := [2]*bucket{t.at(p), t.at(p + 1)}
	from := [2]*bucket{t.at(n), t.at(n + 1)}
	heads := [2]uint64{lockAt(to[0]), lockAt(to[1])}
	lockAt(from[0])
	lockAt(from[1])
	t.n.Store(n)
	for i, b := range from {
		for s := 1; s < bucketWords; s++ {
			slot := b[s]
			b[s] = 0
			if slot == 0 {
				continue
			}
			home := uint64(i) ^ slot>>locBits&1
			slot &^= slotDisplaced
			if at := empty(to[home]); at > 0 {
				to[home][at] = slot
			} else if at := empty(to[home^1]); at > 0 && displaced(heads[home]) < mostDisplaced {
				to[home^1][at] = slot | slotDisplaced
				heads[home] += headDisplaced
			} else {
				drop(slot & locMask)
			}
		}
		unlock(b, 0)
	}
	unlock(to[0], heads[0])
	unlock(to[1], heads[1])
}

// bit is bit `level` of the address of the entry of a slot.
func (t *table) bit(slot uint64, level uint) bool {
	if level < t.first+tagBits {
		return slot>>(tagShift+level-t.first)&1 != 0
	}
	return t.address(t.hash(slot&locMask))>>level&1 != 0
}

// find is the number of the slot of b whose entry has the key, or -1. of is slotDisplaced for the
// entries of the neighbour, 0 for those of b.
func (e *engine) find(b *bucket, h, of uint64, key []byte) int {
	tag := h >> tagShift
	for i := 1; i < bucketWords; i++ {
		if s := b[i]; s>>tagShift == tag && s&slotDisplaced == of && s != 0 && bytes.Equal(keyOf(e.entry(s)), key) {
			return i
		}
	}
	return -1
}
