// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// New returns a zero T outside the Go heap; it belongs to the caller until [Delete]. T must not
// hold Go pointers: New panics with the path of the field if it does, unless T is
// [UnsafeSelfContained]. If there is no memory, it panics as [Alloc] does. Pointers to values of
// size zero need no Delete.
func New[T any]() *T {
	pin := percpu.Acquire()
	c := std.pslots(pin.ID())
	if _, ok := c.newest.typ.(*T); ok {
		s := unsafex.At[slot](c.newest.slot)
		if v := s.state; hasBlock(v) {
			p := unsafex.At[T](s.take(v))
			pin.Release()
			if unsafex.Size[T]() <= sizeclass.Max { // A large zero would be made on the Go heap.
				var zero T
				*p = zero
			}
			return p
		}
	}
	var addr uintptr
	if d, ok := known[T](); ok {
		addr = c.bins[d.bin&(fastBins-1)].pop()
	}
	pin.Release()
	if addr == 0 {
		addr = newAddr(describe[T]())
	}
	p := unsafex.At[T](addr)
	if unsafex.Size[T]() <= sizeclass.Max { // A large zero would be made on the Go heap.
		var zero T
		*p = zero
	}
	return p
}

// newAddr is New if the fast path finds no block.
//
//go:noinline
func newAddr(d *typeDesc) uintptr {
	if d.bin != nullBin {
		addr, err := std.allocSlow(std.binByID(d.bin), request{kind: d.kind, desc: d, n: d.size, align: d.align, zero: true}, d.key)
		must(err)
		return addr
	}
	addr, err := d.alloc("New", nil, nil, true, 0)
	must(err)
	return addr
}

// TryNew is New with an error for what the world may refuse.
func TryNew[T any]() (*T, error) { return tryNewFrom[T](origin{}) }

// Delete frees the memory of *p, which [New], [TryNew] or a [Typed] returned. It may be
// called from any goroutine. Delete(nil) does nothing. A pointer that [Free] would refuse panics
// likewise. For a pointer to the first element of a slice, call FreeSlice(unsafe.Slice(p, 1)); see
// [Free].
func Delete[T any](p *T) {
	if p == nil {
		return
	}
	addr := unsafex.Addr(p)
	pin := percpu.Acquire()
	c := std.pslots(pin.ID())
	s := c.hottest()
	// A pointer to a field of size zero may have a block's address, and yet must not free it.
	if unsafex.Size[T]() != 0 && s.push(addr) {
		if s.wipe {
			s.clear(addr)
		}
		pin.Release()
		return
	}
	// The class is a guess, right for plain types; nothing is done if it is wrong.
	done := unsafex.Size[T]()-1 < sizeclass.Max && c.push(sizeclass.Of(unsafex.Size[T]()), addr)
	pin.Release()
	if !done {
		deleteSlow(describe[T](), addr)
	}
}

//go:noinline
func deleteSlow(d *typeDesc, addr uintptr) {
	if d.size == 0 || d.typed && freeColder(d.bin, addr) {
		return
	}
	std.freeAs(addr, nil, "Delete", d, true)
}

// alloc makes room for one value, zero if asked for, at a multiple of 1<<shift. A caller that does
// not ask writes a zero value if the type needs it.
func (d *typeDesc) alloc(op string, l *Local, p *purposeState, zero bool, shift uint8) (uintptr, error) {
	d.check(op)
	if d.size == 0 {
		return zeroSizeAddr(), nil
	}
	if l == nil && shift == 0 && d.size <= sizeclass.Max {
		if addr := std.pop(d.kindOf(p), sizeclass.Of(d.size)); addr != 0 {
			if zero {
				unsafex.Clear(addr, d.size)
			}
			return addr, nil
		}
	}
	q := d.request(p, 1, l, zero)
	q.align = max(q.align, uintptr(1)<<shift)
	return std.allocate(q)
}

// kindOf is the kind of values under a purpose or, with nil, under none.
func (d *typeDesc) kindOf(p *purposeState) *kind {
	if p == nil {
		return d.kind
	}
	return p.kindFor(d)
}

// request is one for n values.
func (d *typeDesc) request(p *purposeState, n uintptr, l *Local, zero bool) request {
	return request{kind: d.kindOf(p), desc: d, n: n * d.size, align: d.align, zero: zero || d.typed, local: l}
}

// MakeSlice returns a slice of zero values of T outside the Go heap, as make([]T, length,
// capacity) does on it. It panics as [New] does, and as make does if length or capacity are
// negative or length exceeds capacity. A slice of no bytes needs no FreeSlice.
func MakeSlice[T any](length, capacity int) []T {
	s, err := TryMakeSlice[T](length, capacity)
	must(err)
	return s
}

// TryMakeSlice is MakeSlice with an error if memory is refused. A capacity whose bytes exceed the
// address space is such a refusal, too.
func TryMakeSlice[T any](length, capacity int) ([]T, error) {
	return makeSliceFrom[T](origin{}, length, capacity)
}

// FreeSlice is [Free] for a slice of T that MakeSlice, Append, Grow or Realloc returned, or a prefix
// of it.
func FreeSlice[T any](s []T) {
	d := describe[T]()
	n := uintptr(cap(s)) * d.size
	addr := unsafex.SliceAddr(s)
	if n == 0 {
		if d.size != 0 {
			std.checkConsumed("FreeSlice", addr)
		}
		return
	}
	if !d.typed && n <= sizeclass.Max && free(sizeclass.Of(n), addr) {
		return
	}
	std.freeAs(addr, nil, "FreeSlice", d, false)
}

// Append is append for a slice that [MakeSlice] or Append returned, for a prefix of one, or for one
// of capacity 0. Like append it never writes behind cap(s). If the elements do not fit, Append
// copies s to a larger block and frees the block of s. This also holds if s is t[:k:k], a prefix
// that hides the rest of t: the program must not use any other slice of that block any more.
// Append([]T(nil), t...) makes a copy instead and leaves t alone. Append panics as [New] does; then
// s is untouched.
func Append[T any](s []T, elems ...T) []T {
	s, err := appendFrom(origin{}, s, elems)
	must(err)
	return s
}

// Grow is slices.Grow for a slice that Append accepts: it makes room for n more elements, so that
// len(s)+n is at most the capacity of the result. It changes no length. If there is no room, it
// moves s as Append does, and the elements behind the length are zero. The capacity is all that the
// block has room for, and the program may use it: Grow([]T(nil), n) allocates at least n elements,
// up to an eighth more, without waste. Grow panics as [New] does, and if n is negative; then s is
// untouched.
func Grow[T any](s []T, n int) []T {
	s, err := growFrom(origin{}, s, n)
	must(err)
	return s
}

// Realloc changes the length of s's block, which [FreeSlice] must accept, to n elements, in place or
// by moving it, and returns the result, whose capacity is n. The program must not use s any more.
// The first min(len(s), n) elements are those of s, the rest are zero. Realloc of a slice of
// capacity 0 is MakeSlice(n, n); Realloc to 0 frees the block. If Realloc panics, as [New] does or
// because n is negative, s is untouched. No limit refuses a length of at most len(s): if there is no
// memory for a smaller block, the elements stay where they are.
func Realloc[T any](s []T, n int) []T {
	s, err := TryRealloc(s, n)
	must(err)
	return s
}

// TryRealloc is Realloc with an error; s is untouched if there is one.
func TryRealloc[T any](s []T, n int) ([]T, error) { return reallocFrom(origin{}, s, n) }
