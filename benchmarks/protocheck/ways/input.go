// SPDX-License-Identifier: Apache-2.0

package ways

import (
	"math/rand/v2"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Input is a random input for a message. One of three is well-formed throughout, the others have odd
// records, and some are cut or have a changed byte.
func Input(r *rand.Rand, md protoreflect.MessageDescriptor) []byte {
	w := writer{r, []int{0, 40, 8}[r.IntN(3)]}
	b := w.message(nil, md, 1+r.IntN(4), r.IntN(24))
	if w.odd != 0 && len(b) > 0 {
		switch r.IntN(6) {
		case 0:
			b = b[:r.IntN(len(b))]
		case 1:
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	}
	return b
}

// A writer writes random records.
type writer struct {
	*rand.Rand
	odd int // One record of so many is odd; 0 means none.
}

func (w writer) isOdd() bool { return w.odd != 0 && w.IntN(w.odd) == 0 }

// message appends records of a message.
func (w writer) message(b []byte, md protoreflect.MessageDescriptor, depth, records int) []byte {
	fields := md.Fields()
	for range records {
		if fields.Len() == 0 || w.isOdd() {
			b = w.unknown(b, md)
			continue
		}
		fd := fields.Get(w.IntN(fields.Len()))
		if x := w.extension(md); x != nil {
			fd = x
		}
		n := 1
		if w.IntN(4) == 0 {
			n += w.IntN(6) // A run of records.
		}
		for range n {
			b = w.field(b, fd, depth)
		}
	}
	return b
}

// extension is an extension of a message, now and then, or nil.
func (w writer) extension(md protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	if md.ExtensionRanges().Len() == 0 || w.IntN(6) != 0 {
		return nil
	}
	num := md.ExtensionRanges().Get(0)[0] + protowire.Number(w.IntN(4))
	x, err := protoregistry.GlobalTypes.FindExtensionByNumber(md.FullName(), num)
	if err != nil {
		return nil
	}
	return x.TypeDescriptor()
}

// field appends a record of a field.
func (w writer) field(b []byte, fd protoreflect.FieldDescriptor, depth int) []byte {
	wire := wireOf(fd)
	if fd.IsMap() {
		return w.bytes(w.tag(b, fd.Number(), protowire.BytesType), w.entry(fd, depth))
	}
	packable := fd.IsList() && wire != protowire.BytesType && wire != protowire.StartGroupType
	if packable && w.IntN(2) == 0 {
		var values []byte
		for range w.IntN(1 << w.IntN(8)) {
			values = w.value(values, fd, wire, depth)
		}
		return w.bytes(w.tag(b, fd.Number(), protowire.BytesType), values)
	}
	if w.isOdd() {
		return w.record(b, fd.Number()) // Of any wire type.
	}
	return w.value(w.tag(b, fd.Number(), wire), fd, wire, depth)
}

// entry is an entry of a map: key and value in any order, missing or more than once.
func (w writer) entry(fd protoreflect.FieldDescriptor, depth int) (b []byte) {
	order := []protoreflect.FieldDescriptor{fd.MapKey(), fd.MapValue()}
	if w.IntN(6) == 0 {
		order = order[:w.IntN(2)]
	}
	if w.IntN(6) == 0 {
		order = append(order, fd.MapValue(), fd.MapKey())[w.IntN(3):]
	}
	for _, f := range order {
		b = w.value(w.tag(b, f.Number(), wireOf(f)), f, wireOf(f), depth)
		if w.isOdd() {
			b = w.record(b, protowire.Number(1+w.IntN(4)))
		}
	}
	return b
}

// value appends a value without its tag.
func (w writer) value(b []byte, fd protoreflect.FieldDescriptor, wire protowire.Type, depth int) []byte {
	if wire != protowire.BytesType && wire != protowire.StartGroupType {
		return w.scalar(b, wire)
	}
	records := 0
	if depth > 0 {
		records = w.IntN(6)
	}
	switch {
	case wire == protowire.StartGroupType:
		return w.tag(w.message(b, fd.Message(), depth-1, records), fd.Number(), protowire.EndGroupType)
	case fd.Message() != nil:
		return w.bytes(b, w.message(nil, fd.Message(), depth-1, records))
	}
	return w.bytes(b, w.text())
}

// scalar appends a number.
func (w writer) scalar(b []byte, wire protowire.Type) []byte {
	switch wire {
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(b, w.Uint32()>>w.IntN(32))
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(b, w.Uint64()>>w.IntN(64))
	}
	return w.longer(protowire.AppendVarint(b, w.Uint64()>>w.IntN(65)))
}

// longer makes the varint at the end of b longer than it need be, now and then beyond ten bytes.
func (w writer) longer(b []byte) []byte {
	for w.odd != 0 && w.IntN(20) == 0 {
		b[len(b)-1] |= 0x80
		for range w.IntN(3) * w.IntN(5) {
			b = append(b, 0x80)
		}
		b = append(b, 0)
	}
	return b
}

func (w writer) tag(b []byte, num protowire.Number, wire protowire.Type) []byte {
	b = protowire.AppendTag(b, num, wire)
	if w.isOdd() && w.IntN(4) == 0 {
		return w.longer(b)
	}
	return b
}

func (w writer) bytes(b, v []byte) []byte {
	b = protowire.AppendVarint(b, uint64(len(v)))
	if w.isOdd() && w.IntN(4) == 0 {
		b = w.longer(b)
	}
	return append(b, v...)
}

// text is a string of up to some hundred bytes, now and then not UTF-8.
func (w writer) text() []byte {
	var b []byte
	for range w.IntN(1 << w.IntN(9)) {
		if w.IntN(8) == 0 {
			b = append(b, []string{"é", "日", "\U0001f600", "\x00"}[w.IntN(4)]...)
			continue
		}
		b = append(b, byte(' '+w.IntN(95)))
	}
	if w.odd != 0 && w.IntN(40) == 0 {
		b = append(b, byte(0x80+w.IntN(128)))
	}
	return b
}

// unknown appends a record that the message does not have, or has by chance: also one in a range of extensions, or with
// a number out of range.
func (w writer) unknown(b []byte, md protoreflect.MessageDescriptor) []byte {
	num := protowire.Number(1 + w.IntN(1<<w.IntN(30)))
	if n := md.ExtensionRanges().Len(); n > 0 && w.IntN(2) == 0 {
		num = md.ExtensionRanges().Get(0)[0] + protowire.Number(w.IntN(4))
	}
	if w.IntN(200) == 0 {
		num = 0
	}
	return w.record(b, min(num, protowire.MaxValidNumber))
}

// record appends a record of any wire type.
func (w writer) record(b []byte, num protowire.Number) []byte {
	wire := []protowire.Type{0, 1, 2, 3, 5, 0, 2, 2}[w.IntN(8)]
	if w.IntN(100) == 0 {
		wire = protowire.Type(w.IntN(8))
	}
	b = w.tag(b, num, wire)
	switch wire {
	case protowire.BytesType:
		return w.bytes(b, w.text())
	case protowire.StartGroupType:
		if w.IntN(3) == 0 {
			b = w.record(b, protowire.Number(1+w.IntN(30)))
		}
		return w.tag(b, num, protowire.EndGroupType)
	case protowire.VarintType, protowire.Fixed32Type, protowire.Fixed64Type:
		return w.scalar(b, wire)
	}
	return b
}

// wireOf is the wire type of a field's values when they are not packed.
func wireOf(fd protoreflect.FieldDescriptor) protowire.Type {
	switch fd.Kind() {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}
