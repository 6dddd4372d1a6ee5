// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"fmt"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// structure decodes the object at i into a struct. Documents mostly have their names in the order of the
// struct's fields, so that the field behind the last one is tried first.
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
		if expect < len(fields) && d.named(&fields[expect], i) {
			f = &fields[expect]
			i += len(f.name) + 1
			expect++
		} else {
			var at int
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
		case f.hops == nil && !f.quoted:
			i = d.value(f.plan, unsafex.Add(to, f.offset), i)
		default:
			i = d.field(f, to, i)
		}
		if i < 0 {
			return i
		}
		i = d.space(i)
		switch d.peek(i) {
		case ',':
			i = d.space(i + 1)
		case '}':
			return d.leave(i)
		default:
			return d.syntax()
		}
	}
}

// named reports whether the name that begins at i, behind its quote, is f's, without escapes.
func (d *decoder) named(f *field, i int) bool {
	data, n := d.data, len(f.name)
	if i+8 <= len(data) {
		if word(data, i)&f.mask != f.begin {
			return false
		}
		if n < 8 {
			return true
		}
	}
	return i+n < len(data) && data[i+n] == '"' && string(data[i:i+n]) == f.name
}

// lookUp is the index of the field whose name begins at i, -1 if there is none, and the index behind the name.
func (d *decoder) lookUp(o *object, i int) (at, next int) {
	name, next := d.name(i)
	if next < 0 {
		return -1, next
	}
	at = o.names.find(o.fields, name)
	if at < 0 && d.opts.DisallowUnknownFields {
		d.save(fmt.Errorf("json: unknown field %q", name), next)
	}
	return at, next
}

// name is the name of a member that begins at i, and the index behind its quote. It is valid until the next
// call.
func (d *decoder) name(i int) ([]byte, int) {
	s, next := d.text(i)
	// SAFETY: what gets the name only reads it.
	return unsafex.SliceOf[byte](unsafex.StringData(s), len(s), len(s)), next
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
