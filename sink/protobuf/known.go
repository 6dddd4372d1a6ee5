// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/freehold-go/freehold/sink/record"
)

// A wellKnown is a message of google.protobuf that has a form of its own in JSON.
type wellKnown int8

const (
	_ wellKnown = iota
	isAny
	isTimestamp
	isDuration
	isWrapper
	isStruct
	isList
	isValue
	isMask
)

var wellKnownNames = map[protoreflect.FullName]wellKnown{
	"google.protobuf.Any": isAny, "google.protobuf.Timestamp": isTimestamp, "google.protobuf.Duration": isDuration,
	"google.protobuf.BoolValue": isWrapper, "google.protobuf.Int32Value": isWrapper, "google.protobuf.Int64Value": isWrapper, "google.protobuf.UInt32Value": isWrapper,
	"google.protobuf.UInt64Value": isWrapper, "google.protobuf.FloatValue": isWrapper, "google.protobuf.DoubleValue": isWrapper, "google.protobuf.StringValue": isWrapper,
	"google.protobuf.BytesValue": isWrapper, "google.protobuf.Struct": isStruct, "google.protobuf.ListValue": isList, "google.protobuf.Value": isValue, "google.protobuf.FieldMask": isMask,
}

// knownType says which well-known type a message is, 0 if none. Files may have a message with such a name and other fields, which is an error.
func knownType(m protoreflect.MessageDescriptor) (wellKnown, error) {
	k := wellKnownNames[m.FullName()]
	if k == 0 {
		return 0, nil
	}
	for _, f := range known {
		want := f.Messages().ByName(m.Name())
		if want == nil {
			continue
		}
		for i := range want.Fields().Len() {
			w := protodesc.ToFieldDescriptorProto(want.Fields().Get(i))
			d := m.Fields().ByNumber(want.Fields().Get(i).Number())
			if d == nil || !alike(protodesc.ToFieldDescriptorProto(d), w) {
				return 0, fmt.Errorf("the message %s of the descriptors has other fields than the well-known one", m.FullName())
			}
		}
	}
	return k, nil
}

func alike(a, b *descriptorpb.FieldDescriptorProto) bool {
	return a.GetName() == b.GetName() && a.GetType() == b.GetType() && a.GetLabel() == b.GetLabel() && a.GetTypeName() == b.GetTypeName() && a.GetProto3Optional() == b.GetProto3Optional()
}

// wellKnown writes a message that has a form of its own.
func (r *reader) wellKnown(t *Type, b []byte, depth int, partial bool) error {
	switch t.known {
	case isAny:
		return r.any(t, b, depth)
	case isTimestamp:
		return r.timestamp(t, b)
	case isDuration:
		return r.duration(t, b)
	case isMask:
		return r.mask(t, b)
	}
	base, err := r.scan(t, b, partial)
	if err != nil {
		return err
	}
	for i := range t.fields {
		s := r.slots[base+i]
		if s.first == 0 {
			continue
		}
		r.slots = r.slots[:base]
		return r.knownField(t, &t.fields[i], b, s, depth, partial)
	}
	r.slots = r.slots[:base]
	switch t.known {
	case isStruct:
		r.out = append(r.out, "{}"...)
	case isList:
		r.out = append(r.out, "[]"...)
	case isValue:
		return errNoKind
	default:
		return r.one(&t.fields[0], 0, nil, depth, partial)
	}
	return nil
}

var (
	errNoKind   = &record.Bad{Err: errors.New("the value has a google.protobuf.Value without a kind")}
	errNoNumber = &record.Bad{Err: errors.New("the value has a google.protobuf.Value that is no finite number")}
)

// knownField writes the one field that is set in a Struct, ListValue, Value or wrapper.
func (r *reader) knownField(t *Type, f *field, b []byte, s slot, depth int, partial bool) error {
	if t.known == isValue && f.kind == protoreflect.DoubleKind {
		if bits, _, _, _ := f.value(b[s.last-1:]); math.IsNaN(math.Float64frombits(bits)) || math.IsInf(math.Float64frombits(bits), 0) {
			return errNoNumber
		}
	}
	if t.known == isWrapper {
		bits, content, _, n := f.value(b[s.last-1:])
		if n < 0 {
			return errWire
		}
		return r.one(f, bits, content, depth, partial) // Also if it is zero.
	}
	_, err := r.field(f, b, s, depth, partial)
	return err
}

// last returns the last value of the field with a number, which is neither a list nor a message. A field that is not there is zero.
func (t *Type) last(b []byte, number protowire.Number) (bits uint64, content []byte, err error) {
	f := &t.fields[t.find(number)]
	for at := 0; at < len(b); {
		n, wire, tag := protowire.ConsumeTag(b[at:])
		if tag < 0 {
			return 0, nil, errWire
		}
		if n == number && f.takes(wire) {
			bits, content, _, _ = f.value(b[at:])
		}
		if at = next(b, at); at < 0 {
			return 0, nil, errWire
		}
	}
	return bits, content, nil
}

// seconds returns the fields of a Timestamp or Duration.
func (t *Type) seconds(b []byte) (seconds, nanos int64, err error) {
	s, _, err := t.last(b, 1)
	n, _, err2 := t.last(b, 2)
	return int64(s), int64(n), errors.Join(err, err2)
}

