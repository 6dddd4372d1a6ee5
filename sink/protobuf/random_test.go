// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"math"
	"math/rand/v2"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A maker writes random messages, most of which protobuf-go accepts: fields in any order, several times, packed or not, with other types, unknown ones.
type maker struct {
	*rand.Rand
	w *world
}

func (g *maker) chance(percent int) bool { return g.IntN(100) < percent }

// message writes a message.
func (g *maker) message(m protoreflect.MessageDescriptor, depth int) (b []byte) {
	var fields []protoreflect.FieldDescriptor
	for i := range m.Fields().Len() {
		fields = append(fields, m.Fields().Get(i))
	}
	for _, x := range g.w.set.extensions[m.FullName()] {
		fields = append(fields, x)
	}
	switch m.FullName() {
	case "google.protobuf.Any":
		if g.chance(90) {
			return g.any(depth)
		}
	case "google.protobuf.Timestamp", "google.protobuf.Duration":
		if g.chance(95) {
			b = protowire.AppendVarint(protowire.AppendTag(b, 1, protowire.VarintType), uint64(g.Int64N(400_000_000)))
			return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), uint64(g.Int64N(1000))*[]uint64{1, 1000, 1_000_000, 0}[g.IntN(4)])
		}
	case "google.protobuf.FieldMask":
		if g.chance(90) {
			for range g.IntN(3) {
				b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), []string{"a", "a_b.c_d", "x.y_z", "_a"}[g.IntN(4)])
			}
			return b
		}
	}
	for _, f := range fields { // What is required is mostly there.
		if f.Cardinality() == protoreflect.Required && g.chance(97) || m.FullName() == "google.protobuf.Value" && f.Number() == 3 && g.chance(90) {
			b = g.field(b, f, depth)
		}
	}
	if depth <= 0 || len(fields) == 0 {
		return b
	}
	for range g.IntN(6) {
		b = g.field(b, fields[g.IntN(len(fields))], depth-1)
	}
	if g.chance(5) {
		b = append(b, "\xa2\x7d\x01x\xab\x7d\xac\x7d\x90\x7d\x05"...) // Unknown fields: bytes, a group and a number, of numbers near 2,000.
	}
	return b
}

func (g *maker) any(depth int) (b []byte) {
	names := append([]string{"google.protobuf.Duration", "google.protobuf.Empty", "google.protobuf.Struct", "google.protobuf.Int64Value"}, messages...)
	name := names[g.IntN(len(names))]
	m, err := g.w.types.FindMessageByName(protoreflect.FullName(name))
	if err != nil {
		panic(err)
	}
	if g.chance(2) {
		name = "test.Nowhere"
	}
	if g.chance(97) {
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), []string{"type.googleapis.com/", "", "x/y/"}[g.IntN(3)]+name)
	}
	if g.chance(90) {
		b = protowire.AppendBytes(protowire.AppendTag(b, 2, protowire.BytesType), g.message(m.Descriptor(), depth-1))
	}
	return b
}

// field writes a field with its tag.
func (g *maker) field(b []byte, f protoreflect.FieldDescriptor, depth int) []byte {
	if g.chance(1) { // Another type than the field has.
		wire := []protowire.Type{protowire.VarintType, protowire.Fixed32Type, protowire.Fixed64Type, protowire.BytesType, protowire.StartGroupType}[g.IntN(5)]
		return g.other(protowire.AppendTag(b, f.Number(), wire), f.Number(), wire)
	}
	switch {
	case f.IsMap():
		var entry []byte
		parts := []protoreflect.FieldDescriptor{f.MapKey(), f.MapValue()}
		if g.chance(20) {
			parts = [][]protoreflect.FieldDescriptor{{f.MapValue(), f.MapKey()}, {f.MapKey()}, {f.MapValue()}, {}, {f.MapValue(), f.MapKey(), f.MapValue()}, {f.MapKey(), f.MapKey(), f.MapValue(), f.MapValue()}}[g.IntN(6)]
		}
		for _, p := range parts {
			entry = g.field(entry, p, depth)
		}
		return protowire.AppendBytes(protowire.AppendTag(b, f.Number(), protowire.BytesType), entry)
	case f.IsList() && wireOf(f.Kind()) != protowire.BytesType && wireOf(f.Kind()) != protowire.StartGroupType && g.chance(50):
		var packed []byte
		for range g.IntN(4) {
			packed = g.value(packed, f, depth)
		}
		return protowire.AppendBytes(protowire.AppendTag(b, f.Number(), protowire.BytesType), packed)
	}
	return g.value(protowire.AppendTag(b, f.Number(), wireOf(f.Kind())), f, depth)
}

