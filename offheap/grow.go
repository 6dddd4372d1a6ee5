// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math"
	"reflect"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Append is append for a slice that [MakeSlice] or Append returned, for a prefix of one, or for one
// of capacity 0. Like append it never writes behind cap(s). If the elements do not fit, Append
// copies s to a larger block and frees the block of s. This also holds if s is t[:k:k], a prefix
// that hides the rest of t: the program must not use any other slice of that block any more.
// Append([]T(nil), t...) makes a copy instead and leaves t alone. Append panics as [New] does; then
// s is untouched.
func Append[T any](s []T, elems ...T) []T {
	s, err := appendFrom(source{}, s, elems)
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
	s, err := growFrom(source{}, s, n)
	must(err)
	return s
}

// Realloc changes the length of s's block, which [FreeSlice] must accept, to n elements, in place
// or by moving it, and returns the result, whose capacity is n. The program must not use s any
// more. The first min(len(s), n) elements are those of s, the rest are zero. Realloc of a slice of
// capacity 0 is MakeSlice(n, n); Realloc to 0 frees the block. If Realloc panics, as [New] does or
// because n is negative, s is untouched. No limit refuses a length of at most len(s): if there is
// no memory for a smaller block, the elements stay where they are.
func Realloc[T any](s []T, n int) []T {
	s, err := TryRealloc(s, n)
	must(err)
	return s
}

// TryRealloc is Realloc with an error; s is untouched if there is one.
func TryRealloc[T any](s []T, n int) ([]T, error) { return reallocFrom(source{}, s, n) }

// This file changes the length and the capacity of slices: Append and Grow, which make room as Go's
// append does, and Realloc, which makes a block of exactly one length. All of them keep a block in
// the account of its Purpose.

// Append is [Append]. A slice of capacity 0 gets memory as MakeSlice of t does; any other slice
// stays in the account of its block. The new elements up to the capacity are zero.
func (t Typed[T]) Append(s []T, elems ...T) []T {
	s, err := appendFrom(t.source, s, elems)
	must(err)
	return s
}

func appendFrom[T any](o source, s, elems []T) ([]T, error) {
	l, d := o.own("Append"), describe[T]()
	n := len(s) + len(elems)
	if uint(n) <= uint(cap(s)) { // The sum is negative if it overflows.
		return append(s, elems...), nil
	}
	switch {
	case n < 0:
		return nil, tooMany(uintptr(n), d)
	case d.size == 0:
		return append(s, elems...), nil
	}
	return enlarge(o, "Append", l, s, n, elems)
}

// Grow is [Grow]. A slice of capacity 0 gets memory as MakeSlice of t does; any other slice stays
// in the account of its block. The new elements are zero.
func (t Typed[T]) Grow(s []T, n int) []T {
	s, err := growFrom(t.source, s, n)
	must(err)
	return s
}

func growFrom[T any](o source, s []T, n int) ([]T, error) {
	l, d := o.own("Grow"), describe[T]()
	d.check("Grow")
	switch {
	case n < 0:
		panic(fmt.Errorf("offheap: Grow of %s: negative number of elements %d", d.typ, n))
	case n <= cap(s)-len(s):
		return s, nil
	case n > math.MaxInt-len(s):
		return nil, tooMany(uintptr(n), d)
	case d.size == 0:
		return unsafex.Slice[T](zeroSizeAddr(), len(s), len(s)+n), nil
	}
	return enlarge(o, "Grow", l, s, len(s)+n, nil)
}

