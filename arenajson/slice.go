// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/base64"
	"reflect"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// slice decodes the array at i into a slice. The elements that it has are decoded into, those behind its length
// too: encoding/json does so. Then it grows in the arena, mostly where it is, and what it has not used goes
// back in the end.
func (d *decoder) slice(p *plan, to pointer, i int) int {
	if i = d.enter(i); i < 0 {
		return i
	}
	h := headerAt(to)
	if d.peek(i) == ']' {
		*h = sliceHeader{data: unsafex.PtrOf(&emptySlice)}
		return d.leave(i)
	}
	s := sliceHeader{h.data, 0, h.cap}
	elem, ours, calls := p.elem, false, 0
	for {
		if s.len == s.cap {
			data, n := d.room(elem.mem, s.data, s.len, s.cap, more(s.cap, elem.size))
			if data == nil {
				d.publish(h, s)
				return -1
			}
			s.data, s.cap, ours, calls = data, n, true, d.calls
		}
		s.len++
		if i = d.value(elem, unsafex.Add(s.data, uintptr(s.len-1)*elem.size), i); i < 0 {
			d.publish(h, s)
			return i
		}
		i = d.after(i)
		if d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if i = d.close(i, ']'); i < 0 {
		return i
	}
	// A method could have reset the arena, which must not get memory back then that it has given to others.
	if ours && s.len < s.cap && calls == d.calls {
		s.cap = d.trim(elem.mem, s.data, s.len, s.cap)
	}
	*h = s
	return i
}

// more is how many elements a slice gets that is full.
func more(capacity int, size uintptr) int {
	if capacity == 0 {
		return int(max(4, min(64, 64/max(size, 1))))
	}
	return capacity + 1 // The arena doubles it.
}

// publish stores the part of a slice that was decoded before decoding ended, but the longer slice if that is there.
func (d *decoder) publish(h *sliceHeader, s sliceHeader) {
	s.len = max(s.len, min(h.len, s.cap))
	*h = s
}

// array decodes the array at i into an array of Go. What the document has besides is skipped, what it
// lacks is zero.
func (d *decoder) array(p *plan, to pointer, i int) int {
	if i = d.enter(i); i < 0 {
		return i
	}
	n := 0
	if d.peek(i) == ']' {
		p.zeroFrom(to, 0)
		return d.leave(i)
	}
	for {
		if n < p.count {
			i = d.value(p.elem, unsafex.Add(to, uintptr(n)*p.elem.size), i)
		} else {
			i = d.skip(i)
		}
		if i < 0 {
			return i
		}
		n++
		i = d.after(i)
		if d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if i = d.close(i, ']'); i >= 0 && n < p.count {
		p.zeroFrom(to, n)
	}
	return i
}

// zeroFrom makes the elements of an array zero from the n-th on.
func (p *plan) zeroFrom(to pointer, n int) {
	v := reflect.NewAt(p.typ, to).Elem()
	for ; n < p.count; n++ {
		v.Index(n).SetZero()
	}
}

// base64 decodes the string at i into a slice of bytes.
func (d *decoder) base64(to pointer, i int) int {
	s, next := d.text(i + 1)
	if next < 0 {
		return next
	}
	text := bytesOf(s)
	h := headerAt(to)
	n := base64.StdEncoding.DecodedLen(len(s))
	if n == 0 {
		if _, err := base64.StdEncoding.Decode(nil, text); err != nil {
			d.save(err, i)
			return next
		}
		*h = sliceHeader{data: unsafex.PtrOf(&emptySlice)}
		return next
	}
	b := d.bytes(n)
	if b == nil {
		return -1
	}
	n, err := base64.StdEncoding.Decode(b, text)
	if err != nil {
		d.save(err, i)
		return next
	}
	clear(b[n:]) // A later array of the document may decode null over these bytes.
	*h = sliceHeader{unsafex.DataOf(b), n, len(b)}
	return next
}
