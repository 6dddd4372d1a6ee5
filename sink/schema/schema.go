// SPDX-License-Identifier: Apache-2.0

// Package schema prepares values that carry the framing of a schema registry, or are messages of Protocol Buffers.
//
// The framing is Confluent's wire format, which most registries share: a zero byte, the schema's id in four bytes, and for Protocol Buffers
// the indexes that lead to the message within the schema's file. A Registry fetches schemas by their ids, once each.
//
// If the registry does not answer, records wait for it: nothing is lost, and fetching stops when the memory in flight is used up. An id that the registry does
// not know makes a record bad.
package schema

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/freehold-go/freehold/sink/protobuf"
	"github.com/freehold-go/freehold/sink/record"
)

// Framing says what is done with the framing of values.
type Framing string

// The choices for framing.
const (
	NoFraming    Framing = ""      // Values have none.
	StripFraming Framing = "strip" // Values have one, and it is taken off.
	KeepFraming  Framing = "keep"  // Values have one, and it stays.
)

// Options are the options of New.
type Options struct {
	// Framing says what is done with the framing. A value that should have a framing and has none makes its record bad.
	Framing Framing
	// Registry knows the schemas. Without one ids are not looked up, and the framing is taken to be five bytes, with indexes behind
	// them if there is a Type.
	Registry *Registry
	// Type says that all values are messages of this type. The indexes of the framing do not matter then.
	Type *protobuf.Type
	// Messages says that values are messages of the types that the registry has. A value with another schema makes its record bad. The registry
	// must have been made with RegistryOptions.Messages.
	Messages bool
}

// Values prepares the values of records. Its methods may be called by several goroutines at once.
type Values struct{ o Options }

// New checks options.
func New(o Options) (*Values, error) {
	switch o.Framing {
	case NoFraming:
		if o.Registry != nil {
			return nil, errors.New("values: there is a schema registry, but values have no framing with an id")
		}
	case StripFraming, KeepFraming:
	default:
		return nil, fmt.Errorf("values: the framing %q: choose strip or keep", string(o.Framing))
	}
	switch {
	case o.Messages && o.Type != nil:
		return nil, errors.New("values: messages have the types of the registry, but there is a type for all of them")
	case o.Messages && (o.Registry == nil || o.Registry.o.Messages == nil):
		return nil, errors.New("values: messages have the types of a schema registry, but there is none that compiles schemas")
	}
	return &Values{o}, nil
}

// framed is the length of the framing without indexes.
const framed = 5

var (
	errShort   = &record.Bad{Err: errors.New("the value has no framing of a schema registry: it is shorter than 5 bytes")}
	errMagic   = &record.Bad{Err: errors.New("the value has no framing of a schema registry: its first byte is not 0")}
	errIndexes = &record.Bad{Err: errors.New("the framing of the value has indexes of a message that cannot be read")}
)

// Prepare takes the framing off a record's value, or notes its length, and sets the record's Schema if the value is a message. A record without a value stays as it
// is. Prepare allocates nothing once the schema is known. If the registry does not answer, it waits until ctx ends.
func (v *Values) Prepare(ctx context.Context, r *record.Record) error {
	if v.o.Type != nil {
		r.Schema = v.o.Type
	}
	if r.Value == nil || v.o.Framing == NoFraming {
		return nil
	}
	switch {
	case len(r.Value) < framed:
		return errShort
	case r.Value[0] != 0:
		return errMagic
	}
	length, indexed := framed, v.o.Type != nil
	var s *fetched
	if v.o.Registry != nil {
		var err error
		if s, err = v.o.Registry.get(ctx, int32(binary.BigEndian.Uint32(r.Value[1:]))); err != nil {
			return err
		}
		indexed = s.kind == sr.TypeProtobuf
	}
	if indexed {
		n := indexes(r.Value[framed:])
		if n < 0 {
			return errIndexes
		}
		length += n
	}
	if v.o.Messages {
		t, err := s.message(r.Value[framed:length])
		if err != nil {
			return err
		}
		r.Schema = t
	}
	if v.o.Framing == StripFraming {
		r.Value, length = r.Value[length:], 0
	}
	r.Framed = length
	return nil
}

// indexes is the length of the indexes of a message at the beginning of b, or a negative number if there are none. A count comes first;
// 0 means one index, which is 0. All numbers are zigzag varints.
func indexes(b []byte) int {
	count, n := binary.Varint(b)
	if n <= 0 || count < 0 || count > mostIndexes {
		return -1
	}
	for range count {
		index, k := binary.Varint(b[n:])
		if k <= 0 || index < 0 || index > math.MaxInt32 {
			return -1
		}
		n += k
	}
	return n
}

// mostIndexes bounds how deep messages are declared within messages.
const mostIndexes = 32
