// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"fmt"
	"math/rand/v2"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A writer makes random inputs for messages of a type: mostly well-formed, with fields in any order,
// repeated, packed and not, unknown, and of the wrong wire type.
type writer struct {
	*rand.Rand
	wild int // One of so many records is odd; 0 means none.
}

// message appends records of a message.
func (w *writer) message(b []byte, md protoreflect.MessageDescriptor, depth, records int) []byte {
	for range records {
		fields := md.Fields()
		if w.wild > 0 && w.IntN(w.wild) == 0 || fields.Len() == 0 {
			b = w.odd(b, md)
			continue
		}
		fd := fields.Get(w.IntN(fields.Len()))
		for range 1 + w.IntN(3)*w.IntN(2) { // Often several in a row.
			b = w.field(b, fd, depth)
		}
	}
	return b
}

// odd appends a record that a message does not expect.
func (w *writer) odd(b []byte, md protoreflect.MessageDescriptor) []byte {
	num := protowire.Number(1 + w.IntN(250))
	if w.IntN(8) == 0 {
		num = protowire.Number(1 + w.IntN(1<<29-1))
	}
	if n := md.ExtensionRanges().Len(); n > 0 && w.IntN(2) == 0 {
		num = md.ExtensionRanges().Get(0)[0] + protowire.Number(w.IntN(8))
	}
	wire := protowire.Type(w.IntN(4)) // Varint, Fixed64, Bytes, StartGroup.
	if w.IntN(4) == 0 {
		wire = protowire.Fixed32Type
	}
	b = w.tag(b, num, wire)
	switch wire {
	case protowire.VarintType:
		return w.varint(b)
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(b, w.Uint32())
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(b, w.Uint64())
	case protowire.StartGroupType:
		return protowire.AppendTag(protowire.AppendVarint(protowire.AppendTag(b, 3, 0), 7), num, protowire.EndGroupType)
	}
	return w.bytes(b, w.text())
}

// tag appends a tag, sometimes longer than it need be.
func (w *writer) tag(b []byte, num protowire.Number, wire protowire.Type) []byte {
	b = protowire.AppendTag(b, num, wire)
	if w.wild > 0 && w.IntN(4*w.wild) == 0 {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}

func (w *writer) bytes(b []byte, v []byte) []byte {
	b = protowire.AppendVarint(b, uint64(len(v)))
	if w.wild > 0 && w.IntN(4*w.wild) == 0 {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return append(b, v...)
}

func (w *writer) text() []byte {
	n := w.IntN(12)
	if w.IntN(20) == 0 {
		n = w.IntN(300)
	}
	b := make([]byte, 0, n+3)
	for len(b) < n {
		if w.IntN(30) == 0 {
			b = fmt.Append(b, "é")
			continue
		}
		b = append(b, byte('a'+w.IntN(26)))
	}
	if w.wild > 0 && w.IntN(20*w.wild) == 0 {
		b = append(b, 0xff)
	}
	return b
}

func (w *writer) varint(b []byte) []byte {
	v := w.Uint64() >> w.IntN(64)
	if w.IntN(4) == 0 {
		v = uint64(w.IntN(2))
	}
	b = protowire.AppendVarint(b, v)
	if w.wild > 0 && w.IntN(8*w.wild) == 0 && len(b) > 0 && v < 1<<56 {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}

// field appends a record of a field.
func (w *writer) field(b []byte, fd protoreflect.FieldDescriptor, depth int) []byte {
	num := fd.Number()
	_, wire := valueOf(fd)
	switch {
	case fd.IsMap():
		var e []byte
		for _, i := range [][]int{{1, 2}, {2, 1}, {1}, {2}, {}, {1, 2, 1, 2}, {2, 2, 1}, {1, 2}, {1, 2}}[w.IntN(9)] {
			f := fd.MapKey()
			if i == 2 {
				f = fd.MapValue()
			}
			_, wire := valueOf(f)
			e = w.value(w.tag(e, f.Number(), wire), f, depth)
		}
		if w.wild > 0 && w.IntN(w.wild) == 0 {
			e = w.odd(e, fd.Message())
		}
		return w.bytes(w.tag(b, num, protowire.BytesType), e)
	case fd.IsList() && wire != protowire.BytesType && wire != protowire.StartGroupType && w.IntN(2) == 0:
		var all []byte
		for range w.IntN(20) {
			all = w.value(all, fd, depth)
		}
		return w.bytes(w.tag(b, num, protowire.BytesType), all)
	}
	return w.value(w.tag(b, num, wire), fd, depth)
}

// value appends a value of a field.
func (w *writer) value(b []byte, fd protoreflect.FieldDescriptor, depth int) []byte {
	o, wire := valueOf(fd)
	switch wire {
	case protowire.VarintType:
		return w.varint(b)
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(b, w.Uint32())
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(b, w.Uint64())
	}
	records := 0
	if depth > 0 {
		records = w.IntN(5)
	}
	switch o {
	case opGroup:
		return protowire.AppendTag(w.message(b, fd.Message(), depth-1, records), fd.Number(), protowire.EndGroupType)
	case opMessage:
		return w.bytes(b, w.message(nil, fd.Message(), depth-1, records))
	}
	return w.bytes(b, w.text())
}