var (
	errTimestamp = &record.Bad{Err: errors.New("the value has a google.protobuf.Timestamp that is out of range")}
	errDuration  = &record.Bad{Err: errors.New("the value has a google.protobuf.Duration that is out of range")}
)

// moment returns the fields of a Timestamp, which must be in the range.
func (t *Type) moment(b []byte) (seconds, nanos int64, err error) {
	if seconds, nanos, err = t.seconds(b); err != nil {
		return 0, 0, err
	}
	if seconds < -62135596800 || seconds > 253402300799 || nanos < 0 || nanos > 999999999 {
		return 0, 0, errTimestamp
	}
	return seconds, nanos, nil
}

func (r *reader) timestamp(t *Type, b []byte) error {
	seconds, nanos, err := t.moment(b)
	if err != nil {
		return err
	}
	r.out = time.Unix(seconds, 0).UTC().AppendFormat(append(r.out, '"'), "2006-01-02T15:04:05")
	r.fraction(nanos)
	r.out = append(r.out, 'Z', '"')
	return nil
}

// fraction writes 0, 3, 6 or 9 digits behind the point.
func (r *reader) fraction(nanos int64) {
	if nanos == 0 {
		return
	}
	digits := 9
	for nanos%1000 == 0 {
		nanos /= 1000
		digits -= 3
	}
	unit := int64(100)
	for range digits - 3 {
		unit *= 10
	}
	r.out = append(r.out, '.')
	for ; unit > 0; unit /= 10 {
		r.out = append(r.out, byte('0'+nanos/unit%10))
	}
}

func (r *reader) duration(t *Type, b []byte) error {
	seconds, nanos, err := t.seconds(b)
	if err != nil {
		return err
	}
	if max(seconds, -seconds) > 315576000000 || seconds == math.MinInt64 || max(nanos, -nanos) > 999999999 || seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0 {
		return errDuration
	}
	r.out = append(r.out, '"')
	if seconds < 0 || nanos < 0 {
		r.out = append(r.out, '-')
		seconds, nanos = -seconds, -nanos
	}
	r.out = strconv.AppendInt(r.out, seconds, 10)
	r.fraction(nanos)
	r.out = append(r.out, 's', '"')
	return nil
}

var errMask = &record.Bad{Err: errors.New("the value has a google.protobuf.FieldMask with a path that JSON cannot have")}

// mask writes the paths of a FieldMask in camelCase.
func (r *reader) mask(t *Type, b []byte) error {
	base, err := r.scan(t, b, true)
	if err != nil {
		return err
	}
	f := &t.fields[t.find(1)]
	s := r.slots[base+t.find(1)]
	r.slots = r.slots[:base]
	r.out = append(r.out, '"')
	first := true
	err = f.each(b, s, func(_ uint64, path []byte) error {
		if !first {
			r.out = append(r.out, ',')
		}
		first = false
		return r.camel(path)
	})
	r.out = append(r.out, '"')
	return err
}

// camel writes a path. Each name is an identifier, and an underscore stands in front of a small letter: otherwise nobody could read the path back.
func (r *reader) camel(path []byte) error {
	begins := true
	for i := 0; i < len(path); i++ {
		c := path[i]
		letter := 'a' <= c && c <= 'z' || c == '_'
		switch {
		case c == '.' && !begins:
			begins = true
		case letter && c != '_', '0' <= c && c <= '9' && !begins:
			begins = false
		case c == '_' && i+1 < len(path) && 'a' <= path[i+1] && path[i+1] <= 'z':
			i++
			c = path[i] - 'a' + 'A'
			begins = false
		default:
			return errMask
		}
		r.out = append(r.out, c)
	}
	if begins {
		return errMask
	}
	return nil
}

var (
	errNoType  = &record.Bad{Err: errors.New("the value has a google.protobuf.Any without a type")}
	errAnyType = &record.Bad{Err: errors.New("the value has a google.protobuf.Any with a type that the descriptors do not have")}
)

// any writes the message within an Any, whose type is one of the set.
func (r *reader) any(t *Type, b []byte, depth int) error {
	_, url, err := t.last(b, 1)
	_, content, err2 := t.last(b, 2)
	switch {
	case err != nil || err2 != nil:
		return errWire
	case len(url) == 0 && len(content) == 0:
		r.out = append(r.out, "{}"...)
		return nil
	case len(url) == 0:
		return errNoType
	}
	name := url[bytes.LastIndexByte(url, '/')+1:]
	of := t.set.typeOf(name)
	if of == nil {
		if of, err = t.set.lookup(string(name)); err != nil {
			return errAnyType
		}
	}
	if err := of.check(content, depth); err != nil {
		return err
	}
	r.out = append(r.out, `{"@type":`...)
	if err := r.text(url); err != nil {
		return err
	}
	if of.known != 0 {
		r.out = append(r.out, `,"value":`...)
		err = r.message(of, content, depth, true)
	} else {
		err = r.members(of, content, depth-1, true, true)
	}
	r.out = append(r.out, '}')
	return err
}
