// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Memory comes from the arena or, without one, from slabs of the Go heap that belong to this document. The
// functions here end decoding if an arena's limit refuses it: their result is nil then.

// new is a zero value.
func (d *decoder) new(t *arena.UnsafeType) pointer {
	if d.a == nil {
		return d.slabs.New(t)
	}
	p, err := d.a.UnsafeNew(t)
	if err != nil {
		d.stop(err)
		return nil
	}
	return p
}

// grow is room for at least want values, of which length are there already; the others are zero.
func (d *decoder) grow(t *arena.UnsafeType, p pointer, length, capacity, want int) (pointer, int) {
	if d.a == nil {
		return d.slabs.Grow(t, p, length, capacity, want)
	}
	p, n, err := d.a.UnsafeGrow(t, p, length, capacity, want)
	if err != nil {
		d.stop(err)
		return nil, 0
	}
	return p, n
}

// room is grow, and faster for a slice without room.
func (d *decoder) room(t *arena.UnsafeType, p pointer, length, capacity, want int) (pointer, int) {
	if capacity == 0 && d.a != nil {
		return d.makeSlice(t, want), want
	}
	return d.grow(t, p, length, capacity, want)
}

// trim gives back what a slice does not need.
func (d *decoder) trim(t *arena.UnsafeType, p pointer, length, capacity int) int {
	if d.a == nil {
		return d.slabs.Trim(t, p, length, capacity)
	}
	return d.a.UnsafeTrim(t, p, length, capacity)
}

// makeSlice is n zero values in a row.
func (d *decoder) makeSlice(t *arena.UnsafeType, n int) pointer {
	if d.a == nil {
		return d.slabs.MakeSlice(t, n)
	}
	p, err := d.a.UnsafeMakeSlice(t, n)
	if err != nil {
		d.stop(err)
		return nil
	}
	return p
}

// newMap is an empty map, as the pointer that it is.
func (d *decoder) newMap(t *arena.UnsafeType) pointer {
	p, err := d.a.UnsafeGoMap(t, 0)
	if err != nil {
		d.stop(err)
		return nil
	}
	return p
}

// bytes are n bytes, which the caller overwrites.
func (d *decoder) bytes(n int) []byte {
	if d.a == nil {
		return d.slabs.Bytes(n)
	}
	b, err := d.a.UnsafeBytes(n)
	if err != nil {
		d.stop(err)
		return nil
	}
	return b
}

// A sliceHeader is a slice of any type.
type sliceHeader struct {
	data     pointer
	len, cap int
}

// headerAt is the slice variable at an address.
func headerAt(to pointer) *sliceHeader {
	// SAFETY: a slice is an address and two integers (GC-8).
	return unsafex.As[sliceHeader](to)
}

// emptySlice is where slices without memory begin.
var emptySlice [0]uint64
