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
		i++
		var f *field
		at := d.guess(fields, expect, i)
		if at >= 0 {
			f = &fields[at]
			i += len(f.name) + 1
			expect = at + 1
		} else {
			if at, i = d.lookUp(p.object, i); i < 0 {
				return i
			}
			if at >= 0 {
				f = &fields[at]
				expect = at + 1
			}
		}
		if i = d.colon(i); i < 0 {
			return i
		}
		switch {
		case f == nil:
			i = d.skip(i)
		case !f.indirect:
			i = d.value(f.plan, unsafex.Add(to, f.offset), i)
		default:
			i = d.field(f, to, i)
		}
		if i < 0 {
			return i
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

// guess is the index of the field, among the next ones, whose name begins at i, behind its quote, without escapes. It is -1
// if there is none.
func (d *decoder) guess(fields []field, expect, i int) int {
	data := d.data
	if i+8 > len(data) {
		return -1
	}
	w := word(data, i)
	for at := expect; at < len(fields) && at < expect+guesses; at++ {
		if f := &fields[at]; w&f.mask == f.begin {
			n := len(f.name)
			if n < 8 || i+n < len(data) && word(data, i+n-7) == f.end && (n < 16 || string(data[i:i+n]) == f.name) {
				return at
			}
		}
	}
	return -1
}

// lookUp is the index of the field whose name begins at i, -1 if there is none, and the index behind the name.
func (d *decoder) lookUp(o *object, i int) (at, next int) {
	s, next := d.text(i)
	if next < 0 {
		return -1, next
	}
	name := bytesOf(s)
	at = o.names.find(o.fields, name)
	if at < 0 && d.opts.DisallowUnknownFields {
		d.save(fmt.Errorf("json: unknown field %q", name), next)
	}
	return at, next
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
