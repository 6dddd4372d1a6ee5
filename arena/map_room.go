// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/bits"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A mapRoom is the memory of a table's slots. Many slots lie in segments of some 64 KiB, so that a
// table which outgrows its room becomes one of twice the size without a second room: the entries of
// one segment go to two new ones, and then the segment is free to be another new one.
type mapRoom[S any] struct {
	one  []S   // The slots, if they are one segment.
	segs [][]S // All segments if there are several, a power of two. The list lies on the Go heap.
	bits uint8 // How many bits of an index say where in its segment a slot is.

	// Segments without use, for the next room. Those that the collector scans are zero.
	next []S
	free [][]S
}

// segmentBytes is about how large a segment is. Three of them are in use while a table grows, and
// should stay near the processor.
const segmentBytes = 64 << 10

// segmentSlots is how many slots a segment has at most: a power of two, and at least one group.
func segmentSlots(slot uintptr) int {
	return max(8, 1<<bits.Len(uint(segmentBytes/max(1, slot)/2)))
}

// at is the slot with an index.
func (r *mapRoom[S]) at(i int) *S {
	if r.segs == nil {
		return &r.one[i]
	}
	return &r.segs[uint(i)>>(r.bits&31)][i&(1<<(r.bits&31)-1)]
}

// count is how many segments there are.
func (r *mapRoom[S]) count() int {
	if r.segs == nil {
		return min(1, len(r.one))
	}
	return len(r.segs)
}

// segment is one of them.
func (r *mapRoom[S]) segment(i int) []S {
	if r.segs == nil {
		return r.one
	}
	return r.segs[i]
}

// len is how many slots there are.
func (r *mapRoom[S]) len() int {
	if r.segs == nil {
		return len(r.one)
	}
	return len(r.segs) << r.bits
}

// clear makes all slots zero.
func (r *mapRoom[S]) clear() {
	for i := range r.count() {
		clear(r.segment(i))
	}
}

// follow makes r, which is empty, a room of n slots after old, with memory of a, and changes nothing
// of old. Segments of old will be put in r, unless spill, which is [Map.spill], is 0. No segment is open
// yet.
func (r *mapRoom[S]) follow(op string, a *Arena, old *mapRoom[S], n, spill int, u slotUse) error {
	most := segmentSlots(unsafex.Size[S]())
	length := min(n, most)
	count := max(1, n/most)
	need := count
	r.bits = uint8(bits.Len(uint(length - 1)))
	if len(old.segment0()) == length {
		r.next, r.free = old.next, old.free
		if spill != 0 {
			need = min(count, count-old.count()+spill)
		}
	}
	if need -= len(r.free); r.next != nil {
		need--
	}
	var mem []S
	if need > 0 {
		var err error
		if mem, err = mapMemory[S](op, a, need*length, u.scanned || u.zero && count == 1); err != nil {
			return err
		}
	}
	if count == 1 {
		r.one = mem
		return nil
	}
	r.segs = make([][]S, count)
	r.free = append(make([][]S, 0, len(r.free)+count), r.free...)
	for ; len(mem) > 0; mem = mem[length:] {
		r.free = append(r.free, mem[:length:length])
	}
	return nil
}

// slotUse says what slots must be.
type slotUse struct {
	scanned bool // The collector scans them.
	zero    bool // Those that are not full are zero.
}

// segment0 is the first segment, or nil.
func (r *mapRoom[S]) segment0() []S {
	if r.count() == 0 {
		return nil
	}
	return r.segment(0)
}

// open is the slot with an index in a room that is being filled, or nil if there are fewer segments
// than a sound table needs.
func (r *mapRoom[S]) open(i int, u slotUse) *S {
	if !r.isOpen(i) {
		s := r.next
		if r.next = nil; s == nil {
			if len(r.free) == 0 {
				return nil
			}
			s = r.free[len(r.free)-1]
			r.free = r.free[:len(r.free)-1]
		}
		if u.zero && !u.scanned {
			clear(s)
		}
		if r.segs == nil {
			r.one = s
		} else {
			r.segs[uint(i)>>(r.bits&31)] = s
		}
	}
	return r.at(i)
}

func (r *mapRoom[S]) isOpen(i int) bool {
	if r.segs == nil {
		return r.one != nil
	}
	return r.segs[uint(i)>>(r.bits&31)] != nil
}

// openAll opens the rest of the segments. It returns false if there are too few.
func (r *mapRoom[S]) openAll(u slotUse) bool {
	for i := range max(1, len(r.segs)) {
		if r.open(i<<r.bits, u) == nil {
			return false
		}
	}
	return true
}

// put takes a segment of the old room, which no longer needs it.
func (r *mapRoom[S]) put(s []S, u slotUse) {
	if u.scanned { // What entries lead to must not live longer than they do.
		clear(s)
	}
	switch {
	case len(s) != 1<<r.bits:
	case r.next == nil:
		r.next = s
	default:
		r.free = append(r.free, s)
	}
}

// mapMemory is n values in a, or on the Go heap, zero if zero says so.
func mapMemory[T any](op string, a *Arena, n int, zero bool) ([]T, error) {
	// Only the arena itself is asked: if a copy of another arena was written over it, the Map would not notice
	// when that arena frees the memory. The rest are the conditions of MakeSlice.
	if size := unsafex.Size[T](); a != nil && a.direct() && size != 0 && size%8 == 0 && uint(n-1) < smallSlice/(uint(size)|1) {
		if p := a.cursorOf(typeinfo.Key[T]()).take(uintptr(n) * size); p != nil {
			return unsafex.SliceOf[T](p, n, n), nil
		}
	}
	p, err := a.alloc(op, describe[T](), n, zero)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return make([]T, n), nil
	}
	return unsafex.SliceOf[T](p, n, n), nil
}
