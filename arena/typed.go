// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Typed makes values of one type in one arena. It has looked the type up once, so it is the
// fastest way. It is valid as long as the arena, for the arena's goroutine. [Of] makes one. A call
// of the zero Typed ends in Go's panic for a nil pointer.
type Typed[T any] struct {
	_ [0]*T // A Typed of another type does not convert to this one.
	b *bump
}

// heapBump is the bump of the nil arena.
var heapBump = bump{chunk: &noChunk}

// Of returns a's Typed for T.
func Of[T any](a *Arena) Typed[T] {
	d := describe[T]()
	if a == nil {
		return Typed[T]{b: &heapBump}
	}
	s := a.check("Of")
	if s.debug != nil {
		defer s.begin("Of").done()
	}
	s.from.admit("Of", d)
	if s.shared != nil || s.from.fixed || s.from.single {
		return Typed[T]{b: &bump{chunk: &noChunk, a: a}} // Every call takes the slow way.
	}
	b := s.bumpFor(d)
	b.a = a
	return Typed[T]{b: b}
}

// New is [New] in the arena.
func (t Typed[T]) New() *T {
	c, size := &t.b.chunk.cursor, unsafex.Size[T]()
	if size%8 == 0 {
		u := c.used
		if n := u + size; n <= c.limit && size != 0 {
			c.used = n
			return unsafex.As[T](unsafex.Add(c.base, u))
		}
		return newSlow[T](t.b.a)
	}
	return New[T](t.b.a)
}

// TryNew is [TryNew] in the arena.
func (t Typed[T]) TryNew() (*T, error) { return TryNew[T](t.b.a) }

// MakeSlice is [MakeSlice] in the arena.
func (t Typed[T]) MakeSlice(length, capacity int) []T { return MakeSlice[T](t.b.a, length, capacity) }

// TryMakeSlice is [TryMakeSlice] in the arena.
func (t Typed[T]) TryMakeSlice(length, capacity int) ([]T, error) {
	return TryMakeSlice[T](t.b.a, length, capacity)
}

// Append is [Append] in the arena.
func (t Typed[T]) Append(s []T, elems ...T) []T { return Append(t.b.a, s, elems...) }

// String names type and arena.
func (t Typed[T]) String() string {
	if t.b == nil || t.b.a == nil {
		return fmt.Sprintf("Typed[%s] of the Go heap", reflect.TypeFor[T]())
	}
	return fmt.Sprintf("Typed[%s] of arena %d", reflect.TypeFor[T](), t.b.a.id)
}
