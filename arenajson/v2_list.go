// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// sliceV2 decodes the array at i into a slice. Its elements begin as zero values.
func (d *decoder) sliceV2(p *plan, to pointer, i int) int {
	if i = d.enter(i); i < 0 {
		return i
	}
	h := headerAt(to)
	if d.peek(i) == ']' {
		*h = sliceHeader{data: unsafex.PtrOf(&emptySlice)}
		return d.leave(i)
	}
	s := sliceHeader{h.data, 0, h.cap}
	elem, old, calls := p.elem, h.cap, 0
	for {
		if s.len == s.cap {
			data, n := d.room(elem.mem, s.data, s.len, s.cap, more(s.cap, elem.size))
			if data == nil {
				*h = s
				return -1
			}
			s.data, s.cap, old, calls = data, n, 0, d.calls
		}
		at := unsafex.Add(s.data, uintptr(s.len)*elem.size)
		if s.len < old {
			elem.zero(at)
		}
		s.len++
		if i = d.valueV2(elem, at, i); i < 0 {
			*h = s
			return i
		}
		if i = d.after(i); d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if i = d.close(i, ']'); i >= 0 && old == 0 && s.len < s.cap && calls == d.calls { // As in slice.
		s.cap = d.trim(elem.mem, s.data, s.len, s.cap)
	}
	*h = s
	return i
}

// arrayV2 decodes the array at i into an array of Go, which must have as many elements.
func (d *decoder) arrayV2(p *plan, to pointer, i int) int {
	begin, n := i, 0
	if i = d.enter(i); i < 0 {
		return i
	}
	for d.peek(i) != ']' || n > 0 {
		if n < p.count {
			at := unsafex.Add(to, uintptr(n)*p.elem.size)
			p.elem.zero(at)
			i = d.valueV2(p.elem, at, i)
		} else {
			i = d.skipV2(i)
		}
		if i < 0 {
			return i
		}
		n++
		if i = d.after(i); d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if i = d.close(i, ']'); i < 0 {
		return i
	}
	p.zeroFrom(to, min(n, p.count))
	if n != p.count {
		return d.refuse(p, fmt.Errorf("the array has %d elements", n), begin)
	}
	return i
}

// baseV2 decodes the string at i into a slice or array of bytes, as its codec says.
func (d *decoder) baseV2(p *plan, to pointer, i int) int {
	s, next := d.textV2(i + 1)
	if next < 0 {
		return next
	}
	c, text := p.rules.codec, bytesOf(s)
	if c.ignoresEOL && bytes.ContainsAny(text, "\r\n") {
		return d.refuse(p, fmt.Errorf("the text has a line break"), i)
	}
	n := len(text)
	for c.pad != 0 && n > 0 && text[n-1] == c.pad {
		n--
	}
	n = n * c.bits / 8
	var b []byte
	if p.typ.Kind() == reflect.Array {
		if n > p.typ.Len() {
			return d.tooLong(p, to, text, n, i)
		}
		b = unsafex.SliceOf[byte](to, p.typ.Len(), p.typ.Len())
	} else if h := headerAt(to); n > h.cap {
		if b = d.bytes(n); b == nil {
			return -1
		}
	} else if b = unsafex.SliceOf[byte](h.data, h.cap, h.cap); h.data == nil {
		b = []byte{}
	}
	got, err := c.decode(b[:n], text)
	if err != nil {
		return d.refuse(p, err, i)
	}
	if p.typ.Kind() == reflect.Array {
		clear(b[got:])
		if got != len(b) {
			return d.refuse(p, fmt.Errorf("the text means %d bytes", got), i)
		}
		return next
	}
	clear(b[got:n])
	*headerAt(to) = sliceHeader{unsafex.DataOf(b), got, cap(b)}
	return next
}

// tooLong ends decoding: the text means more bytes than the array has. It gets as many as it has.
func (d *decoder) tooLong(p *plan, to pointer, text []byte, n, i int) int {
	b := make([]byte, n)
	got, err := p.rules.codec.decode(b, text)
	if err != nil {
		return d.refuse(p, err, i)
	}
	copy(unsafex.SliceOf[byte](to, p.typ.Len(), p.typ.Len()), b[:got])
	return d.refuse(p, fmt.Errorf("the text means %d bytes", got), i)
}
