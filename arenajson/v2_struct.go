// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A fieldSet has the fields of a struct that a document has named.
type fieldSet struct {
	first [4]uint64
	more  []uint64
}

// insert adds a field of so many, or reports false if the set has it.
func (s *fieldSet) insert(at, count int) bool {
	word := &s.first[at>>6&3]
	if at >= 64*len(s.first) {
		if s.more == nil {
			s.more = make([]uint64, count/64+1)
		}
		word = &s.more[at>>6]
	}
	bit := uint64(1) << (at & 63)
	had := *word & bit
	*word |= bit
	return had == 0
}

// structV2 is structure by the rules of version 2.
func (d *decoder) structV2(p *plan, to pointer, i int) int {
	if p.rules.err != nil {
		return d.stop(p.rules.err)
	}
	if i = d.enter(i); i < 0 {
		return i
	}
	if d.peek(i) == '}' {
		return d.leave(i)
	}
	fields, expect, set := p.object.fields, 0, -1
	var seen fieldSet
	for {
		if d.peek(i) != '"' {
			return d.syntax()
		}
		at, value := d.guess(fields, expect, i+1)
		name := ""
		if at < 0 {
			at, value, name = d.lookUpV2(p, i+1)
		}
		if value < 0 {
			return value
		}
		if at >= 0 {
			f := &fields[at]
			if expect = at + 1; !seen.insert(at, len(fields)) {
				return d.duplicate(f.name, i)
			}
			if f.indirect {
				i = d.fieldV2(f, to, value)
			} else {
				i = d.valueV2(f.plan, unsafex.Add(to, f.offset), value)
			}
		} else {
			first := set < 0
			if first {
				set = d.names.open()
			}
			i = d.unknown(p, to, set, name, first, i, value)
		}
		if i < 0 {
			return i
		}
		if i = d.after(i); d.peek(i) != ',' {
			break
		}
		i = d.space(i + 1)
	}
	if set >= 0 {
		d.names.close(set)
	}
	return d.close(i, '}')
}

// lookUpV2 is guess among all fields, for names with escapes and for fields with case:ignore, too.
func (d *decoder) lookUpV2(p *plan, i int) (at, value int, name string) {
	name, next := d.textV2(i)
	if next < 0 {
		return -1, next, ""
	}
	at = p.object.names.find(p.object.fields, bytesOf(name))
	if at >= 0 && p.object.fields[at].name != name {
		at = -1
	}
	if at < 0 && len(p.rules.ignoring) > 0 {
		var buf [64]byte
		if same, ok := p.rules.ignoring[string(foldV2(buf[:0], bytesOf(name)))]; ok {
			at = same
		}
	}
	return at, d.colon(next), name
}

// foldV2 appends a name without its dashes and underscores, and with each letter replaced by the smallest one that differs from it
// in case only.
func foldV2(out, name []byte) []byte {
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRune(name[i:])
		if i += n; r != '_' && r != '-' {
			out = utf8.AppendRune(out, smallest(r))
		}
	}
	return out
}

// hop follows the embedded pointers on the way to a field. The result is nil if decoding ended.
func (d *decoder) hop(f *field, to pointer, i int) pointer {
	for _, h := range f.hops {
		at := unsafex.As[pointer](unsafex.Add(to, h.offset))
		if *at == nil {
			if h.unexported {
				d.stop(fmt.Errorf("arenajson: cannot set the embedded pointer to the unexported struct %v for the value at offset %d", h.elem.typ, i))
				return nil
			}
			if *at = d.new(h.elem.mem); *at == nil {
				return nil
			}
		}
		to = *at
	}
	return unsafex.Add(to, f.offset)
}

// fieldV2 decodes the value at i into a field behind embedded pointers.
func (d *decoder) fieldV2(f *field, to pointer, i int) int {
	if to = d.hop(f, to, i); to == nil {
		return -1
	}
	return d.valueV2(f.plan, to, i)
}

// unknown takes a member that no field has the name of. The member begins at i, its value at value.
func (d *decoder) unknown(p *plan, to pointer, set int, name string, first bool, i, value int) int {
	f := p.rules.fallback
	if d.opts.DisallowUnknownFields && (f == nil || f.unknown) {
		return d.stop(fmt.Errorf("json: unknown field %q", name))
	}
	if !d.names.insert(set, name) {
		return d.duplicate(name, i)
	}
	if f == nil {
		return d.skipV2(value)
	}
	if to = d.hop(&f.field, to, value); to == nil {
		return -1
	}
	if f.raw {
		return d.rawMember(f, to, first, i, value)
	}
	return d.mapMember(f.plan, to, name, value)
}

var byteMem = arena.UnsafeTypeOf(reflect.TypeFor[byte]())

// rawMember adds the member at i to an object as it is written. If it is the first one of the document, what is there is copied.
func (d *decoder) rawMember(f *fallback, to pointer, first bool, i, value int) int {
	next := d.skipV2(value)
	if next < 0 {
		return next
	}
	h := headerAt(to)
	old, separator := unsafex.SliceOf[byte](h.data, h.len, h.cap), "{"
	if len(old) > 0 {
		old = bytes.TrimRight(old, " \n\r\t")
		if !bytes.HasSuffix(old, []byte{'}'}) {
			h.len = len(old) // As encoding/json/v2 leaves it.
			return d.refuse(f.plan, fmt.Errorf("it holds no object"), value)
		}
		old, separator = bytes.TrimRight(old[:len(old)-1], " \n\r\t"), ","
		if bytes.HasSuffix(old, []byte{','}) || bytes.HasSuffix(old, []byte{'{'}) {
			separator = ""
		}
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
