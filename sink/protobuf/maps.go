// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// An entry is one of a map.
type entry struct {
	text    []byte // the key, if it is a string
	key     uint64 // otherwise
	bits    uint64 // the value, if it is a number
	content []byte // otherwise
	place   int    // among the entries of the map
}

// mapping writes a map.
func (r *reader) mapping(f *field, b []byte, s slot, depth int, partial bool) error {
	base, mark, err := r.sorted(f, b, s)
	if err != nil {
		return err
	}
	key, value := &f.entry[0], &f.entry[1]
	open := byte('{')
	for i := base; i < len(r.entries); i++ {
		e := r.entries[i] // A copy: maps within this one make the slice grow.
		r.out = append(r.out, open)
		open = ','
		if key.kind == protoreflect.StringKind {
			err = r.text(e.text)
		} else {
			r.out = append(r.out, '"')
			if key.kind == protoreflect.BoolKind {
				r.out = strconv.AppendBool(r.out, e.key != 0)
			} else {
				r.out = key.appendInteger(r.out, e.key)
			}
			r.out = append(r.out, '"')
		}
		if err != nil {
			return err
		}
		r.out = append(r.out, ':')
		if err := r.one(value, e.bits, e.content, depth-1, partial); err != nil {
			return err
		}
	}
	if open == '{' {
		r.out = append(r.out, '{')
	}
	r.out = append(r.out, '}')
	r.drop(base, mark)
	return nil
}

// sorted puts the entries of a map on the stack, sorted by their keys. Of equal keys the last one counts. The caller takes them away by drop.
func (r *reader) sorted(f *field, b []byte, s slot) (base, mark int, err error) {
	base, mark = len(r.entries), len(r.joined)
	inOrder := true
	err = f.each(b, s, func(_ uint64, content []byte) error {
		e, err := r.entry(f, content)
		e.place = len(r.entries) - base
		if n := len(r.entries); n > base && f.compare(&r.entries[n-1], &e) >= 0 {
			inOrder = false
		}
		r.entries = append(r.entries, e)
		return err
	})
	if err != nil || inOrder {
		return base, mark, err
	}
	all := r.entries[base:]
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(f.compare(&a, &b), a.place-b.place) })
	n := 0
	for i := range all {
		if i+1 == len(all) || f.compare(&all[i], &all[i+1]) != 0 {
			all[n] = all[i]
			n++
		}
	}
	clear(all[n:])
	r.entries = r.entries[:base+n]
	return base, mark, nil
}

// drop takes entries away.
func (r *reader) drop(base, mark int) {
	clear(r.entries[base:])
	r.entries, r.joined = r.entries[:base], r.joined[:mark]
}

// compare compares keys.
func (f *field) compare(a, b *entry) int {
	switch f.entry[0].kind {
	case protoreflect.StringKind:
		return bytes.Compare(a.text, b.text)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return cmp.Compare(a.key, b.key)
	}
	return cmp.Compare(int64(a.key), int64(b.key))
}

// entry reads an entry. A key or value that is missing is the default; parts of a message are merged.
func (r *reader) entry(f *field, b []byte) (e entry, err error) {
	key, value := &f.entry[0], &f.entry[1]
	parts, from := 0, len(r.joined)
	for at := 0; at < len(b); {
		number, wire, tag := protowire.ConsumeTag(b[at:])
		if tag < 0 {
			return e, errWire
		}
		n := 0
		switch {
		case number == 1 && key.takes(wire):
			e.key, e.text, _, n = key.value(b[at:])
		case number == 2 && value.takes(wire):
			var content []byte
			e.bits, content, _, n = value.value(b[at:])
			if parts++; parts > 1 && value.message != nil {
				if parts == 2 {
					r.joined = append(r.joined, e.content...)
				}
				r.joined = append(r.joined, content...)
				content = r.joined[from:]
			}
			e.content = content
		default:
			n = next(b, at) - at
		}
		if n <= 0 {
			return e, errWire
		}
		at += n
	}
	return e, nil
}
