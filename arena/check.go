// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The functions here check what must be true of arenas and of the store at the ends of slow paths.
// They do nothing and cost nothing unless the build has [invariants.Enabled]. None reads the
// contents of chunks. A program that writes to freed values can damage later values, and nothing
// else (C3), so memory that ought to be zero proves nothing about arenas.

// checkCut is for the bytes [u, end) of c, which were just cut.
func (b *bump) checkCut(c *chunk, u, end uintptr) {
	if !invariants.Enabled {
		return
	}
	if c == &noChunk || c != b.chunk && c != b.large {
		invariants.Broken("%s was cut from a chunk that is not a current one", b.name())
	}
	sampled := b.in.debug != nil // Then the limit is where the next sampled value is due.
	if u > end || end != c.used || end > c.limit && !sampled || c.limit > c.size {
		invariants.Broken("[%d, %d) of %s was cut from a chunk of %d bytes with position %d and limit %d", u, end, b.name(), c.size, c.used, c.limit)
	}
	if b.flow == typedFlow && (u%b.desc.size != 0 || end%b.desc.size != 0) {
		invariants.Broken("[%d, %d) of %s is no whole values of %d bytes", u, end, b.name(), b.desc.size)
	}
	if b.flow == wordFlow && (u%8 != 0 || end%8 != 0) {
		invariants.Broken("[%d, %d) of words is no whole words", u, end)
	}
	b.checkChunk(c)
	if noChunk.used|noChunk.limit|noChunk.size != 0 {
		invariants.Broken("the chunk of bumps that have none has position %d, limit %d and size %d", noChunk.used, noChunk.limit, noChunk.size)
	}
}

// checkChunk is for a chunk that b has, in whatever list.
func (b *bump) checkChunk(c *chunk) {
	switch {
	case c.desc != b.desc || c.flow != b.flow:
		invariants.Broken("%s has a chunk of another type", b.name())
	case c.used > c.size || c.limit > c.size || !b.in.from.fixed && c.size > classBytes(c.class):
		invariants.Broken("%s has a chunk of class %d (%d bytes) with size %d, position %d and limit %d", b.name(), c.class, classBytes(c.class), c.size, c.used, c.limit)
	case c.owner.Load() != b.in.rec:
		invariants.Broken("%s of arena %d has a chunk of arena %d", b.name(), b.in.self.id, c.ownerID())
	case c.size != 0 && index.find(unsafex.PtrAddr(c.base)) != c:
		invariants.Broken("the index does not lead to a chunk of %s", b.name())
	}
}

// checkChunks is for an arena that was reset or rewound, or is about to be freed.
func (s *state) checkChunks() {
	if !invariants.Enabled || s.from.single || s.debug.apart() { // Values that are kept apart lie in few chunks.
		return
	}
	held := int64(0)
	s.each(func(b *bump) {
		if b.chunk != &noChunk {
			b.checkChunk(b.chunk)
			held += b.chunk.bytes()
		}
		for i, list := range []*chunk{b.full, b.spare, b.large, b.spareLarge} {
			for c := list; c != nil; c = c.next {
				b.checkChunk(c)
				held += c.bytes()
				if spare := i%2 == 1; spare && (c.used != 0 || c.limit != 0) || i == 0 && c.limit != 0 {
					invariants.Broken("list %d of %s has a chunk with position %d and limit %d", i, b.name(), c.used, c.limit)
				}
			}
		}
	})
	elsewhere := s.debug.bytes()
	if !s.from.outside {
		elsewhere += s.maps.bytes()
	}
	// A fixed arena counts requested bytes.
	if n := s.rec.held.Load(); !s.from.fixed && n != held+elsewhere {
		invariants.Broken("arena %d has %d bytes in chunks and %d elsewhere; counted were %d", s.self.id, held, elsewhere, n)
	}
}

// checkKept is for a chunk that enters or leaves the store's shelf k.
func (c *chunk) checkKept(k shelf) {
	if !invariants.Enabled {
		return
	}
	if (shelf{c.desc, c.flow, c.class}) != k || c.off || c.owner.Load() != nil || c.used != 0 || c.limit != 0 {
		invariants.Broken("a chunk of class %d on a shelf of class %d has owner %d, position %d and limit %d", c.class, k.class, c.ownerID(), c.used, c.limit)
	}
}

// checkShelves is for a shard, whose lock the caller holds.
func (sh *shard) checkShelves(s *chunkStore) {
	if !invariants.Enabled {
		return
	}
	kept := int64(0)
	for k, c := range sh.lists {
		if c == nil {
			invariants.Broken("the store has an empty shelf of class %d", k.class)
		}
		for ; c != nil; c = c.next {
			c.checkKept(k)
			kept += c.bytes()
		}
	}
	if n := sh.bytes.Load(); n != kept || s.kept.Load() < 0 {
		invariants.Broken("a shard of the store has chunks of %d bytes; counted were %d, and %d in all", kept, n, s.kept.Load())
	}
}

// name is what the values of a bump are called.
func (b *bump) name() string {
	switch b.flow {
	case wordFlow:
		return "words"
	case byteFlow:
		return "bytes"
	}
	return b.desc.typ.String()
}
