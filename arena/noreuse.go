// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"sync/atomic"
)

// An arena without reuse leaves its memory to the collector. The life of such a chunk:
//
//   1. The arena takes it from the Go heap, or from proven, never from the store: a stale pointer
//     of another arena could lead into a chunk of the store.
//   2. The arena cuts values from it, as from any chunk.
//   3. Free, Reset, Rewind and Pool.Put unlink it. They write nothing into it, so that a stale
//     value stays what it was, and the collector frees the chunk with the last pointer into it.
//   4. A large chunk without pointers has a finalizer from then on. When the collector has proved
//     that no pointer is left, the finalizer puts the chunk into proven, with its pages warm and
//     not cleared. A chunk with pointers cannot come back that way: its finalizer would keep alive
//     what it points to, itself included.
//
// A chunk costs about a microsecond, so a bump makes its chunks as large as the last rounds were.

// abandonAll leaves all chunks to the collector, and those that are empty to the store.
func (s *state) abandonAll() {
	var empty *chunk
	s.each(func(b *bump) {
		b.look()
		b.putAside() // The round has no value in an empty chunk, so the store may have it.
		used := b.abandon(&b.full, nil) + b.abandon(&b.large, nil)
		if c := b.chunk; c != &noChunk {
			b.use(&noChunk)
			used += c.used
			s.abandonChunk(c)
		}
		b.learn(used)
		keepUpTo(&b.spareLarge, 0, &empty)
		keepUpTo(&b.spare, 0, &empty)
	})
	s.release(empty)
}

// abandon leaves the chunks of a list before end to the collector, and returns how many bytes of
// values they held, but for those that a block fills alone.
func (b *bump) abandon(list **chunk, end *chunk) (used uintptr) {
	for c := *list; c != end; c = *list {
		*list = c.next
		if c.used <= maxChunk/4 || list == &b.full {
			used += c.used
		}
		b.in.abandonChunk(c)
	}
	return used
}

// partChunks makes values with pointers that come after a checkpoint lie in chunks of their own, so
// that Rewind can leave these to the collector with all that they point to.
func (s *state) partChunks() {
	if !s.abandons(GiveBack) {
		return
	}
	for _, b := range s.typed {
		if b.desc.scan && b.chunk != &noChunk {
			b.look()
			b.leaveChunk()
			b.expect, b.round = 0, 0 // What follows has a size of its own.
		}
	}
}

// abandonSince leaves the values made since a mark to the collector. The chunk that was current
// then is not used again if a value was made behind the mark.
func (b *bump) abandonSince(m *mark) {
	b.look()
	var used uintptr
	c := m.chunk
	if b.chunk != c || b.full != m.full {
		b.leaveChunk()
		used = b.abandon(&b.full, m.end())
	} else if c.used > m.used {
		b.leaveChunk()
	}
	if c != &noChunk {
		used += c.used - m.used
		c.used = m.used
	}
	b.learn(used + b.abandon(&b.large, m.large))
	b.arm()
}

// learn notes how many bytes a round took, so that the next one starts with a chunk of that size. A
// large round counts at once, and is forgotten by a quarter in each smaller one.
func (b *bump) learn(used uintptr) {
	if used >= b.expect {
		b.expect = used
	} else {
		b.expect -= (b.expect - used + 3) / 4
	}
	b.round = 0
}

// lessons are what the last rounds of arenas took, in units of 8 bytes, by the place that made the
// arena and by the data, so that an arena that serves one round alone begins with a chunk of the
// right size. The upper half of an entry tells whose it is. An entry can lie at four places of the
// array; of more that want the same four, one is forgotten.
var lessons [1 << 10]atomic.Uint64

// lesson is the entry of b, or the one that it may take.
func (b *bump) lesson() (entry *atomic.Uint64, owner uint64) {
	h := uint64(b.in.self.made)*golden ^ uint64(b.flow)
	if b.desc != nil {
		h ^= uint64(b.desc.key)
	}
	h *= 0xBF58476D1CE4E5B9
	owner = h & (1<<32 - 1) << 32
	places := lessons[h>>56<<2:][:4]
	entry = &places[h>>54&3]
	for i := range places {
		switch v := places[i].Load(); {
		case v != 0 && v&^(1<<32-1) == owner:
			return &places[i], owner
		case v == 0:
			entry = &places[i]
		}
	}
	return entry, owner
}

// remember notes what b expects, for the next arena of the same place.
func (b *bump) remember() {
	if b.expect == 0 {
		return
	}
	entry, owner := b.lesson()
	if v := owner | min(uint64(b.expect/8), 1<<32-1); entry.Load() != v { // Or Ps would fight for it without need.
		entry.Store(v)
	}
}

// recall expects what b's predecessor did.
func (b *bump) recall() {
	entry, owner := b.lesson()
	if v := entry.Load(); v&^(1<<32-1) == owner {
		b.expect = uintptr(v&(1<<32-1)) * 8
	}
}

// plan sets the class of the next chunk to the bytes that the round is expected to need still, and
// returns the size of the largest block that is cut from such a chunk; a larger block gets a chunk
// of its own. A limit bounds what all plans of the arena take together: a round that differs from
// the last one must not be refused because of chunks that it does not fill. Beyond that bound
// chunks grow with the round, as those of arenas that reuse memory do.
func (b *bump) plan() (most uintptr) {
	if b.expect|b.round == 0 && b.full == nil {
		b.recall()
	}
	expect := b.expect + b.expect/16
	next, share := b.round/2, uintptr(4)
	switch {
	case b.round < expect:
		next, share = expect-b.round, 1
	case b.round < 2*expect:
		next = expect / 8
	}
	if room, ahead, limited := b.in.rec.room(); limited && next > min(ahead, room/8) {
		next, share = min(max(b.round/2, ahead), room/8), 4
	}
	next = min(max(next, b.first()), maxChunk)
	b.grow = classOf(next)
	return min(next/share, maxChunk/4)
}
