// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// AppendField appends the field at a path, in JSON. It reads no more than that, and checks no more. If the path leads on within the
// JSON (into a map, a google.protobuf.Struct, a google.protobuf.Any), rest is the number of names that are left; otherwise it is 0. Nothing is appended if the message
// lacks the field.
//
// The names are those of the .proto file or those of ProtoJSON. A field is as AppendJSON writes it, with two exceptions: an integer of 64
// bits is a number, and a field that has no presence and is not there is zero.
func (t *Type) AppendField(dst, value []byte, path []string) (result []byte, rest int, err error) {
	r := take()
	defer r.release()
	depth := deepest
	for i, name := range path {
		if t.known != 0 {
			dst, err = r.appended(dst, func() error { return r.message(t, value, depth, true) })
			return dst, len(path) - i, err
		}
		at, ok := t.byName[name]
		if !ok {
			return dst, 0, nil
		}
		f := &t.fields[at]
		s, err := t.locate(value, at)
		if err != nil {
			return dst, 0, err
		}
		last := i+1 == len(path)
		switch {
		case s.first == 0:
			if last && !f.presence && !f.list && f.entry == nil {
				dst, err = r.appended(dst, func() error { return r.scalar(f, 0, nil) })
				return dst, 0, err
			}
			return dst, 0, nil
		case f.list || f.entry != nil || f.message == nil && !last:
			if !last && f.entry == nil {
				return dst, 0, nil // Lists and scalars have no fields.
			}
			dst, err = r.appended(dst, func() error { _, err := r.field(f, value, s, depth, true); return err })
			return dst, len(path) - i - 1, err
		case f.message == nil:
			bits, content, _, n := f.value(value[s.last-1:])
			if n < 0 {
				return dst, 0, errWire
			}
			dst, err = r.appended(dst, func() error { return r.scalar(f, bits, content) })
			return dst, 0, err
		}
		if value, err = r.join(f, value, s); err != nil {
			return dst, 0, err
		}
		t, depth = f.message, depth-1
	}
	if t.known == isWrapper {
		bits, content, err := t.last(value, 1)
		if err != nil {
			return dst, 0, err
		}
		dst, err = r.appended(dst, func() error { return r.scalar(&t.fields[0], bits, content) })
		return dst, 0, err
	}
	dst, err = r.appended(dst, func() error { return r.message(t, value, depth, true) })
	return dst, 0, err
}

// scalar writes a value that is no message; integers of 64 bits as numbers.
func (r *reader) scalar(f *field, bits uint64, content []byte) error {
	switch f.kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind, protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		r.out = f.appendInteger(r.out, bits)
		return nil
	}
	return r.one(f, bits, content, 0, true)
}

// locate finds one field of a message.
func (t *Type) locate(b []byte, i int) (s slot, err error) {
	f := &t.fields[i]
	for at := 0; at < len(b); {
		number, wire, tag := protowire.ConsumeTag(b[at:])
		if tag < 0 {
			return s, errWire
		}
		n := protowire.ConsumeFieldValue(number, wire, b[at+tag:])
		if n < 0 {
			return s, errWire
		}
		switch {
		case number == f.number && f.takes(wire):
			if s.last = uint32(at + 1); s.first == 0 {
				s.first = s.last
			}
		case f.oneof > 0:
			if j := t.find(number); j >= 0 && t.fields[j].oneof == f.oneof && t.fields[j].takes(wire) {
				s = slot{}
			}
		}
		at += tag + n
	}
	return s, nil
}

// CheckPath says in its error what is wrong with a path: no message of the type could have the field. Unit is what a time at the path is written in,
// "ms", "s" or "rfc3339", or empty if the field is no time. Kind is what the field has: Message stands for any JSON of an object or array, and JSON for a field that
// may have anything. A list has elements of the kind.
func (t *Type) CheckPath(path []string, unit string) (k Kind, list bool, err error) {
	for i := 0; i < len(path); i++ {
		if t.known != 0 {
			return JSON, false, nil
		}
		name := path[i]
		at, ok := t.byName[name]
		if !ok {
			return 0, false, fmt.Errorf("the message %s has no field %q; it has %s", t.name, name, t.fieldNames())
		}
		f := &t.fields[at]
		if f.entry != nil && i+1 < len(path) { // The next name is a key of the map.
			i++
			f = &f.entry[1]
		}
		switch last := i+1 == len(path); {
		case !last && (f.list || f.message == nil || f.message.closed()):
			return 0, false, fmt.Errorf("the field %q of the message %s is no message, so %q leads nowhere", name, t.name, strings.Join(path, "."))
		case !last:
			t = f.message
			continue
		case unit != "" && !f.hasTime(unit):
			err = fmt.Errorf("the field %q of the message %s has no time in the unit %s", name, t.name, unit)
			if f.message != nil && f.message.known == isTimestamp {
				err = fmt.Errorf("the field %q of the message %s is a google.protobuf.Timestamp: its unit is rfc3339", name, t.name)
			}
			return 0, false, err
		case f.entry != nil:
			return Map, false, nil
		case f.message != nil && f.message.composed():
			return Message, f.list, nil
		}
		return f.columnKind(), f.list, nil
	}
	return Message, false, nil
}

// closed reports whether the JSON of a message has no members, or none that a path leads to.
func (t *Type) closed() bool {
	return t.known == isTimestamp || t.known == isDuration || t.known == isMask || t.known == isWrapper || t.known == isList
}

// composed reports whether the JSON of a message is always an object or array.
func (t *Type) composed() bool {
	return t.known == 0 || t.known == isStruct || t.known == isList || t.known == isAny
}

// hasTime reports whether there are values of the field that have a time in the unit.
func (f *field) hasTime(unit string) bool {
	switch {
	case f.list || f.entry != nil:
		return false
	case f.message != nil:
		m := f.message
		return m.known == isValue || m.known == isTimestamp && unit == "rfc3339" || m.known == isWrapper && m.fields[0].hasTime(unit)
	case f.kind == protoreflect.StringKind:
		return true
	}
	return unit != "rfc3339" && f.kind != protoreflect.BoolKind && f.kind != protoreflect.EnumKind && f.kind != protoreflect.BytesKind
}

// fieldNames lists the fields of a message.
func (t *Type) fieldNames() string {
	var names []string
	for i := range t.fields {
		names = append(names, t.fields[i].name)
	}
	return list(names, 20)
}
