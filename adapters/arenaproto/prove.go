// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"
)

// proof decodes samples by the plan and by protobuf-go, and returns how the results differ, or nothing. A
// later version of protobuf-go could lay messages out in another way. Messages in the samples are
// empty, so that the proof is about this type alone.
func (p *plan) proof() (reason string) {
	defer func() {
		if r := recover(); r != nil {
			reason = fmt.Sprintf("made its proof panic: %v", r)
		}
	}()
	var all []byte
	var single [][]byte
	fields := p.desc.Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if p.hasForeign(fd) {
			continue
		}
		b := sample(nil, fd)
		o := fd.ContainingOneof()
		alone := o != nil && !o.IsSynthetic()
		if !alone {
			all = append(all, b...)
		}
		if alone || fd.Kind() == protoreflect.BoolKind { // All bools have the same value.
			single = append(single, b)
		}
		if zero := zeroSample(fd); zero != nil {
			single = append(single, zero)
		}
		if fd.Kind() == protoreflect.StringKind {
			single = append(single, protowire.AppendBytes(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), []byte{0xff}))
		}
	}
	for _, b := range append(single, all) {
		if !p.agrees(b) {
			return fmt.Sprintf("decodes otherwise than by protobuf-go, which its proof found with the input %x", b)
		}
	}
	return ""
}

// hasForeign reports whether protobuf-go decodes a field. Then there is nothing to prove, and the program's own
// types see no samples.
func (p *plan) hasForeign(fd protoreflect.FieldDescriptor) bool {
	return slices.ContainsFunc(p.fields, func(f *field) bool { return f.op == opForeign && f.desc == fd })
}

// agrees reports whether the plan and protobuf-go make the same message of an input.
func (p *plan) agrees(b []byte) bool {
	want, ok := reflect.New(p.typ).Interface().(proto.Message)
	if !ok {
		return false
	}
	got := reflect.New(p.typ)
	o := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Merge: true, AllowPartial: true}}
	out, wantErr := o.UnmarshalOptions.UnmarshalState(protoiface.UnmarshalInput{Buf: b, Message: want.ProtoReflect()})
	partial, err := o.decode(nil, b, p, got.UnsafePointer())
	if err != nil || wantErr != nil {
		return (err == nil) == (wantErr == nil)
	}
	if out.Flags&protoiface.UnmarshalInitialized == 0 && !partial {
		return false
	}
	gotMessage := got.Interface().(proto.Message)
	if !proto.Equal(gotMessage, want) {
		return false
	}
	m := proto.MarshalOptions{Deterministic: true, AllowPartial: true}
	g, err := m.Marshal(gotMessage)
	w, wantErr := m.Marshal(want)
	return err == nil && wantErr == nil && bytes.Equal(g, w)
}

// sample appends records of a field to b. Their values differ from those of other fields and from zero.
func sample(b []byte, fd protoreflect.FieldDescriptor) []byte {
	num := fd.Number()
	switch {
	case fd.IsMap():
		entry := sampleValue(nil, fd.MapKey(), uint64(num))
		entry = sampleValue(entry, fd.MapValue(), uint64(num))
		return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), entry)
	case fd.IsList():
		b = sampleValue(b, fd, uint64(num))
		b = sampleValue(b, fd, uint64(num)+1)
		if _, wire := valueOf(fd); wire != protowire.BytesType && wire != protowire.StartGroupType {
			values := bareValue(nil, fd, uint64(num)+2)
			values = bareValue(values, fd, 0)
			b = protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), values)
		}
		return b
	}
	return sampleValue(b, fd, uint64(num))
}

// zeroSample is a record with the zero value of a field, or nil if it has no presence.
func zeroSample(fd protoreflect.FieldDescriptor) []byte {
	if !fd.HasPresence() || fd.Message() != nil {
		return nil
	}
	_, wire := valueOf(fd)
	b := protowire.AppendTag(nil, fd.Number(), wire)
	switch wire {
	case protowire.Fixed32Type:
		return append(b, make([]byte, 4)...)
	case protowire.Fixed64Type:
		return append(b, make([]byte, 8)...)
	}
	return append(b, 0)
}

// sampleValue appends a record with one value, which depends on v.
func sampleValue(b []byte, fd protoreflect.FieldDescriptor, v uint64) []byte {
	_, wire := valueOf(fd)
	return bareValue(protowire.AppendTag(b, fd.Number(), wire), fd, v)
}

// bareValue is sampleValue without a tag.
func bareValue(b []byte, fd protoreflect.FieldDescriptor, v uint64) []byte {
	o, wire := valueOf(fd)
	switch wire {
	case protowire.VarintType:
		if o == opBool {
			return protowire.AppendVarint(b, min(v, 1))
		}
		return protowire.AppendVarint(b, v)
	case protowire.Fixed32Type:
		return protowire.AppendFixed32(b, uint32(v))
	case protowire.Fixed64Type:
		return protowire.AppendFixed64(b, v)
	case protowire.StartGroupType:
		return protowire.AppendTag(b, fd.Number(), protowire.EndGroupType)
	}
	if o == opMessage {
		return protowire.AppendBytes(b, nil)
	}
	return protowire.AppendString(b, fmt.Sprint("value ", v))
}
