// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A bump cuts values of one flow, and of one type if typed, for one arena. A bump that a Typed has
// never serves a second arena; others go on to the next arena of a Pool.
type bump struct {
	chunk *chunk // The current one; never nil.
	in    *state
	a     *Arena    // If a Typed has the bump: the arena that made the Typed.
	desc  *typeDesc // If typed.
	flow  flow
	grow  uint8 // Class of the next chunk.

	full  *chunk // Were current before, the last one first.
	large *chunk // Hold one block each, the last one first.

	spare      *chunk // Empty, kept by Reset or Rewind, the largest first.
	spareLarge *chunk // Likewise, of those that held one block each.

	sample *sampler // If values are sampled.

	// Without reuse: the bytes that a round is expected to take, and those of the round's chunks.
	expect, round uintptr
}

const (
	firstWords = 1 << 10 // Bytes of the first chunk of words and of bytes.
	firstTyped = 256     // Of the first typed chunk, or room for four values up to the next.
	firstMost  = 4 << 10
	maxChunk   = 1 << 20 // Of the largest that is not made for one block.
)

func (b *bump) init(s *state, f flow, d *typeDesc) {
	b.chunk, b.in, b.flow, b.desc = &noChunk, s, f, d
	b.grow = classOf(b.first())
}

// first is how many bytes the first chunk has at least.
func (b *bump) first() uintptr {
	if b.flow == typedFlow {
		return min(max(firstTyped, 4*b.desc.size+goHeader), firstMost)
	}
	return firstWords
}

// use makes c, in which no checkpoint has noted values, the current chunk.
func (b *bump) use(c *chunk) {
	b.chunk = c
	if c != &noChunk {
		c.floor = 0
	}
	if b.flow == byteFlow {
		b.in.self.text = &c.cursor
	}
}

// cut allocates n bytes at a multiple of align. They are zero if zero is set; otherwise the caller
// overwrites them all. It is the slow path of all values that are not of size 0.
func (b *bump) cut(n, align uintptr, zero bool) (unsafex.Ptr, error) {
	c := b.chunk
	u := (c.used + align - 1) &^ (align - 1)
	if u > c.size || n > c.size-u {
		var err error
		if c, err = b.more(n); err != nil {
			return nil, err
		}
		u = 0
	}
	b.claim(c, u, u+n, zero)
	b.checkCut(c, u, u+n)
	return unsafex.Add(c.base, u), nil
}

// claim moves the bump position of c to end and sees to the bytes from u on.
func (b *bump) claim(c *chunk, u, end uintptr, zero bool) {
	switch {
	case b.flow == wordFlow && zero:
		c.zeroed(end)
	case b.flow == wordFlow:
		c.limit = max(c.limit, end)
	case b.flow == byteFlow && zero && u < c.dirty:
		unsafex.ClearAt(unsafex.Add(c.base, u), min(end, c.dirty)-u)
	}
	c.used = end
}

// more is a chunk with room for n bytes: a new current one, or one for this block alone.
func (b *bump) more(n uintptr) (*chunk, error) {
	if n > b.most() {
		return b.moreLarge(n)
	}
	c := b.spare
	if c != nil && c.size >= n {
		b.spare = c.next
	} else {
		var err error
		if c, err = b.in.acquire(b, max(b.in.rec.modest(b.grow), b.classFor(n)), n); err != nil {
			return nil, err
		}
		b.round += c.size
		b.growNext()
	}
	b.retire()
	c.open()
	c.next = nil
	b.use(c)
	return c, nil
}

// classFor is the class of the smallest chunk with room for n bytes.
func (b *bump) classFor(n uintptr) uint8 { return classOf(n + b.in.from.lead(b.desc)) }

// most is the size of the largest block that gets no chunk of its own.
func (b *bump) most() uintptr {
	switch {
	case b.in.from.fixed: // There is one chunk for all.
		return maxBytes
	case b.in.noReuse || b.expect > 0:
		return b.plan()
	}
	return classBytes(b.grow) / 4
}

// retire closes the current chunk and leaves the bump without one.
func (b *bump) retire() {
	if c := b.chunk; c != &noChunk {
		c.close()
		c.next, b.full = b.full, c
		b.use(&noChunk)
	}
}

// shut makes the fast paths find the current chunk full.
func (b *bump) shut() {
	if c := b.chunk; c != &noChunk {
		c.limit = 0
	}
}

// moreLarge leaves the current chunk to smaller blocks.
func (b *bump) moreLarge(n uintptr) (*chunk, error) {
	at := &b.spareLarge
	for *at != nil && ((*at).size < n || (*at).size/2 > n) {
		at = &(*at).next
	}
	c := *at
	if c != nil {
		*at = c.next
	} else {
		var err error
		if c, err = b.in.acquire(b, b.classFor(n), n); err != nil {
			return nil, err
		}
		b.growNext()
	}
	c.open()
	c.next, b.large = b.large, c
	return c, nil
}

func (b *bump) growNext() {
	if classBytes(b.grow) < b.in.debug.maxChunk() {
		b.grow += 8
	}
}

// reopen makes the largest spare chunk the current one of a bump that has none, so that the fast paths
// find it. In a debug mode the bump stays without one: the mode may sample the first value.
func (b *bump) reopen() {
	if c := b.spare; c != nil && b.in.debug == nil {
		b.spare, c.next = c.next, nil
		c.open()
		b.use(c)
		b.enter()
	}
}

// enter makes the fast paths of a typed bump's type find the current chunk.
func (b *bump) enter() {
	if b.desc != nil && b.in.table != nil && b.chunk != &noChunk {
		b.in.enter(b.desc.key, &b.chunk.cursor)
	}
}

// putAside makes the current chunk a spare one if it is empty. Marks of checkpoints name no empty chunk.
func (b *bump) putAside() {
	c := b.chunk
	if c == &noChunk || c.used != 0 {
		return
	}
	c.close()
	b.use(&noChunk)
	b.keep(c, &b.spare)
}

// keep puts an empty chunk aside for later.
func (b *bump) keep(c *chunk, list **chunk) {
	at := list
	for *at != nil && (*at).class > c.class {
		at = &(*at).next
	}
	c.next, *at = *at, c
}
