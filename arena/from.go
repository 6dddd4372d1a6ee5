// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The functions here make values that have their contents from the beginning. In a shared arena the
// contents are in place before another goroutine can free the value, which [New] cannot promise.

// NewFrom returns a new T in a with the contents v, as new(v) does on the Go heap since Go 1.26. The
// copy is shallow: memory that v points to stays where it is (see [DeepClone]). NewFrom panics as
// [New] does.
func NewFrom[T any](a *Arena, v T) *T {
	if a == nil || a.mask == 0 {
		p, err := newFrom(a, v)
		must(err)
		return p
	}
	p := New[T](a)
	*p = v
	return p
}

//go:noinline
func newFrom[T any](a *Arena, v T) (p *T, err error) {
	const op = "NewFrom"
	if a != nil {
		in, lock := a.lock(op)
		defer lock.unlock()
		a = in
	}
	if p, err = newValue[T](op, a); err == nil {
		*p = v
	}
	return p, err
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
