// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"slices"

	"github.com/freehold-go/freehold/internal/unsafex"
)

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
