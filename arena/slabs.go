// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"unsafe"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// UnsafeSlabs allocate the values of one message on the Go heap, for a decoder without an arena: many
// values of a type share one object, a slab, which belongs to this message alone. Nothing is freed;
// the collector takes a slab when no pointer leads into it any more, so a value keeps its slab.
//
// The life of UnsafeSlabs:
//
//  1. The decoder makes them once, as a variable, and uses them for message after message.
//  2. New, MakeSlice, Grow and Bytes cut values from slabs. The first slab of a type is as large as
//     what the last two messages both needed of the type, and each further one as large as what the
//     message needed so far. If the decoder says with Left how much of the input is left, a slab is no
//     larger than what that much needed before: in the last two messages, or in this one.
//  3. End ends the message. It forgets the slabs, so that no message keeps memory of another alive,
//     and notes how much the message needed.
//
// The zero value is ready to use. UnsafeSlabs serve one goroutine at a time and must not be copied
// after the first use.
type UnsafeSlabs struct {
	_     noCopy
	table []slabEntry // Of the types, by hash; at most half full.
	list  []*slab     // In the order of their making.
	plain slab        // Of all types without pointers.
	left  int         // Bytes of the input and one, or 0.
}

type slabEntry struct {
	t *UnsafeType
	s *slab
}

// A slab is the slab that values of one type are cut from, and what is known of the type's need.
type slab struct {
	cursor             // Of the present slab. Without pointers, used is a multiple of 8.
	t      *UnsafeType // Nil: bytes without pointers.
	size   uintptr     // Of a value; 1 for bytes.
	taken  uintptr     // Bytes of the message so far, in earlier slabs.
	first  int         // What was left of the input at the first value of the message.
	last   [2]need     // Of the last two messages.
}

// A need is what values of a type took in a part of the input.
type need struct {
	bytes uintptr
	left  int // Bytes of that part and one, or 0 if it is not known.
}

// of is what another part of the input needs if it is like this one, but no more than twice as much: a
// long message may be of another kind than a short one.
func (n need) of(left int) uintptr {
	if left == 0 || n.left == 0 {
		return n.bytes
	}
	return uintptr(float64(n.bytes) * min(float64(left)/float64(n.left), 2))
}

// mostSlab is the largest slab: objects above 32 KiB cost a lock each, and round up to pages.
const mostSlab = 32 << 10

// New returns a zero value of t, as [Arena.UnsafeNew] does.
func (s *UnsafeSlabs) New(t *UnsafeType) unsafe.Pointer { return s.of(t).cut(t, t.size, s.left) }

// Left says how many bytes of the message's input have not been decoded yet, at most: the slabs that
// follow are made for as many. Without it, or at 0, the slabs are made for messages like the last two.
func (s *UnsafeSlabs) Left(bytes int) { s.left = bytes + 1 }

// Cursor returns the cursor for values of t, which stays the same from message to message. It has no
// room if the slab is full, and then New and MakeSlice make the next one.
func (s *UnsafeSlabs) Cursor(t *UnsafeType) *UnsafeCursor {
	if t.size == 0 || !t.desc.scan && t.size%8 != 0 {
		return &noChunk.cursor
	}
	return &s.of(t).cursor
}

// MakeSlice returns n zero values of t in a row, as [Arena.UnsafeMakeSlice] does.
func (s *UnsafeSlabs) MakeSlice(t *UnsafeType, n int) unsafe.Pointer {
	if n < 0 {
		panic(fmt.Errorf("arena: MakeSlice of %s: negative length %d", t, n))
	}
	if uintptr(n) > t.desc.most {
		return t.onHeap(n) // It ends the process or panics, as make does.
	}
	return s.of(t).cut(t, uintptr(n)*t.size, s.left)
}

// Bytes returns n bytes, as [Arena.UnsafeBytes] does.
func (s *UnsafeSlabs) Bytes(n int) []byte {
	if n < 0 {
		panic(fmt.Errorf("arena: Bytes: negative number of bytes %d", n))
	}
	if uintptr(n) > mostSlab/4 {
		return make([]byte, n)
	}
	return unsafex.SliceOf[byte](s.plain.cut(slabBytes, uintptr(n), s.left), n, n)
}

// Grow makes room for want values of t, as [Arena.UnsafeGrow] does.
func (s *UnsafeSlabs) Grow(t *UnsafeType, p unsafe.Pointer, length, capacity, want int) (unsafe.Pointer, int) {
	if length < 0 || length > capacity {
		panic(fmt.Errorf("arena: Grow of %s: length %d out of range [0, capacity %d]", t, length, capacity))
	}
	if want <= capacity {
		return p, capacity
	}
	room := int(grown(uintptr(want), uintptr(capacity), t.size))
	of := s.of(t)
	if of.isLast(p, uintptr(capacity)*t.size) {
		at := unsafex.PtrAddr(p) - unsafex.PtrAddr(of.base)
		if most := (of.limit - at) / t.size; int(most) >= want {
			room = min(room, int(most))
			of.used = at + of.whole(uintptr(room)*t.size)
			return p, room
		}
	}
	g := s.MakeSlice(t, room)
	t.copyValues(g, p, length)
	return g, room
}

