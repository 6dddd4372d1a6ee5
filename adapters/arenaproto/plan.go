// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
	"github.com/freehold-go/freehold/arena"
)

type pointer = memory.Pointer

// An op says how a record of the wire becomes a part of a message.
type op uint8

const (
	opUnknown op = iota // No field of the message.
	opForeign           // A field that protobuf-go decodes.

	// Values, by the encoding of the wire and the memory that holds them.
	opBool
	opInt32 // A varint in four bytes.
	opInt64 // A varint in eight bytes.
	opZig32 // The same in zigzag encoding.
	opZig64
	opFixed32
	opFixed64
	opText  // A string that must be UTF-8.
	opChars // A string of any bytes.
	opBytes
	opBytesOrNil // Bytes that are nil if they are empty.
	opMessage
	opGroup

	// Places that hold values.
	opPointer // A pointer to a value that is no message.
	opOneof
	opMessages // A list of messages, each with a length.
	opGroups
	opPacked // A list whose values share one length.
	opList   // A list of other values, each with a tag.
	opMap
)

// A plan is how messages of one type are decoded. It does not change once it is known to the decoders.
type plan struct {
	typ  reflect.Type // A struct.
	desc protoreflect.MessageDescriptor
	kind *kind

	tags   [256]*field // By the first byte of a tag; nil if the tag has more.
	dense  []*field    // By number.
	sparse map[protowire.Number]*field
	fields []*field

	unknown    uintptr // The offset of the unknown fields.
	extensible bool    // protobuf-go decodes what no field takes: it may be an extension, or stand beside a foreign field's record.
	required   uint64  // The bits of the required fields.
	presence   uintptr // The offset of the presence bits.
	bits       uint32  // How many there are.

	// Facts about the message and all messages that it leads to.
	strings bool // One has a string or bytes, which are parts of the input.
	lazy    bool // One may hold fields that protobuf-go has not decoded yet.

	foreign string // Why protobuf-go decodes the whole message; empty if it does not.

	// Decoders of messages without an arena know how much memory messages of this type need.
	decoders sync.Pool
}

// A field is how one kind of record of a message is decoded. What each record needs stands first, in one line of
// the processor's cache.
type field struct {
	op     op
	value  op    // Of places: the op of the value.
	wire   uint8 // The wire type.
	lead   bool  // A varint stands behind the tag,
	sized  bool  // which is the length of what follows.
	extra  bool  // There is a presence bit, or the field is required.
	behind bool  // A list is behind a pointer.
	length uint8 // How many bytes the tag takes in its shortest form.

	offset    uintptr
	sub       *plan   // Of a message.
	kind      *kind   // What a place allocates.
	header    *kind   // Of a list behind a pointer: the slice's own type.
	tab       pointer // Of a oneof: the first word of the interface.
	size      uintptr // Of an element of a list.
	tag, mask uint64  // The tag as it lies on the wire, and its bytes.

	entry   *entry  // Of a map.
	word    uintptr // The offset of the word with the presence bit.
	needed  uint64  // The bit of a required field.
	bit     uint32  // The number of the presence bit, 0 for the first of all.
	present bool    // There is one.

	next   *field // For another wire type.
	desc   protoreflect.FieldDescriptor
	reason string // Of opForeign.
}

// An entry is how the entries of a map are decoded.
type entry struct {
	typ        *arena.UnsafeType // Of the map.
	key, value field
	levels     int                         // How much an entry counts towards the nesting of messages: 1 or 0.
	put        func(m, key, value pointer) // m is the address of the map.
}

// unknownField stands for all records that no field takes.
var unknownField = &field{op: opUnknown}

// field is the field of a number for a wire type.
func (p *plan) field(num protowire.Number, wire uint8) *field {
	var f *field
	if int(num) < len(p.dense) {
		f = p.dense[num]
	} else {
		f = p.sparse[num]
	}
	for f != nil && f.wire != wire && f.op != opForeign {
		f = f.next
	}
	if f == nil {
		return unknownField
	}
	return f
}

// mostDense is the number up to which fields are found by an index.
const mostDense = 1 << 11

// index makes the tables that find a field by its tag.
func (p *plan) index() {
	most := protowire.Number(0)
	for _, f := range p.fields {
		p.extensible = p.extensible || f.op == opForeign // Unknown records keep their order.
		if n := f.desc.Number(); n < mostDense {
			most = max(most, n)
		}
	}
	p.dense, p.sparse = make([]*field, most+1), nil
	for _, f := range p.fields {
		num := f.desc.Number()
		if num <= most {
			f.next, p.dense[num] = p.dense[num], f
			continue
		}
		if p.sparse == nil {
			p.sparse = make(map[protowire.Number]*field)
		}
		f.next, p.sparse[num] = p.sparse[num], f
	}
	for c := range 128 {
		p.tags[c] = unknownField
		if c>>3 != 0 {
			p.tags[c] = p.field(protowire.Number(c>>3), uint8(c&7))
		}
	}
}

// wireType is the field's wire type.
func (f *field) wireType() protowire.Type { return protowire.Type(f.wire) }

// setTag notes the field's tag.
func (f *field) setTag(num protowire.Number, wire protowire.Type) {
	b := protowire.AppendTag(nil, num, wire)
	f.wire, f.length, f.mask, f.tag = uint8(wire), uint8(len(b)), 1<<(8*len(b))-1, 0
	f.lead, f.sized = wire == protowire.VarintType || wire == protowire.BytesType, wire == protowire.BytesType
	for i, c := range b {
		f.tag |= uint64(c) << (8 * i)
	}
}

// A kind is a type of the values that decoders allocate.
type kind struct {
	mem    *arena.UnsafeType
	size   uintptr
	few    int // As many values at most are cut from a cursor at once.
	number int // Of the kind's cursor in a decoder.
}

// known has the kinds of all plans by their types.
var known struct {
	sync.Mutex
	byType map[reflect.Type]*kind
}

var wordKind = kindOf(reflect.TypeFor[uint64]())

// kindOf is the kind of values of t, whose size is not 0. Numbers are words: words are cheaper than
// four bytes, which would be cleared one by one.
func kindOf(t reflect.Type) *kind {
	if isNumber(t) {
		t = reflect.TypeFor[uint64]()
	}
	known.Lock()
	defer known.Unlock()
	k := known.byType[t]
	if k == nil {
		const most = 1 << 20 // Of UnsafeCursor.Take.
		k = &kind{mem: arena.UnsafeTypeOf(t), size: t.Size(), few: int(most / t.Size()), number: len(known.byType)}
		if known.byType == nil {
			known.byType = make(map[reflect.Type]*kind)
		}
		known.byType[t] = k
	}
	return k
}

// isNumber reports whether t is a number or a struct with one, as wrappers of members of oneofs are.
func isNumber(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return true
	case reflect.Struct:
		return t.NumField() == 1 && isNumber(t.Field(0).Type)
	}
	return false
}