// enlarge makes the capacity of s at least n, which is more than it is, and appends elems.
func enlarge[T any](o source, op string, l *Local, s []T, n int, elems []T) ([]T, error) {
	d := describe[T]()
	d.check(op)
	if uintptr(n) > largestAlloc/d.size {
		return nil, tooMany(uintptr(n), d)
	}
	old, length := unsafex.SliceAddr(s), len(s)+len(elems)
	q := o.request(d, grown(uintptr(n), uintptr(cap(s)), d.size), l, false)
	if cap(s) > 0 {
		// Before anything is allocated: a slice that is not ours, or lies inside a block, panics
		// here. A block that holds more than s may have been cut to s to keep the rest: it never
		// grows in place. Nothing is cleared before elems is copied, which may be a part of the
		// block.
		std.checkMoved(op, old, d)
		room, k := std.roomOf(op, old, q.kind.typ)
		if whole := room/d.size <= uintptr(cap(s)); whole && old&(q.align-1) == 0 {
			room, _ = std.resize(op, old, uintptr(n)*d.size, uintptr(n)*d.size, q.kind.typ)
			if room != 0 {
				g := unsafex.Slice[T](old, length, int(room/d.size))
				copy(g[len(s):], elems)
				clearRest(g[:cap(g)], len(g))
				return g, nil
			}
		}
		q.kind = k // So the block stays in the account of its Purpose.
	}
	addr, err := std.allocate(q)
	if least := uintptr(n) * d.size; err != nil && q.n > least {
		q.n = least // Room to grow is no reason to fail.
		addr, err = std.allocate(q)
	}
	if err != nil {
		return nil, err
	}
	g := unsafex.Slice[T](addr, length, int(std.roomFor(addr, q)/d.size))
	allowCopy(s)
	copy(g[copy(g, s):], elems)
	clearRest(g[:cap(g)], len(g))
	if cap(s) > 0 {
		std.freeSlow(old, l, op)
	}
	return g, nil
}

// grown is how many elements a slice of capacity old that must hold n gets: twice as many as before
// while it is small, a quarter more later, as append does. If there is no memory for so many, or a
// limit is in the way, it gets n.
func grown(n, old, size uintptr) uintptr {
	const small = 64 << 10
	want := old * 2
	if old*size > small {
		want = old + old/4
	}
	if want > largestAlloc/size {
		want = n
	}
	return max(n, want)
}

// Realloc is [Realloc]. A slice of capacity 0 gets memory as MakeSlice of t does; any other slice
// stays in the account of its block. The new elements are zero.
func (t Typed[T]) Realloc(s []T, n int) []T {
	s, err := t.TryRealloc(s, n)
	must(err)
	return s
}

// TryRealloc is [TryRealloc], as Realloc is [Realloc].
func (t Typed[T]) TryRealloc(s []T, n int) ([]T, error) { return reallocFrom(t.source, s, n) }

func reallocFrom[T any](o source, s []T, n int) ([]T, error) {
	l, d := o.own("Realloc"), describe[T]()
	d.check("Realloc")
	switch {
	case n < 0:
		panic(fmt.Errorf("offheap: Realloc of %s: negative length %d", d.typ, n))
	case d.size == 0:
		return unsafex.Slice[T](zeroSizeAddr(), n, n), nil
	case uintptr(n) > largestAlloc/d.size:
		return nil, tooMany(uintptr(n), d)
	}
	return reallocate(&std, s, n, o.request(d, uintptr(n), l, true))
}

// reallocate is TryRealloc. q asks for a new block of n elements.
func reallocate[T any](h *heap, s []T, n int, q request) ([]T, error) {
	size, addr := unsafex.Size[T](), unsafex.SliceAddr(s)
	switch {
	case n == 0:
		if cap(s) > 0 {
			h.freeAs(addr, q.local, "Realloc", q.desc, false)
		}
		return unsafex.Slice[T](zeroSizeAddr(), 0, 0), nil
	case cap(s) == 0:
		addr, err := h.allocate(q)
		if err != nil {
			return nil, err
		}
		return unsafex.Slice[T](addr, n, n), nil
	}
	h.checkMoved("Realloc", addr, q.desc)
	from := uintptr(len(s)) * size // Bytes from here on are zeroed.
	var room uintptr
	var k *kind
	if addr&(q.align-1) != 0 {
		_, k = h.roomOf("Realloc", addr, q.kind.typ) // Panics before anything is allocated.
	} else if room, k = h.resize("Realloc", addr, from, q.n, q.kind.typ); room != 0 {
		return unsafex.Slice[T](addr, n, n), nil
	}
	// Most of a large block is fresh from the machine, and so zero without a write.
	q.zero = q.n >= sparseFrom || q.kind.typed()
	q.kind = k // In the account of its Purpose.
	if !k.typed() {
		q.align = max(q.align, 8) // As Alloc's blocks. A typed block ends where its guarded pages end.
	}
	moved, err := h.allocate(q)
	if err != nil && n <= len(s) {
		room, _ := h.roomOf("Realloc", addr, k.typ)
		if lo, hi := k.cleared(q.n, q.n, room); lo < hi { // If the kind wipes.
			h.clear(addr, lo, hi)
		}
		return unsafex.Slice[T](addr, n, n), nil
	}
	if err != nil {
		return nil, err
	}
	to := unsafex.Slice[T](moved, n, n)
	allowCopy(s)
	if copied := copy(to, s); !q.zero {
		clearRest(to, copied)
	}
	h.freeSlow(addr, q.local, "Realloc")
	return to, nil
}

