// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"reflect"

	"github.com/freehold-go/freehold/arena"
)

// Memory comes from the arena or, without one, from slabs of the Go heap that belong to this message.
// The functions here end decoding if an arena's limit refuses it: their result is nil then.

var wordType = arena.UnsafeTypeOf(reflect.TypeFor[uint64]())

// new is a zero value.
func (d *decoder) new(t *arena.UnsafeType) pointer {
	if d.a == nil {
		return d.slabs.New(t)
	}
	p, err := d.a.UnsafeNew(t)
	if err != nil {
		d.fail(err)
		return nil
	}
	return p
}

// makeSlice is n zero values in a row.
func (d *decoder) makeSlice(t *arena.UnsafeType, n int) pointer {
	if d.a == nil {
		return d.slabs.MakeSlice(t, n)
	}
	p, err := d.a.UnsafeMakeSlice(t, n)
	if err != nil {
		d.fail(err)
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
		d.fail(err)
		return nil, 0
	}
	return p, n
}

// newMap is an empty map with room for n entries, as the pointer that it is.
func (d *decoder) newMap(t *arena.UnsafeType, n int) pointer {
	p, err := d.a.UnsafeGoMap(t, n)
	if err != nil {
		d.fail(err)
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
		d.fail(err)
		return nil
	}
	return b
}
