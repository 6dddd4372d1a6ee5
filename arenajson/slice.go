// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// slice decodes the array at i into a slice. By version 1 the elements that it has are decoded into, those behind its length
// too: encoding/json does so. By version 2 they begin as zero values. Then the slice grows in the arena, mostly where it is, and
// what it has not used goes back in the end.
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
	elem, ours, calls, used := p.elem, false, 0, 0
	if p.rules&merges == 0 {
		used = h.cap
	}
	for {
		if s.len == s.cap {
			data, n := d.room(elem.mem, s.data, s.len, s.cap, more(s.cap, elem.size))
			if data == nil {
				*h = s
				return -1
			}
			s.data, s.cap, ours, calls, used = data, n, true, d.calls, 0
		}
		at := unsafex.Add(s.data, uintptr(s.len)*elem.size)
		if s.len < used {
			elem.zero(at)
		}
		s.len++
		if i = d.value(elem, at, i); i < 0 {
			*h = s
			return i
		}
		i = d.after(i)
		if d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	i = d.close(i, ']')
	// A method could have reset the arena, which must not get memory back then that it has given to others.
	if i >= 0 && ours && s.len < s.cap && calls == d.calls {
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

var (
	errShort = errors.New("too few array elements")
	errLong  = errors.New("too many array elements")
)

// array decodes the array at i into an array of Go. By version 1 what the document has besides is skipped, and what it
// lacks is zero; by version 2 both are errors.
func (d *decoder) array(p *plan, to pointer, i int) int {
	begin, n := i, 0
	if i = d.enter(i); i < 0 {
		return i
	}
	for d.peek(i) != ']' || n > 0 {
		if n < p.count {
			at := unsafex.Add(to, uintptr(n)*p.elem.size)
			if p.rules&merges == 0 {
				p.elem.zero(at)
			}
			i = d.value(p.elem, at, i)
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
	if i = d.close(i, ']'); i < 0 || n == p.count {
		return i
	}
	err := errLong
	if n < p.count {
		err = errShort
	}
	for v := reflect.NewAt(p.typ, to).Elem(); n < p.count; n++ {
		v.Index(n).SetZero()
	}
	if p.rules&anyLength != 0 {
		return i
	}
	d.misfit(p.typ, begin, i, behind, err)
	if m, ok := d.err.(*misfit); ok { // encoding/json/v2 names the closing bracket.
		m.offset, m.kind = i-1, ']'
	}
	return -1
}

// base64 decodes the string at i into a slice or array of bytes. What fits in the memory that is there is decoded there.
func (d *decoder) base64(p *plan, to pointer, i int) int {
	s, next := d.text(i + 1)
	if next < 0 {
		return next
	}
	text := bytesOf(s)
	n := len(text)
	for n > 0 && text[n-1] == '=' {
		n--
	}
	n = base64.RawStdEncoding.DecodedLen(n)
	array := p.typ.Kind() == reflect.Array
	b := []byte{}
	switch {
	case array && n <= p.count:
		b = unsafex.SliceOf[byte](to, p.count, p.count)
	case array:
		b = make([]byte, n)
	case n > headerAt(to).cap:
		if b = d.bytes(n); b == nil {
			return -1
		}
	default:
		if h := headerAt(to); h.data != nil {
			b = unsafex.SliceOf[byte](h.data, h.cap, h.cap)
		}
	}
	got, err := base64.StdEncoding.Decode(b[:n], text)
	if err != nil {
		return d.misfit(p.typ, i, next, behind, err)
	}
	if at := bytes.IndexAny(text, "\r\n"); at >= 0 && p.rules&looseBytes == 0 {
		return d.misfit(p.typ, i, next, behind, fmt.Errorf("illegal character %q at offset %d", text[at], at))
	}
	if array {
		to := unsafex.SliceOf[byte](to, p.count, p.count)
		if clear(to[copy(to, b[:got]):]); got != p.count {
			return d.misfit(p.typ, i, next, behind, fmt.Errorf("decoded length of %d mismatches array length of %d", got, p.count))
		}
		return next
	}
	clear(b[got:n]) // A later array of the document may decode null over these bytes.
	*headerAt(to) = sliceHeader{unsafex.DataOf(b), got, cap(b)}
	return next
}