// usable is the number of bytes in the block of the type at addr, its record and its bin. It panics
// as roomOf does.
func (h *heap) usable(op string, addr uintptr, typ reflect.Type) (have uintptr, sp *span, b *bin) {
	if sp = h.spanOf(addr); sp == nil {
		h.misuse(op, addr)
	}
	invariants.Window()
	b = h.binByID(sp.bin)
	if sp.size == 0 {
		h.lockLarge(op, sp, addr)
		have = sp.bytes()
		h.mu.Unlock()
	} else {
		have = uintptr(sp.size)
		if i, ok := sp.find(addr); !ok || h.isFree(sp, i) {
			h.misuse(op, addr)
		}
	}
	if b.kind.typ != typ {
		panic(fieldMisuse(op, addr, b.kind.typ))
	}
	return have, sp, b
}

// resize makes the block at addr hold n bytes where it is. Bytes from old on are zero afterwards.
// The result is what roomOf says of the block then, or 0 bytes if that is impossible or a waste.
func (h *heap) resize(op string, addr, old, n uintptr, typ reflect.Type) (room uintptr, k *kind) {
	if t := h.recorderOf(addr); t != nil {
		return t.resize(op, addr, old, n, typ)
	}
	have, sp, b := h.usable(op, addr, typ)
	k = b.kind.self()
	invariants.Window()
	if sp.size == 0 {
		if n <= sizeclass.Max {
			return 0, k
		}
		return h.resizeLarge(op, b, sp, addr, old, n), k
	}
	if n > have || n < have/2 {
		return 0, k
	}
	if lo, hi := k.cleared(old, n, have); lo < hi {
		unsafex.Clear(addr+lo, hi-lo)
	}
	return have, k
}

// clear clears the bytes from lo on and below hi of the block at addr, which was in use when the caller
// looked. If the program frees it meanwhile, zeros go into a block of the same kind of memory.
func (h *heap) clear(addr, lo, hi uintptr) {
	if t := h.recorderOf(addr); t != nil {
		t.clear(addr, lo, hi)
		return
	}
	wipe(addr+lo, hi-lo)
}

// roomFor is the number of bytes, at least, that the block at addr can hold, which allocate has
// made for q. It looks up nothing that a free of a stale slice may have changed.
func (h *heap) roomFor(addr uintptr, q request) uintptr {
	if h.serving() != nil || h.regionOf(addr) == nil {
		return q.n // It lies in no slab.
	}
	if class := classFor(q); class != largeClass {
		return sizeclass.Size(class)
	}
	return roundUp(q.n, granule)
}

// roomOf is the number of bytes that the block at addr can hold, and its kind. It panics if addr
// begins no block that the program may resize, or one that is not of the type, nil for plain
// memory: a slice of the first field of a value has the block's address, but more elements would
// lie over the other fields, and those may be bools.
func (h *heap) roomOf(op string, addr uintptr, typ reflect.Type) (room uintptr, k *kind) {
	if t := h.recorderOf(addr); t != nil {
		return t.roomOf(op, addr, typ)
	}
	have, _, b := h.usable(op, addr, typ)
	return have, b.kind.self()
}
