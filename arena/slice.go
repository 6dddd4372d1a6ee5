// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"iter"
	"slices"

	"github.com/freehold-go/freehold/internal/typeinfo"
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

// Grow returns s with room for n more elements, as [slices.Grow] does. s may lie in a, in another
// arena or on the Go heap. If its capacity suffices, s is returned unchanged. If its capacity ends
// at the position where a allocates next, s grows in place. Otherwise Grow copies s to a, and the
// old elements stay unchanged until a is reset or freed. The new capacity may exceed what n demands,
// so that growing step by step is cheap. The elements that s did not have room for are zero.
//
// Grow panics if n is negative, and as [New] does.
func Grow[T any](a *Arena, s []T, n int) []T {
	s, err := growSlice(a, s, n)
	must(err)
	return s
}

func growSlice[T any](a *Arena, s []T, n int) ([]T, error) {
	const op = "Grow"
	if n < 0 {
		panic(fmt.Errorf("arena: %s: negative number of elements %d", op, n))
	}
	if a != nil {
		in, lock := a.lock(op)
		defer lock.unlock()
		a = in
	}
	if n <= cap(s)-len(s) {
		return s, nil
	}
	d := describe[T]()
	if uintptr(n) > d.most || uintptr(len(s)+n) > d.most {
		return s, outOfMemory("%s: a slice of %d and %d more values of %s (%d bytes each)", op, len(s), n, d.typ, d.size)
	}
	if a == nil {
		return slices.Grow(s, n), nil
	}
	g, err := reserve(op, a, d, s, len(s)+n)
	if err != nil {
		return s, err
	}
	if d.flow != typedFlow { // Behind the values of a type its chunk is zero anyway.
		from := cap(s)
		if unsafex.DataOf(g) != unsafex.DataOf(s) {
			from = len(s)
		}
		clear(g[from:cap(g)])
	}
	return g, nil
}

// Collect makes a slice in a of the values of seq, as [slices.Collect] does on the Go heap. It is nil
// if there are none. seq may make values in a; then the slice is copied when it grows, as [Append]
// says. In a shared arena the values are gathered on the Go heap first, so that no other goroutine
// frees the slice while seq runs. Collect panics if seq frees, resets or rewinds the memory of the
// slice, and as [New] does.
func Collect[T any](a *Arena, seq iter.Seq[T]) []T {
	s, err := collect(a, seq)
	must(err)
	return s
}

func collect[T any](a *Arena, seq iter.Seq[T]) (s []T, err error) {
	const op = "Collect"
	if seq == nil {
		panic(fmt.Errorf("arena: %s of a nil sequence", op))
	}
	if a == nil {
		return slices.Collect(seq), nil
	}
	if a.check(op).shared != nil {
		return sliceFrom(op, a, slices.Collect(seq))
	}
	life := a.rec             // Of the arena that s lies in. seq may write another over a.
	seen := life.round.Load() // At the last look.
	grown := seen             // When s got its memory.
	look := func() {
		if a.rec == life && life.round.Load() == seen {
			return
		}
		a.check(op)
		var how string
		if how, seen = life.since(grown); how != "" && s != nil {
			panic(misuse(op, useAfterReset, "on %s, which was %s while the sequence ran, so that the elements before are gone; it was made by %s: free no memory of an arena in a sequence that is collected there", a.name(), how, a.place()))
		}
	}
	for v := range seq {
		look()
		if room := cap(s); len(s) < room {
			s = append(s, v)
		} else if s, err = appendTo(op, a, s, []T{v}); err != nil {
			return nil, err
		} else if cap(s) != room {
			grown = life.round.Load()
			seen = grown
		}
	}
	look()
	return s, nil
}

// SliceFrom copies s to a. The result's capacity is its length, and it is nil if s is. The copy is
// shallow: memory that the elements point to stays where it is. SliceFrom panics as [New] does. For
// strings and bytes see [String] and [Bytes].
func SliceFrom[T any](a *Arena, s []T) []T {
	// The conditions of MakeSlice.
	if size := unsafex.Size[T](); a != nil && size != 0 && size%8 == 0 && uint(len(s)-1) < smallSlice/(uint(size)|1) {
		if p := a.cursorOf(typeinfo.Key[T]()).take(uintptr(len(s)) * size); p != nil {
			c := unsafex.SliceOf[T](p, len(s), len(s))
			copy(c, s)
			return c
		}
	}
	c, err := sliceFrom("SliceFrom", a, s)
	must(err)
	return c
}

//go:noinline
func sliceFrom[T any](op string, a *Arena, s []T) ([]T, error) {
	if len(s) == 0 {
		c, err := makeSlice[T](op, a, 0, 0) // Checks the arena and the type.
		if s == nil {
			c = nil
		}
		return c, err
	}
	c, err := appendTo(op, a, nil, s)
	if err != nil {
		return nil, err
	}
	return c[:len(s):len(s)], nil
}
