// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"math"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/freehold-go/freehold/sink/record"
)

// A slot says where a field stands in the bytes of its message: 1 + the offset of the tag, first and last. Zero means nowhere.
type slot struct{ first, last uint32 }

// A reader is the scratch memory of one goroutine. The slices grow and shrink as stacks.
type reader struct {
	out     []byte  // text
	slots   []slot  // of the messages that are being read, the outer ones first
	entries []entry // of the maps that are being read
	joined  []byte  // messages whose parts stand apart
}

var readers struct {
	sync.Mutex
	free []*reader // A list instead of a sync.Pool, which a collection empties.
}

// kept bounds the memory that a reader keeps for the next message.
const kept = 1 << 20

func take() *reader {
	readers.Lock()
	defer readers.Unlock()
	if n := len(readers.free); n > 0 {
		r := readers.free[n-1]
		readers.free = readers.free[:n-1]
		return r
	}
	return &reader{}
}

func (r *reader) release() {
	r.reset()
	readers.Lock()
	readers.free = append(readers.free, r)
	readers.Unlock()
}

// held is the number of bytes that a reader holds.
func (r *reader) held() int { return cap(r.out) + 8*cap(r.slots) + cap(r.joined) + 100*cap(r.entries) }

// reset makes a reader ready for another message.
func (r *reader) reset() {
	if r.held() > kept {
		*r = reader{}
	}
	clear(r.entries) // After an error some are left.
	r.out, r.slots, r.joined, r.entries = r.out[:0], r.slots[:0], r.joined[:0], r.entries[:0]
}

// scan finds the fields of a message: those of its table in slots[base:], with a slot for each oneof behind them. The caller cuts the
// slots off again. The part of the bytes that belongs to a field may have been checked or not.
func (r *reader) scan(t *Type, b []byte, partial bool) (base int, err error) {
	if uint64(len(b)) >= math.MaxUint32 {
		return 0, errWire
	}
	base = len(r.slots)
	n := len(t.fields) + t.oneofs
	r.slots = slices.Grow(r.slots, n)[:base+n]
	slots := r.slots[base:]
	clear(slots)
	for at := 0; at < len(b); {
		number, wire, tag := protowire.ConsumeTag(b[at:])
		if tag < 0 {
			return base, errWire
		}
		n := protowire.ConsumeFieldValue(number, wire, b[at+tag:])
		if n < 0 {
			return base, errWire
		}
		if i := t.find(number); i >= 0 && t.fields[i].takes(wire) {
			if o := t.fields[i].oneof; o > 0 { // The last one of a oneof clears the others.
				set := &slots[len(t.fields)+o-1]
				if other := int(set.first) - 1; other >= 0 && other != i {
					slots[other] = slot{}
				}
				set.first = uint32(i + 1)
			}
			s := &slots[i]
			if s.last = uint32(at + 1); s.first == 0 {
				s.first = s.last
			}
		}
		at += tag + n
	}
	if t.required && !partial {
		for i := range t.fields {
			if t.fields[i].required && slots[i].first == 0 {
				return base, record.Badf("the value lacks the required field %s of %s", t.fields[i].name, t.name)
			}
		}
	}
	return base, nil
}

// value returns the value of a field whose tag begins b, and the length of both: the content of bytes, messages and groups, otherwise the number. Packed
// reports that the content has many numbers.
func (f *field) value(b []byte) (bits uint64, content []byte, packed bool, n int) {
	number, wire, tag := protowire.ConsumeTag(b)
	if tag < 0 {
		return 0, nil, false, tag
	}
	switch wire {
	case protowire.BytesType:
		content, n = protowire.ConsumeBytes(b[tag:])
		packed = f.wire != wire
	case protowire.StartGroupType:
		content, n = protowire.ConsumeGroup(number, b[tag:])
	default:
		bits, n = f.number64(b[tag:])
	}
	if n < 0 {
		return 0, nil, false, n
	}
	return bits, content, packed, tag + n
}

// number64 reads a number: signed ones with their sign, floats as their bits.
func (f *field) number64(b []byte) (bits uint64, n int) {
	switch f.wire {
	case protowire.Fixed32Type:
		v, n := protowire.ConsumeFixed32(b)
		if f.kind == protoreflect.Sfixed32Kind {
			return uint64(int64(int32(v))), n
		}
		return uint64(v), n
	case protowire.Fixed64Type:
		return protowire.ConsumeFixed64(b)
	}
	v, n := protowire.ConsumeVarint(b)
	switch f.kind {
	case protoreflect.BoolKind:
		return protowire.EncodeBool(protowire.DecodeBool(v)), n
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		return uint64(int64(int32(v))), n
	case protoreflect.Sint32Kind:
		return uint64(int64(int32(protowire.DecodeZigZag(v & math.MaxUint32)))), n
	case protoreflect.Sint64Kind:
		return uint64(protowire.DecodeZigZag(v)), n
	case protoreflect.Uint32Kind:
		return uint64(uint32(v)), n
	}
	return v, n
}

// next returns the offset behind the field at an offset, or a negative number.
func next(b []byte, at int) int {
	number, wire, tag := protowire.ConsumeTag(b[at:])
	if tag < 0 {
		return tag
	}
	n := protowire.ConsumeFieldValue(number, wire, b[at+tag:])
	if n < 0 {
		return n
	}
	return at + tag + n
}

// each calls do with each value of a field, packed or not, in the order of the bytes.
func (f *field) each(b []byte, s slot, do func(bits uint64, content []byte) error) error {
	for at := int(s.first) - 1; at >= 0 && at < int(s.last); {
		number, wire, tag := protowire.ConsumeTag(b[at:])
		if tag < 0 {
			return errWire
		}
		if number != f.number || !f.takes(wire) {
			if at = next(b, at); at < 0 {
				return errWire
			}
			continue
		}
		bits, content, packed, n := f.value(b[at:])
		if n < 0 {
			return errWire
		}
		at += n
		if !packed {
			if err := do(bits, content); err != nil {
				return err
			}
			continue
		}
		for len(content) > 0 {
			bits, n := f.number64(content)
			if n < 0 {
				return errWire
			}
			content = content[n:]
			if err := do(bits, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// join returns the content of a message field: where it stands once, or the parts one behind the other, which means that they are merged. What it appends
// to joined the caller cuts off.
func (r *reader) join(f *field, b []byte, s slot) ([]byte, error) {
	if s.first == s.last {
		_, content, _, n := f.value(b[s.first-1:])
		if n < 0 {
			return nil, errWire
		}
		return content, nil
	}
	from := len(r.joined)
	err := f.each(b, s, func(_ uint64, content []byte) error {
		r.joined = append(r.joined, content...)
		return nil
	})
	return r.joined[from:], err
}