// Trim gives the last values of a slice back, as [Arena.UnsafeTrim] does, and returns how many are
// left.
func (s *UnsafeSlabs) Trim(t *UnsafeType, p unsafe.Pointer, length, capacity int) int {
	if length < 0 || length > capacity {
		panic(fmt.Errorf("arena: Trim of %s: length %d out of range [0, capacity %d]", t, length, capacity))
	}
	if of := s.of(t); length < capacity && of.isLast(p, uintptr(capacity)*t.size) {
		of.used -= of.whole(uintptr(capacity)*t.size) - of.whole(uintptr(length)*t.size)
		return length
	}
	return capacity
}

// End ends the message: the next values lie in other slabs. The values of the message stay valid.
func (s *UnsafeSlabs) End() {
	for _, of := range s.list {
		of.end()
	}
	s.plain.end()
	s.left = 0
}

// slabBytes is the type of bytes, in slabs.
var slabBytes = &UnsafeType{size: 1}

// of is the slab for values of t.
func (s *UnsafeSlabs) of(t *UnsafeType) *slab {
	if !t.desc.scan {
		return &s.plain
	}
	if len(s.table) != 0 {
		mask := uint(len(s.table) - 1)
		for i := t.hash(); ; i++ {
			switch e := &s.table[i&mask]; e.t {
			case t:
				return e.s
			case nil:
				return s.add(t)
			}
		}
	}
	return s.add(t)
}

// hash is a hash of the type.
func (t *UnsafeType) hash() uint { return uint(uint32(t.desc.key>>5) * 0x9E3779B1 >> 16) }

// add makes the slab for values of t.
//
//go:noinline
func (s *UnsafeSlabs) add(t *UnsafeType) *slab {
	of := &slab{t: t, size: t.size}
	s.list = append(s.list, of)
	if 2*len(s.list) > len(s.table) {
		s.table = make([]slabEntry, max(16, 2*len(s.table)))
		for _, of := range s.list[:len(s.list)-1] {
			s.enter(of)
		}
	}
	s.enter(of)
	return of
}

// enter puts a slab in the table.
func (s *UnsafeSlabs) enter(of *slab) {
	mask := uint(len(s.table) - 1)
	i := of.t.hash()
	for s.table[i&mask].t != nil {
		i++
	}
	s.table[i&mask] = slabEntry{of.t, of}
}

// whole is the bytes that a block of n bytes takes: words, if it is without pointers.
func (of *slab) whole(n uintptr) uintptr {
	if of.t == nil {
		return (n + 7) &^ 7
	}
	return n
}

// cut is n bytes of values of t.
func (of *slab) cut(t *UnsafeType, n uintptr, left int) unsafe.Pointer {
	n = of.whole(n)
	if n != 0 {
		if p := of.take(n); p != nil {
			return p
		}
	}
	return of.cutSlow(t, n, left)
}

//go:noinline
func (of *slab) cutSlow(t *UnsafeType, n uintptr, left int) unsafe.Pointer {
	if n == 0 {
		return unsafex.PtrOf(new(struct{}))
	}
	if n > mostSlab/4 { // A slab of its own, and the present one goes on.
		return t.onHeap(int(n / t.size))
	}
	of.taken += of.used
	want := max(n, min(of.want(left), mostSlab))
	if of.t == nil {
		of.limit = max(want+7, 64) &^ 7
		of.base = unsafex.DataOf(make([]uint64, of.limit/8))
	} else {
		count := max(int(min((want+t.size-1)/t.size, (mostSlab-goHeader)/t.size)), int(n/t.size))
		if count > 1 {
			a := t.array(count)
			count = a.count
		}
		of.base, of.limit = t.onHeap(count), uintptr(count)*t.size
	}
	of.used = n
	return of.base
}

// want is how many bytes the rest of the message needs.
func (of *slab) want(left int) uintptr {
	if of.taken == 0 {
		of.first = left
		return min(of.last[0].of(left), of.last[1].of(left))
	}
	if left == 0 || left >= of.first {
		return of.taken
	}
	return min(of.taken, need{of.taken, of.first - left}.of(left))
}

// isLast says whether a block of n bytes is the last one that was cut from the present slab.
func (of *slab) isLast(p unsafe.Pointer, n uintptr) bool {
	base := unsafex.PtrAddr(of.base)
	n = of.whole(n)
	return n != 0 && base != 0 && unsafex.PtrAddr(p) >= base && unsafex.PtrAddr(p)+n == base+of.used
}

// end forgets the present slab and notes what the message needed.
func (of *slab) end() {
	of.last[1], of.last[0] = of.last[0], need{of.taken + of.used, of.first}
	of.base, of.used, of.limit, of.taken, of.first = nil, 0, 0, 0, 0
}
