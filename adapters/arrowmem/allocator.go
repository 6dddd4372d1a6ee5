// SPDX-License-Identifier: Apache-2.0

package arrowmem

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/freehold-go/freehold/offheap"
)

// alignment is what arrow's format recommends for buffers, and its kernels count on.
const alignment = 64

// Options configure [NewAllocator]. The zero value is a good choice.
type Options struct {
	// Purpose is the account of the buffers; nil means one called "arrow". Its limit bounds them.
	Purpose *offheap.Purpose
}

// An Allocator is a [memory.Allocator] on memory outside the Go heap. [NewAllocator] makes one. A
// zero Allocator panics when it is used, with an [*offheap.MisuseError].
type Allocator struct {
	purpose *offheap.Purpose
	blocks  offheap.Typed[byte] // Aligned, in the purpose's account.
}

var _ memory.Allocator = (*Allocator)(nil)

// NewAllocator makes an allocator. It needs no Close; its memory is freed buffer by buffer.
func NewAllocator(o Options) *Allocator {
	if o.Purpose == nil {
		o.Purpose = offheap.NewPurpose("arrow")
	}
	return &Allocator{purpose: o.Purpose, blocks: offheap.For[byte](o.Purpose).Aligned(alignment)}
}

// Allocate returns size zero bytes at an address that is a multiple of 64. It panics as
// [offheap.Alloc] does.
func (a *Allocator) Allocate(size int) []byte {
	a.check("Allocate", size)
	return a.blocks.MakeSlice(size, size)
}

// Reallocate changes the length of b, which Allocate or Reallocate returned, to size bytes, in
// place or by moving it, and returns the result; the program must not use b any more. The first
// min(len(b), size) bytes are b's. Of the others, bytes that were never part of b are zero, and the
// rest are as the program left them. If Reallocate panics, as Allocate does, b is untouched. No limit
// refuses a smaller size: without memory for a smaller block, the bytes stay where they are.
func (a *Allocator) Reallocate(size int, b []byte) []byte {
	a.check("Reallocate", size)
	// Arrow shrinks a buffer once it knows how much a builder wrote. A block that is half empty or
	// more goes back.
	if size <= cap(b) && size > cap(b)/2 {
		return b[:size]
	}
	to, err := a.blocks.TryMakeSlice(size, size)
	if err != nil && size <= cap(b) {
		return b[:size] // No limit refuses a smaller size.
	}
	if err != nil {
		panic(err)
	}
	copy(to, b)
	a.Free(b)
	return to
}

// Free frees a block that Allocate or Reallocate returned, given as the block or a prefix of it. It
// ignores empty slices.
func (a *Allocator) Free(b []byte) { offheap.Free(b) }

func (a *Allocator) check(op string, size int) {
	if a.purpose == nil {
		panic(&offheap.MisuseError{Op: "arrowmem.Allocator." + op, Kind: "use of an Allocator that NewAllocator did not make", Detail: "call NewAllocator and use the pointer that it returns"})
	}
	if size < 0 {
		panic(fmt.Errorf("arrowmem: %s: negative size %d", op, size))
	}
}
