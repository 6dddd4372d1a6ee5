// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"reflect"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoimpl"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
	"github.com/freehold-go/freehold/arena"
)

// field compiles a field: the records of each wire type that it takes. A field whose Go type is not the
// one that protoc-gen-go makes today becomes foreign.
func (c *compiler) field(p *plan, l *layout, info *protoimpl.MessageInfo, fd protoreflect.FieldDescriptor) []*field {
	var fields []*field
	switch o := fd.ContainingOneof(); {
	case o != nil && !o.IsSynthetic():
		fields = c.member(l, info, fd)
	case fd.IsMap():
		fields = c.mapField(l.numbers[fd.Number()], fd)
	case fd.IsList():
		fields = c.listField(l, fd)
	default:
		fields = c.single(l, fd)
	}
	if fields == nil {
		f := newField(fd, opForeign, opForeign, 0, protowire.BytesType)
		f.makeForeign("its Go type is not known")
		return []*field{f}
	}
	index, ok := presenceIndex(fd)
	if !ok || !l.opaque {
		return fields
	}
	for _, f := range fields {
		if l.presence.Type == nil || int(index/32) >= l.presence.Type.Len() {
			f.makeForeign("it has no presence bit")
			continue
		}
		f.extra, f.present, f.bit = true, true, index
		f.word = p.presence + uintptr(index/32)*4
	}
	return fields
}

// newField is a field at an offset, for the wire type of an op.
func newField(fd protoreflect.FieldDescriptor, place, value op, offset uintptr, wire protowire.Type) *field {
	f := &field{op: place, value: value, offset: offset, desc: fd}
	f.setTag(fd.Number(), wire)
	return f
}

// single compiles a field that is no list, no map and no member of a oneof.
func (c *compiler) single(l *layout, fd protoreflect.FieldDescriptor) []*field {
	sf, ok := l.numbers[fd.Number()]
	if !ok {
		return nil
	}
	o, wire := valueOf(fd)
	if o == opMessage || o == opGroup {
		f := newField(fd, o, o, sf.Offset, wire)
		return c.withSub(f, sf.Type)
	}
	if !fd.HasPresence() {
		if o == opBytes {
			o = opBytesOrNil
		}
		if !holds(sf.Type, fd) {
			return nil
		}
		return []*field{newField(fd, o, o, sf.Offset, wire)}
	}
	if sf.Type.Kind() == reflect.Pointer && o != opBytes {
		if !holds(sf.Type.Elem(), fd) {
			return nil
		}
		f := newField(fd, opPointer, o, sf.Offset, wire)
		f.kind = kindOf(sf.Type.Elem())
		return []*field{f}
	}
	if !holds(sf.Type, fd) || !l.opaque && o != opBytes {
		return nil
	}
	return []*field{newField(fd, o, o, sf.Offset, wire)}
}

// withSub adds the plan of the message that t points to.
func (c *compiler) withSub(f *field, t reflect.Type) []*field {
	if t.Kind() != reflect.Pointer {
		return nil
	}
	f.sub = c.plan(t)
	if f.sub.foreign != "" {
		f.makeForeign("its type " + f.sub.foreign)
	}
	return []*field{f}
}

// member compiles a member of a oneof.
func (c *compiler) member(l *layout, info *protoimpl.MessageInfo, fd protoreflect.FieldDescriptor) []*field {
	sf, ok := l.oneofs[fd.ContainingOneof().Name()]
	if !ok || sf.Type.Kind() != reflect.Interface || sf.Type.NumMethod() == 0 {
		return nil
	}
	for _, w := range info.OneofWrappers {
		t := reflect.TypeOf(w)
		if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || t.Elem().NumField() != 1 || !t.Implements(sf.Type) {
			continue
		}
		inner := t.Elem().Field(0)
		if taggedNumber(inner) != fd.Number() {
			continue
		}
		o, wire := valueOf(fd)
		f := newField(fd, opOneof, o, sf.Offset, wire)
		f.kind, f.tab = kindOf(t.Elem()), tabOf(sf.Type, t)
		if o == opMessage || o == opGroup {
			return c.withSub(f, inner.Type)
		}
		if !holds(inner.Type, fd) {
			return nil
		}
		return []*field{f}
	}
	return nil
}

// tabOf is the first word of an interface of a type that holds a pointer of a type.
func tabOf(in, t reflect.Type) pointer {
	v := reflect.New(in)
	v.Elem().Set(reflect.Zero(t))
	// SAFETY: an interface with methods is two words (GC-8). The first leads to a table that is never
	// freed.
	return memory.As[memory.Interface](v.UnsafePointer()).Tab
}

