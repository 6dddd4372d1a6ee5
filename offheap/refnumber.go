// SPDX-License-Identifier: Apache-2.0

package offheap

// RefBits is the number of bits in the number of a Ref ([Ref.Uint64]). The bits from RefBits on are
// 0, and so are the lowest ones up to the alignment of T: three of a T that is aligned to 8 bytes,
// as a T with an [AtomicRef] is on each processor. A program may keep a tag or a version there. It
// must take the tag off before [RefFromUint64], or keep the tagged Ref in an AtomicRef and take the
// tag off before [Ref.Ptr], which panics otherwise:
//
//	const mark = 1 // The lowest bit, of a T that is aligned to 2 bytes or more.
//	marked := offheap.RefFromUint64[node](r.Uint64() | mark)
//	r = offheap.RefFromUint64[node](marked.Uint64() &^ mark)
const RefBits = 56

// Uint64 is the number of r, 0 for the nil Ref. It is below 1<<[RefBits] and a multiple of T's
// alignment, unless the program has put a tag there.
func (r Ref[T]) Uint64() uint64 { return r.off }

// RefFromUint64 is the Ref of that number. It accepts any number: [Ref.Ptr] and [Ref.In] check, as
// of each Ref, that the number leads to memory of a T. For a T that holds a bool or is
// self-contained, a value of T must begin there. A number that [Ref.Uint64] did not return panics
// there or leads to other data without pointers and bools.
func RefFromUint64[T any](n uint64) Ref[T] { return Ref[T]{off: n} }
