// SPDX-License-Identifier: Apache-2.0

package workloads

import "sync"

// newPool is a sync.Pool of *T.
func newPool[T any]() *sync.Pool {
	return &sync.Pool{New: func() any { return new(T) }}
}

// slabChunk is the number of values in a chunk of a slab, unless more are asked for at once.
const slabChunk = 1024

// A slab is an allocator that programs write by hand if the number of values is not known: chunks
// on the Go heap that are cleared and used again. It checks nothing and serves one goroutine.
type slab[T any] struct {
	chunks [][]T // each as long as its allocated part
	next   int   // the chunk to allocate from
}

// one allocates a zeroed value.
func (s *slab[T]) one() *T {
	if s.next < len(s.chunks) {
		if c := &s.chunks[s.next]; len(*c) < cap(*c) {
			*c = (*c)[:len(*c)+1]
			return &(*c)[len(*c)-1]
		}
	}
	return &s.some(1)[0]
}

// some allocates n zeroed values in a row.
func (s *slab[T]) some(n int) []T {
	for ; s.next < len(s.chunks); s.next++ {
		c := &s.chunks[s.next]
		if used := len(*c); used+n <= cap(*c) {
			*c = (*c)[:used+n]
			return (*c)[used : used+n : used+n]
		}
	}
	s.chunks = append(s.chunks, make([]T, n, max(n, slabChunk)))
	return s.chunks[s.next][:n:n]
}

// clone allocates a copy of values.
func (s *slab[T]) clone(values []T) []T {
	if len(values) == 0 {
		return nil
	}
	c := s.some(len(values))
	copy(c, values)
	return c
}

// reset frees all values and clears the used part.
func (s *slab[T]) reset() {
	for i := range s.chunks {
		clear(s.chunks[i])
		s.chunks[i] = s.chunks[i][:0]
	}
	s.next = 0
}
