// SPDX-License-Identifier: Apache-2.0

package arenajson

import "github.com/freehold-go/freehold/arena"

// A stack has the elements of arrays or objects that are not complete: how many there are is known in the end.
type stack[T any] struct {
	items  []T
	used   int                 // Behind so many items there is nothing but zeros.
	cursor *arena.UnsafeCursor // From which memory for items is cut, once there was some.
}

const mostStack = 1 << 16 // Items kept for the next document.

// emptied is a stack for the next document. It has nothing of this one.
func (s *stack[T]) emptied() stack[T] {
	if cap(s.items) > mostStack {
		return stack[T]{}
	}
	clear(s.items[:max(s.used, len(s.items))])
	return stack[T]{items: s.items[:0]}
}
