// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Append is append in an arena. s may lie in a, in another arena or on the Go heap. If its capacity
// suffices, s stays there. If its capacity ends at the position where a allocates next, s grows in
// place. Otherwise Append copies s to a, and the old elements stay unchanged until a is reset or
// freed. Appending step by step to the most recent slice copies nothing. Append panics as [New]
// does.
func Append[T any](a *Arena, s []T, elems ...T) []T {
	if n := len(s); len(elems) <= cap(s)-n && (a == nil || a.direct()) {
		s = s[:n+len(elems)]
		if len(elems) == 1 { // A copy of pointers is a call of the runtime's.
			s[n] = elems[0]
		} else {
			copy(s[n:], elems)
		}
		return s
	}
	s, err := appendTo("Append", a, s, elems)
	must(err)
	return s
}

//go:noinline
func appendTo[T any](op string, a *Arena, s, elems []T) ([]T, error) {
	if a != nil {
		in, lock := a.lock(op)
		defer lock.unlock()
		a = in
	}
	if len(elems) <= cap(s)-len(s) {
		return append(s, elems...), nil
	}
	d := describe[T]()
	n := len(s) + len(elems)
	if uintptr(len(elems)) > d.most || uintptr(n) > d.most {
		return s, outOfMemory("%s: a slice of %d and %d more values of %s (%d bytes each)", op, len(s), len(elems), d.typ, d.size)
	}
	if a == nil {
		return append(s, elems...), nil
	}
	g, err := reserve(op, a, d, s, n)
	if err != nil {
		return s, err
	}
	g = g[:n]
	copy(g[len(s):], elems)
	if d.flow != typedFlow { // Behind the values of a type its chunk is zero anyway.
		clear(g[n:cap(g)])
	}
	return g, nil
}

// reserve is s with room for n elements in all, more than it has: s itself, longer, or a copy. What
// lies behind its length may be anything that is no pointer and no bool.
func reserve[T any](op string, a *Arena, d *typeDesc, s []T, n int) ([]T, error) {
	want := grown(uintptr(n), uintptr(cap(s)), d.size)
	if b := a.growing(op, d); b != nil {
		old := unsafex.DataOf(s)
		if more := b.extend(unsafex.PtrAddr(old), uintptr(cap(s))*d.size, uintptr(n)*d.size, want*d.size, d.size, false); more != 0 {
			return unsafex.SliceOf[T](old, len(s), int(more/d.size)), nil
		}
	}
	p, err := a.alloc(op, d, int(want), false)
	if err != nil {
		return nil, err
	}
	var g []T
	if p == nil {
		g = make([]T, len(s), want)
	} else {
		g = unsafex.SliceOf[T](p, len(s), int(want))
	}
	copy(g, s)
	return g, nil
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
	b.claim(c, u, start+want, zero)
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
