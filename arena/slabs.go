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
//     what the last two messages both needed of the type, and each further one is twice as large as
//     what came before.
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
}

type slabEntry struct {
	t *UnsafeType
	s *slab
}

// A slab is the slab that values of one type are cut from, and what is known of the type's need.
type slab struct {
	t     *UnsafeType // Nil: bytes without pointers.
	size  uintptr     // Of a value; 1 for bytes.
	base  unsafe.Pointer
	used  uintptr // Bytes of the present slab.
	limit uintptr
	taken uintptr // Bytes of the message so far, in earlier slabs.
	last  uintptr // What the last message needed.
	least uintptr // The smaller need of the last two messages.
}

// mostSlab is the largest slab: objects above 32 KiB cost a lock each, and round up to pages.
const mostSlab = 32 << 10

// New returns a zero value of t, as [Arena.UnsafeNew] does.
func (s *UnsafeSlabs) New(t *UnsafeType) unsafe.Pointer { return s.of(t).take(t, t.size) }

// MakeSlice returns n zero values of t in a row, as [Arena.UnsafeMakeSlice] does.
func (s *UnsafeSlabs) MakeSlice(t *UnsafeType, n int) unsafe.Pointer {
	if n < 0 {
		panic(fmt.Errorf("arena: MakeSlice of %s: negative length %d", t, n))
	}
	if uintptr(n) > t.desc.most {
		return t.onHeap(n) // It ends the process or panics, as make does.
	}
	return s.of(t).take(t, uintptr(n)*t.size)
}

// Bytes returns n bytes, as [Arena.UnsafeBytes] does.
func (s *UnsafeSlabs) Bytes(n int) []byte {
	if n < 0 {
		panic(fmt.Errorf("arena: Bytes: negative number of bytes %d", n))
	}
	if uintptr(n) > mostSlab/4 {
		return make([]byte, n)
	}
	return unsafex.SliceOf[byte](s.plain.take(slabBytes, uintptr(n)), n, n)
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
		if free := (of.limit - of.used) / t.size; int(free) >= want-capacity {
			room = min(room, capacity+int(free))
			of.used += uintptr(room-capacity) * t.size
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
		of.used -= uintptr(capacity-length) * t.size
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

// take cuts n bytes of values of t.
func (of *slab) take(t *UnsafeType, n uintptr) unsafe.Pointer {
	u := of.used
	if of.t == nil && t.desc != nil {
		u = (u + t.desc.align - 1) &^ (t.desc.align - 1)
	}
	if end := u + n; end <= of.limit && n != 0 {
		of.used = end
		return unsafex.Add(of.base, u)
	}
	return of.takeSlow(t, n)
}

//go:noinline
func (of *slab) takeSlow(t *UnsafeType, n uintptr) unsafe.Pointer {
	if n == 0 {
		return unsafex.PtrOf(new(struct{}))
	}
	if n > mostSlab/4 { // A slab of its own, and the present one goes on.
		of.taken += n
		return t.onHeap(int(n / t.size))
	}
	of.taken += of.used
	want := of.least
	if of.taken != 0 {
		want = of.taken
	}
	want = max(n, min(want, mostSlab))
	if of.t == nil {
		of.limit = max(want+7, 64) &^ 7
		of.base = unsafex.DataOf(make([]uint64, of.limit/8))
	} else {
		count := max(int(min(want, mostSlab-goHeader)/t.size), int(n/t.size))
		if count > 1 {
			a := t.array(count)
			count = a.count
		}
		of.base, of.limit = t.onHeap(count), uintptr(count)*t.size
	}
	of.used = n
	return of.base
}

// isLast says whether a block of n bytes is the last one that was cut from the present slab.
func (of *slab) isLast(p unsafe.Pointer, n uintptr) bool {
	base := unsafex.PtrAddr(of.base)
	return n != 0 && base != 0 && unsafex.PtrAddr(p) >= base && unsafex.PtrAddr(p)+n == base+of.used
}

// end forgets the present slab and notes what the message needed.
func (of *slab) end() {
	need := of.taken + of.used
	of.least, of.last = min(need, of.last), need
	of.base, of.used, of.limit, of.taken = nil, 0, 0, 0
}