// listField compiles a list.
func (c *compiler) listField(l *layout, fd protoreflect.FieldDescriptor) []*field {
	sf, ok := l.numbers[fd.Number()]
	if !ok {
		return nil
	}
	o, wire := valueOf(fd)
	t := sf.Type
	if o == opMessage || o == opGroup {
		place := opMessages
		if o == opGroup {
			place = opGroups
		}
		f := newField(fd, place, o, sf.Offset, wire)
		if t.Kind() == reflect.Pointer {
			f.behind, t = true, t.Elem()
		}
		if f.behind != l.opaque || t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Pointer {
			return nil
		}
		// Stale slices of one type may show another slice of that type, but never one of another type (C1).
		f.header = kindOf(t)
		f.kind, f.size = kindOf(t.Elem()), t.Elem().Size()
		return c.withSub(f, t.Elem())
	}
	if t.Kind() != reflect.Slice || !holds(t.Elem(), fd) {
		return nil
	}
	fields := []*field{newField(fd, opList, o, sf.Offset, wire)}
	if wire != protowire.BytesType {
		fields = append(fields, newField(fd, opPacked, o, sf.Offset, protowire.BytesType))
	}
	for _, f := range fields {
		f.kind, f.size = kindOf(t.Elem()), t.Elem().Size()
	}
	return fields
}

// mapField compiles a map.
func (c *compiler) mapField(sf reflect.StructField, fd protoreflect.FieldDescriptor) []*field {
	if sf.Type == nil || sf.Type.Kind() != reflect.Map || !holds(sf.Type.Key(), fd.MapKey()) {
		return nil
	}
	f := newField(fd, opMap, opMap, sf.Offset, protowire.BytesType)
	f.entry = &entry{typ: arena.UnsafeTypeOf(sf.Type)}
	key, keyWire := valueOf(fd.MapKey())
	value, valueWire := valueOf(fd.MapValue())
	f.entry.key = *newField(fd.MapKey(), key, key, 0, keyWire)
	f.entry.value = *newField(fd.MapValue(), value, value, 0, valueWire)
	f.entry.put, f.entry.levels = putFor(key, value), entryLevels()
	switch {
	case value == opGroup:
		return nil
	case value == opMessage:
		if c.withSub(&f.entry.value, sf.Type.Elem()) == nil {
			return nil
		}
		if f.entry.value.op == opForeign {
			f.makeForeign(f.entry.value.reason)
		}
	case !holds(sf.Type.Elem(), fd.MapValue()):
		return nil
	}
	return []*field{f}
}

// valueOf is the op for values of a field, and their wire type.
func valueOf(fd protoreflect.FieldDescriptor) (op, protowire.Type) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return opBool, protowire.VarintType
	case protoreflect.Int32Kind, protoreflect.Uint32Kind, protoreflect.EnumKind:
		return opInt32, protowire.VarintType
	case protoreflect.Int64Kind, protoreflect.Uint64Kind:
		return opInt64, protowire.VarintType
	case protoreflect.Sint32Kind:
		return opZig32, protowire.VarintType
	case protoreflect.Sint64Kind:
		return opZig64, protowire.VarintType
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return opFixed32, protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return opFixed64, protowire.Fixed64Type
	case protoreflect.StringKind:
		if enforcesUTF8(fd) {
			return opText, protowire.BytesType
		}
		return opChars, protowire.BytesType
	case protoreflect.BytesKind:
		return opBytes, protowire.BytesType
	case protoreflect.GroupKind:
		return opGroup, protowire.StartGroupType
	}
	return opMessage, protowire.BytesType
}

// kinds are the Go kinds that hold values of a field's kind.
var kinds = map[protoreflect.Kind]reflect.Kind{
	protoreflect.BoolKind: reflect.Bool, protoreflect.EnumKind: reflect.Int32,
	protoreflect.Int32Kind: reflect.Int32, protoreflect.Sint32Kind: reflect.Int32, protoreflect.Sfixed32Kind: reflect.Int32,
	protoreflect.Uint32Kind: reflect.Uint32, protoreflect.Fixed32Kind: reflect.Uint32,
	protoreflect.Int64Kind: reflect.Int64, protoreflect.Sint64Kind: reflect.Int64, protoreflect.Sfixed64Kind: reflect.Int64,
	protoreflect.Uint64Kind: reflect.Uint64, protoreflect.Fixed64Kind: reflect.Uint64,
	protoreflect.FloatKind: reflect.Float32, protoreflect.DoubleKind: reflect.Float64,
	protoreflect.StringKind: reflect.String, protoreflect.BytesKind: reflect.Slice,
}

// holds reports whether a variable of type t holds a value of a field that is no message.
func holds(t reflect.Type, fd protoreflect.FieldDescriptor) bool {
	if fd.Kind() == protoreflect.BytesKind && (t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Uint8) {
		return false
	}
	return t.Kind() == kinds[fd.Kind()]
}
