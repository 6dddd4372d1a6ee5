// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"fmt"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// structure decodes the object at i into a struct. Documents mostly have their names in the order of the
// struct's fields, so that the fields behind the last one are tried first.
func (d *decoder) structure(p *plan, to pointer, i int) int {
	if i = d.enter(i); i < 0 {
		return i
	}
	if d.peek(i) == '}' {
		return d.leave(i)
	}
	fields, expect := p.object.fields, 0
	for {
		if d.peek(i) != '"' {
			return d.syntax()
		}
		at, value := d.guess(fields, expect, i+1)
		if at < 0 {
			at, value = d.lookUp(p.object, i+1)
		}
		if value < 0 {
			return value
		}
		if at < 0 {
			i = d.skip(value)
		} else {
			f := &fields[at]
			expect = at + 1
			switch {
			case f.text && d.peek(value) == '"': // As value does it.
				var s string
				if s, i = d.text(value + 1); i >= 0 {
					*unsafex.As[string](unsafex.Add(to, f.offset)) = s
				}
			case f.indirect:
				i = d.field(f, to, value)
			default:
				i = d.value(f.plan, unsafex.Add(to, f.offset), value)
			}
		}
		if i < 0 {
			return i
		}
		if data := d.data; uint(i)+1 < uint(len(data)) && data[i] == ',' && data[i+1] == '"' {
			i++
			continue
		}
		i = d.after(i)
		if d.peek(i) != ',' {
			return d.close(i, '}')
		}
		i = d.space(i + 1)
	}
}

// guesses is how many fields are tried: documents leave out some.
const guesses = 4

// guess is the index of the field, among the next ones, whose name begins at i, behind its quote, without escapes, and the
// index of the value. The first is -1 if there is no such field, the second if there is no value.
func (d *decoder) guess(fields []field, expect, i int) (at, value int) {
	data := d.data
	if i+8 > len(data) {
		return -1, 0
	}
	w := word(data, i)
	for at := expect; at < len(fields) && at < expect+guesses; at++ {
		if f := &fields[at]; w&f.mask == f.begin {
			n := len(f.name)
			if n < 8 || i+n < len(data) && word(data, i+n-7) == f.end && (n < 16 || string(data[i:i+n]) == f.name) {
				// This is colon's first case: a call for each member costs more.
				if i += n + 1; uint(i)+1 < uint(len(data)) && data[i] == ':' && data[i+1] > ' ' {
					return at, i + 1
				}
				return at, d.colon(i)
			}
		}
	}
	return -1, 0
}

// lookUp is guess among all fields, for names with escapes or in another case, too.
func (d *decoder) lookUp(o *object, i int) (at, value int) {
	s, next := d.text(i)
	if next < 0 {
		return -1, next
	}
	name := bytesOf(s)
	at = o.names.find(o.fields, name)
	if at < 0 && d.opts.DisallowUnknownFields {
		d.save(fmt.Errorf("json: unknown field %q", name), next)
	}
	return at, d.colon(next)
}

// field decodes the value at i into a field behind embedded pointers or with the option string.
func (d *decoder) field(f *field, to pointer, i int) int {
	for _, h := range f.hops {
		at := unsafex.As[pointer](unsafex.Add(to, h.offset))
		if *at == nil {
			if h.unexported {
				d.save(fmt.Errorf("json: cannot set embedded pointer to unexported struct: %v", h.elem.typ), i)
				return d.skip(i)
			}
			v := d.new(h.elem.mem)
			if v == nil {
				return -1
			}
			*at = v
		}
		to = *at
	}
	to = unsafex.Add(to, f.offset)
	if f.quoted {
		return d.quoted(f.plan, to, i)
	}
	return d.value(f.plan, to, i)
}