func (g *maker) other(b []byte, n protowire.Number, wire protowire.Type) []byte {
	switch wire {
	case protowire.VarintType:
		return protowire.AppendVarint(b, g.Uint64())
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(b, g.Uint32())
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(b, g.Uint64())
	case protowire.BytesType:
		return protowire.AppendString(b, "\x01")
	}
	return protowire.AppendTag(b, n, protowire.EndGroupType)
}

var texts = []string{"", "a", "b", "key", "\"\\\n\x00\x1f\x7f/", "çay 日本 🙂", "\u2028", strings.Repeat("long ", 100), "longer than eight", "eight by\"te", "\ufffd"}

// value writes a value without a tag.
func (g *maker) value(b []byte, f protoreflect.FieldDescriptor, depth int) []byte {
	number := []uint64{0, 0, 1, 2, 7, math.MaxUint64, math.MaxInt32, 1 << 31, math.MaxUint32, 1 << 32, 1 << 63, math.MaxInt64, g.Uint64()}[g.IntN(13)]
	switch f.Kind() {
	case protoreflect.MessageKind:
		return protowire.AppendBytes(b, g.message(f.Message(), depth-1))
	case protoreflect.GroupKind:
		return protowire.AppendGroup(b, f.Number(), g.message(f.Message(), depth-1))
	case protoreflect.StringKind, protoreflect.BytesKind:
		if g.chance(1) {
			return protowire.AppendString(b, "\xff\xfe")
		}
		return protowire.AppendString(b, texts[g.IntN(len(texts))])
	case protoreflect.FloatKind:
		x := []float32{0, float32(math.Copysign(0, -1)), 1.5, -1e-7, 1e30, 3.4e38, 0.1, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), math.Float32frombits(g.Uint32())}
		return protowire.AppendFixed32(b, math.Float32bits(x[g.IntN(len(x))]))
	case protoreflect.DoubleKind:
		x := []float64{0, math.Copysign(0, -1), 1.5, -1e-7, 1e21, 999999999999999999999, 0.1, 1e300, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1), math.Float64frombits(g.Uint64())}
		if f.FullName() == "google.protobuf.Value.number_value" && g.chance(95) {
			x = x[:9]
		}
		return protowire.AppendFixed64(b, math.Float64bits(x[g.IntN(len(x))]))
	case protoreflect.EnumKind, protoreflect.BoolKind:
		if g.chance(80) {
			number = uint64(g.IntN(3))
		}
	}
	switch wireOf(f.Kind()) {
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(b, uint32(number))
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(b, number)
	}
	return protowire.AppendVarint(b, number)
}

// damage changes some bytes.
func (g *maker) damage(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	switch g.IntN(4) {
	case 0:
		return b[:g.IntN(len(b))]
	case 1:
		b[g.IntN(len(b))] ^= 1 << g.IntN(8)
	case 2:
		i := g.IntN(len(b))
		return append(b[:i:i], append([]byte{byte(g.Uint32())}, b[i:]...)...)
	default:
		i := g.IntN(len(b))
		return append(b[:i:i], b[i+1:]...)
	}
	return b
}
