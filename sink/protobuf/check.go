// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"errors"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/freehold-go/freehold/sink/record"
)

// deepest is how many messages may stand within each other, as in protobuf-go.
const deepest = protowire.DefaultRecursionLimit

// The reasons of bad messages. They have no part of the message, which may be secret.
var (
	errWire       = &record.Bad{Err: errors.New("the value is no message of Protocol Buffers")}
	errDepth      = &record.Bad{Err: errors.New("the value has more than 10,000 messages within each other")}
	errUTF8       = &record.Bad{Err: errors.New("the value has a string that is not UTF-8")}
	errMessageSet = &record.Bad{Err: errors.New("the value has a message with the old wire format of message sets")}
)

// unknown is the length of a field that the table does not have in this form.
const unknown = -1

// check says whether protobuf-go would decode the bytes: it follows all fields of all messages, also those that later ones replace.
func (t *Type) check(b []byte, depth int) error {
	if depth--; depth < 0 {
		return errDepth
	}
	if t.messageSet {
		return errMessageSet
	}
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 || number > protowire.MaxValidNumber {
			return errWire
		}
		b = b[n:]
		n = unknown
		if i := t.find(number); i >= 0 {
			var err error
			if n, err = t.fields[i].check(b, wire, depth); err != nil {
				return err
			}
		}
		if n == unknown {
			if n = protowire.ConsumeFieldValue(number, wire, b); n < 0 {
				return errWire
			}
		}
		b = b[n:]
	}
	return nil
}

// check checks a value and returns its length, or unknown.
func (f *field) check(b []byte, wire protowire.Type, depth int) (int, error) {
	switch {
	case f.entry != nil:
		if depth--; depth < 0 {
			return 0, errDepth
		}
		if wire != protowire.BytesType {
			return unknown, nil
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return 0, errWire
		}
		return n, f.checkEntry(v, depth)
	case !f.takes(wire):
		return unknown, nil
	case wire != f.wire: // packed
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return 0, errWire
		}
		return n, f.checkPacked(v)
	}
	return f.checkOne(b, wire, depth)
}

// checkOne checks a value that is neither packed nor a map's entry.
func (f *field) checkOne(b []byte, wire protowire.Type, depth int) (n int, err error) {
	var v []byte
	switch wire {
	case protowire.BytesType:
		v, n = protowire.ConsumeBytes(b)
	case protowire.StartGroupType:
		v, n = protowire.ConsumeGroup(f.number, b)
	default:
		n = protowire.ConsumeFieldValue(f.number, wire, b)
	}
	switch {
	case n < 0:
		return 0, errWire
	case f.message != nil:
		return n, f.message.check(v, depth)
	case f.kind == protoreflect.StringKind && f.utf8 && !utf8.Valid(v):
		return 0, errUTF8
	}
	return n, nil
}

func (f *field) checkPacked(b []byte) error {
	for len(b) > 0 {
		n := protowire.ConsumeFieldValue(f.number, f.wire, b)
		if n < 0 {
			return errWire
		}
		b = b[n:]
	}
	return nil
}

// checkEntry checks the entry of a map.
func (f *field) checkEntry(b []byte, depth int) error {
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 || number > protowire.MaxValidNumber {
			return errWire
		}
		b = b[n:]
		n = unknown
		if number == 1 || number == 2 {
			if part := &f.entry[number-1]; part.takes(wire) {
				var err error
				if n, err = part.checkOne(b, wire, depth); err != nil {
					return err
				}
			}
		}
		if n == unknown {
			if n = protowire.ConsumeFieldValue(number, wire, b); n < 0 {
				return errWire
			}
		}
		b = b[n:]
	}
	return nil
}
