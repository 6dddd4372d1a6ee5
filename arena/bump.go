// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"strings"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// apartMost bounds the chunks of values that are kept apart: memory that a Rewind frees in them is
// not used again.
const apartMost = 4 << 10

// maxChunk is up to what size the chunks of a bump grow.
func (s *debugState) maxChunk() uintptr {
	if s.apart() {
		return apartMost
	}
	return maxChunk
}

// bytesFor is the size of n values, or an error.
func (d *typeDesc) bytesFor(n int) (uintptr, error) {
	if uintptr(n) > d.most {
		name := d.typ.String()
		if strings.HasPrefix(name, "arena.mapSlot[") {
			name = "entries of a Map"
		} else {
			name = "values of " + name
		}
		return 0, outOfMemory("%d %s (%d bytes each)", n, name, d.size)
	}
	return uintptr(n) * d.size, nil
}

// bumpFor is the bump that values of a type are cut from.
func (s *state) bumpFor(d *typeDesc) *bump {
	switch {
	case d.flow == wordFlow || s.from.fixed:
		return s.words
	case d.flow == byteFlow:
		return s.bytes
	case s.byDesc != nil:
		if b := s.byDesc[d]; b != nil {
			return b
		}
	default:
		for _, b := range s.typed {
			if b.desc == d {
				return b
			}
		}
	}
	return s.addBump(d)
}

// manyTypes is when a list of bumps is no longer searched from end to end.
const manyTypes = 24

func (s *state) addBump(d *typeDesc) *bump {
	b := new(bump)
	b.init(s, typedFlow, d)
	s.typed = append(s.typed, b)
	if s.byDesc == nil && len(s.typed) >= manyTypes {
		s.byDesc = make(map[*typeDesc]*bump, 2*len(s.typed))
		for _, b := range s.typed {
			s.byDesc[b.desc] = b
		}
	}
	if s.byDesc != nil {
		s.byDesc[d] = b
	}
	return b
}

// cut is memory of size bytes for values of a type from a chunk, which the fast path then finds, unless
// all calls of the arena take the slow path.
func (s *state) cut(d *typeDesc, size uintptr, zero bool) (unsafex.Ptr, error) {
	b, align := s.bumpFor(d), d.align
	if b.flow == wordFlow { // In a fixed arena bytes lie among words.
		size, align = (size+7)&^7, 8
	}
	p, err := b.cut(size, align, zero)
	if err == nil && b.flow == d.flow {
		s.cache(d, &b.chunk.cursor)
	}
	return p, err
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
	b.advance(c, u, u+n, zero)
	b.checkCut(c, u, u+n)
	return unsafex.Add(c.base, u), nil
}

// advance moves the bump position of c to end and sees to the bytes from u on.
func (b *bump) advance(c *chunk, u, end uintptr, zero bool) {
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
	b.leaveChunk()
	c.open()
	c.next = nil
	b.use(c)
	return c, nil
}

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

// growing is the bump in whose chunk a slice of the type could grow, or nil.
func (s *state) growing(op string, d *typeDesc) *bump {
	if s.from.single || s.debug.apart() || d.size == 0 {
		return nil
	}
	s.from.admit(op, d)
	return s.bumpFor(d)
}

// grown is how many elements a slice of capacity old that must hold n gets: twice as many as before
// while it is small, a quarter more later, as append does.
func grown(n, old, size uintptr) uintptr {
	if size == 0 { // Twice as many may be more than an int.
		return n
	}
	const small = 64 << 10
	want := old * 2
	if old*size > small {
		want = old + old/4
	}
	if want > maxBytes/size {
		want = n
	}
	want = max(n, want)
	if size < 8 && 8%size == 0 {
		want = (want + 8/size - 1) &^ (8/size - 1) // Whole words.
	}
	return want
}

// extend makes the block [addr, addr+old) end further behind, at best with want bytes and at least
// with need, all multiples of size, if it ends at the bump position. It returns the bytes, or 0 if
// it cannot. The new elements are zero if zero is set; otherwise the caller overwrites them.
func (b *bump) extend(addr, old, need, want, size uintptr, zero bool) uintptr {
	c := b.chunk
	base := unsafex.PtrAddr(c.base)
	// The second condition keeps out a foreign block that ends where the chunk begins.
	if addr+old != base+c.used || addr < base || old == 0 {
		return 0
	}
	start := addr - base
	if b.flow == wordFlow { // The next value begins at a whole word, wherever in one this slice does.
		want = (start+want+7)&^7 - start
	}
	if room := c.size - start; want > room {
		want = room
	}
	want -= want % size
	if want < need || b.flow == wordFlow && (start+want)%8 != 0 {
		return 0
	}
	u := c.used
	b.advance(c, u, start+want, zero)
	b.checkCut(c, u, start+want)
	return want
}

// lengthen is s with room for n more bytes, in place or copied, if the current chunk has that without the
// slow way, or nil. No slice but s may lead to the bytes behind the length of s, which hold anything.
func (c *cursor) lengthen(s []byte, n int) []byte {
	at, old := unsafex.DataOf(s), uintptr(cap(s))
	if c == nil || uint(n) > smallSlice || old > smallSlice {
		return nil
	}
	want := max(uintptr(len(s)+n), 2*old, 16)
	if end := unsafex.PtrAddr(at) + old - unsafex.PtrAddr(c.base); old != 0 && end == c.used && old <= end {
		if c.take(want-old) == nil {
			return nil
		}
		return unsafex.SliceOf[byte](at, len(s), int(want))
	}
	p := c.take(want)
	if p == nil {
		return nil
	}
	g := unsafex.SliceOf[byte](p, len(s), int(want))
	copy(g, s)
	return g
}
