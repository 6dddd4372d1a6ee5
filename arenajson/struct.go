// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"errors"
	"reflect"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A memberSet has the members that a document has named in an object: of the first fields, and the set of the other names, counted
// from 1.
type memberSet struct {
	first uint64
	names int
	name  string // Of the last member that guess has not found.
	extra bool   // A member went to the fallback.
}

// structure decodes the object at i into a struct. Documents mostly have their names in the order of the
// struct's fields, so that the fields behind the last one are tried first.
func (d *decoder) structure(p *plan, to pointer, i int) int {
	o := p.object
	if o.refused != nil {
		return d.refused(p, i)
	}
	if i = d.enter(i); i < 0 {
		return i
	}
	if d.peek(i) == '}' {
		return d.leave(i)
	}
	fields, expect, strict := o.fields, 0, d.strict
	var seen memberSet
	for {
		if d.peek(i) != '"' {
			return d.syntax()
		}
		at, value := d.guess(fields, expect, i+1)
		if at < 0 || strict {
			if at < 0 {
				at, value = d.lookUp(p, &seen, i)
			}
			if strict && value >= 0 && !d.once(p, &seen, at) {
				return d.repeated(i)
			}
		}
		switch {
		case value < 0:
			return value
		case at >= 0:
			f := &fields[at]
			expect = at + 1
			switch {
			case f.text && d.peek(value) == '"': // As value does it.
				var s string
				if s, i = d.text(value + 1); i >= 0 {
					*unsafex.As[string](unsafex.Add(to, f.offset)) = s
				}
			case f.indirect:
				i = d.field(p, f, to, value)
			default:
				i = d.value(f.plan, unsafex.Add(to, f.offset), value)
			}
		case strict || o.fallback != nil:
			i = d.unknown(p, to, &seen, i, value)
		default:
			i = d.scanner.skip(value)
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
			if seen.names > 0 {
				d.names.close(seen.names - 1)
			}
			return d.close(i, '}')
		}
		i = d.space(i + 1)
	}
}

// once adds a field, or the name that lookUp has read, to those that the object has, or reports false if it has it.
func (d *decoder) once(p *plan, seen *memberSet, at int) bool {
	if uint(at) < 64 {
		bit := uint64(1) << at
		had := seen.first & bit
		seen.first |= bit
		return had == 0
	}
	if seen.names == 0 {
		seen.names = d.names.open() + 1
	}
	name := seen.name
	if at >= 0 {
		name = p.object.fields[at].name
	}
	return d.names.insert(seen.names-1, name)
}

// refused notes that no object can be decoded into the struct, because its type has a mistake.
func (d *decoder) refused(p *plan, i int) int {
	next := i + 1
	if p.rules&goesOn != 0 {
		if next = d.skip(i); next < 0 {
			return next
		}
	}
	return d.misfit(p.object.refused.typ, i, next, behind, p.object.refused.err)
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

var errAmbiguous = errors.New("ambiguous object member name")

// lookUp is guess among all fields for the name whose quote is at i, which may have escapes or be in another case.
func (d *decoder) lookUp(p *plan, seen *memberSet, i int) (at, value int) {
	name, next := d.text(i + 1)
	if next < 0 {
		return -1, next
	}
	o := p.object
	if at = o.names.find(o.fields, bytesOf(name)); at < 0 {
		seen.name = name
		switch {
		case at == ambiguous:
			return -1, d.misfit(p.typ, i, next, behind, errAmbiguous)
		case o.fallback == nil && d.opts.DisallowUnknownFields:
			if d.misfit(p.typ, i, next, behind, errUnknown) < 0 {
				return -1, -1
			}
		}
	}
	return at, d.colon(next)
}

var errNoHop = errors.New("cannot set embedded pointer to unexported struct type")

// hop follows the embedded pointers on the way to a field for the value at i. If the result is nil, there is no memory, or no way: next is the
// index behind the value then, or -1.
func (d *decoder) hop(p *plan, f *field, to pointer, i int) (field pointer, next int) {
	for _, h := range f.hops {
		at := unsafex.As[pointer](unsafex.Add(to, h.offset))
		if *at == nil {
			if h.unexported {
				return nil, d.unfit(p, i, errNoHop)
			}
			if *at = d.new(h.elem.mem); *at == nil {
				return nil, -1
			}
		}
		to = *at
	}
	return unsafex.Add(to, f.offset), 0
}

// field decodes the value at i into a field behind embedded pointers.
func (d *decoder) field(p *plan, f *field, to pointer, i int) int {
	to, next := d.hop(p, f, to, i)
	if to == nil {
		return next
	}
	return d.value(f.plan, to, i)
}

// unknown takes a member that no field has the name of, by version 2 or for the fallback. The member begins at i, its value at value.
func (d *decoder) unknown(p *plan, to pointer, seen *memberSet, i, value int) int {
	f := p.object.fallback
	if f == nil {
		if value = d.skip(value); value < 0 {
			d.whole = 0 // encoding/json/v2 skips a value by its parts.
		}
		return value
	}
	to, next := d.hop(p, &f.field, to, value)
	if to == nil {
		return next
	}
	if f.raw {
		first := !seen.extra
		seen.extra = true
		return d.rawMember(f, to, first, i, value)
	}
	return d.mapMember(f.plan, to, seen.name, value)
}

var (
	byteMem     = arena.UnsafeTypeOf(reflect.TypeFor[byte]())
	errNoObject = errors.New("embedded raw value must be a JSON object")
)

// rawMember adds the member at i to an object as it is written. If it is the first one of the document, what is there is copied.
func (d *decoder) rawMember(f *fallback, to pointer, first bool, i, value int) int {
	h := headerAt(to)
	old, separator := unsafex.SliceOf[byte](h.data, h.len, h.cap), "{"
	if len(old) > 0 {
		old = bytes.TrimRight(old, " \n\r\t")
		if !bytes.HasSuffix(old, []byte{'}'}) {
			h.len = len(old) // As encoding/json/v2 leaves it.
			if d.rules&goesOn != 0 {
				if value = d.skip(value); value < 0 {
					return value
				}
			}
			if d.misfit(f.plan.typ, i, d.nameEnd(i), behind, errNoObject) < 0 {
				return -1
			}
			return value
		}
		old, separator = bytes.TrimRight(old[:len(old)-1], " \n\r\t"), ","
		if bytes.HasSuffix(old, []byte{','}) || bytes.HasSuffix(old, []byte{'{'}) {
			separator = ""
		}
	}
	next := d.skip(value)
	if next < 0 {
		return next
	}
	name, text := d.input[i:d.nameEnd(i)], d.input[value:next]
	want := len(old) + len(separator) + len(name) + len(text) + 2
	if first || want > cap(old) {
		capacity := cap(old)
		if first {
			capacity = len(old)
		}
		data, n := d.grow(byteMem, unsafex.DataOf(old), len(old), capacity, want)
		if data == nil {
			return -1
		}
		old = unsafex.SliceOf[byte](data, len(old), n)
	}
	old = append(append(append(append(append(old, separator...), name...), ':'), text...), '}')
	*h = sliceHeader{unsafex.DataOf(old), len(old), cap(old)}
	return next
}
