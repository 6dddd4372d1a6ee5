// SPDX-License-Identifier: Apache-2.0

package arenaproto

import "github.com/freehold-go/freehold/arena"

// Memory comes from the arena or, without one, from slabs of the Go heap that belong to this message.
// Most values are cut from the cursor of their kind. The functions here end decoding if an arena's
// limit refuses memory: their result is nil then. i is the position in the input, which says how much
// is still to come.

// noCursor is the cursor of a kind that has none. It has no room.
var noCursor arena.UnsafeCursor

// take is n zero values in a row from the kind's cursor, or nil. n is at most k.few.
func (d *decoder) take(k *kind, n int) pointer {
	if uint(k.number) < uint(len(d.cursors)) {
		return d.cursors[k.number].Take(uintptr(n) * k.size)
	}
	return nil
}

// cursor is where the decoder keeps the kind's cursor.
func (d *decoder) cursor(k *kind) **arena.UnsafeCursor {
	if k.number >= len(d.cursors) {
		d.moreCursors(k)
	}
	return &d.cursors[k.number]
}

func (d *decoder) moreCursors(k *kind) {
	for len(d.cursors) <= k.number {
		d.cursors = append(d.cursors, &noCursor)
	}
}

// open is the cursor of a kind, looked up in the arena.
func (d *decoder) open(k *kind) *arena.UnsafeCursor {
	at := d.cursor(k)
	if *at == &noCursor {
		d.opened = append(d.opened, k.number)
	}
	c := d.a.UnsafeCursor(k.mem)
	*at = c
	return c
}

// forget ends a message. Cursors of an arena would keep its chunks alive. Those of slabs serve the next
// message, too, and keep nothing alive between messages.
func (d *decoder) forget() {
	if d.a == nil {
		d.slabs.End()
		return
	}
	for _, n := range d.opened {
		d.cursors[n] = &noCursor
	}
	d.opened = d.opened[:0]
}

// new is a zero value.
func (d *decoder) new(k *kind, i int) pointer {
	if p := d.take(k, 1); p != nil {
		return p
	}
	return d.newSlow(k, i)
}

//go:noinline
func (d *decoder) newSlow(k *kind, i int) pointer {
	if d.a == nil {
		return d.fromSlabs(k, 1, i)
	}
	if p := d.open(k).Take(k.size); p != nil {
		return p
	}
	p, err := d.a.UnsafeNew(k.mem)
	if err != nil {
		d.fail(err)
	}
	return p
}

// makeSlice is n zero values in a row.
func (d *decoder) makeSlice(k *kind, n, i int) pointer {
	if uint(n-1) < uint(k.few) {
		if p := d.take(k, n); p != nil {
			return p
		}
	}
	return d.makeSliceSlow(k, n, i)
}

//go:noinline
func (d *decoder) makeSliceSlow(k *kind, n, i int) pointer {
	if d.a == nil {
		return d.fromSlabs(k, n, i)
	}
	if uint(n-1) < uint(k.few) {
		if p := d.open(k).Take(uintptr(n) * k.size); p != nil {
			return p
		}
	}
	p, err := d.a.UnsafeMakeSlice(k.mem, n)
	if err != nil {
		d.fail(err)
	}
	return p
}

// fromSlabs is n zero values in a row, from a slab without a cursor or from a new one.
func (d *decoder) fromSlabs(k *kind, n, i int) pointer {
	d.slabs.Left(len(d.data) - i)
	if at := d.cursor(k); *at == &noCursor {
		*at = d.slabs.Cursor(k.mem)
	}
	return d.slabs.MakeSlice(k.mem, n)
}

// grow is room for at least want values, of which length are there already; the others are zero.
func (d *decoder) grow(k *kind, p pointer, length, capacity, want int) (pointer, int) {
	if d.a == nil {
		return d.slabs.Grow(k.mem, p, length, capacity, want)
	}
	p, n, err := d.a.UnsafeGrow(k.mem, p, length, capacity, want)
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
