// SPDX-License-Identifier: Apache-2.0

package offheap

import "sync/atomic"

// An AtomicRef is a Ref that several goroutines read and change at once: a link of a lock-free
// list, skiplist or tree. The zero AtomicRef is nil. It takes 8 bytes, aligned to 8 bytes on each
// processor, also inside of off-heap values. An AtomicRef must not be copied after its first use; go vet reports copies.
//
// As with atomic.Pointer, a Store that a Load observes happens before the Load. But nothing keeps
// the value alive that a Ref leads to: the program must free it only when no goroutine can use the
// Ref any more. After a free, a new value may get the old Ref, and CompareAndSwap does not see the
// difference. A version in the Ref's free bits makes a difference; see [RefBits].
type AtomicRef[T any] struct {
	_   [0]*T // As in a Ref.
	off atomic.Uint64
}

// Load returns the Ref.
func (a *AtomicRef[T]) Load() Ref[T] { return Ref[T]{off: a.off.Load()} }

// Store replaces the Ref by r.
func (a *AtomicRef[T]) Store(r Ref[T]) { a.off.Store(r.off) }

// Swap replaces the Ref by r and returns the old one.
func (a *AtomicRef[T]) Swap(r Ref[T]) (old Ref[T]) { return Ref[T]{off: a.off.Swap(r.off)} }

// CompareAndSwap replaces the Ref by r if it is old, and reports whether it has done so.
func (a *AtomicRef[T]) CompareAndSwap(old, r Ref[T]) (swapped bool) {
	return a.off.CompareAndSwap(old.off, r.off)
}
