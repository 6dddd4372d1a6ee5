// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

type (
	fieldProto   = descriptorpb.FieldDescriptorProto
	messageProto = descriptorpb.DescriptorProto
)

// A schema makes a random .proto file.
type schema struct {
	*rand.Rand
	syntax   string // proto2, proto3 or editions.
	pkg      string
	messages []string // Full names.
	explicit bool     // Fields have presence by default.
	closed   bool     // The enum is closed.
}

// newSchema is the random file of a seed, for a package.
func newSchema(seed uint64, pkg string) *descriptorpb.FileDescriptorProto {
	s := &schema{Rand: rand.New(rand.NewPCG(seed, 1)), pkg: "." + pkg}
	s.syntax = []string{"proto2", "proto3", "editions"}[s.IntN(3)]
	f := &descriptorpb.FileDescriptorProto{Name: proto.String(pkg + ".proto"), Package: proto.String(pkg), Syntax: proto.String(s.syntax)}
	s.explicit, s.closed = s.syntax == "proto2", s.syntax == "proto2"
	if s.syntax == "editions" {
		s.features(f)
	}
	f.EnumType = []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Kind"), Value: []*descriptorpb.EnumValueDescriptorProto{
		{Name: proto.String("ZERO"), Number: proto.Int32(0)}, {Name: proto.String("SEVEN"), Number: proto.Int32(7)}, {Name: proto.String("LESS"), Number: proto.Int32(-1)},
	}}}
	n := 1 + s.IntN(4)
	for i := range n {
		s.messages = append(s.messages, fmt.Sprintf("%s.M%d", s.pkg, i))
	}
	for i := range n {
		f.MessageType = append(f.MessageType, s.message(i))
	}
	for _, m := range f.MessageType {
		if len(m.ExtensionRange) != 0 {
			f.Extension = append(f.Extension, s.extensions(m)...)
		}
	}
	return f
}

// extensions are random extensions of a message, with the lowest numbers of its range.
func (s *schema) extensions(m *messageProto) (all []*fieldProto) {
	for k := range int32(s.IntN(4)) {
		f := &fieldProto{
			Name: proto.String(fmt.Sprintf("x%d_%s", k, m.GetName())), Number: proto.Int32(m.ExtensionRange[0].GetStart() + k),
			Label: fieldProto_optional.Enum(), Extendee: proto.String(s.pkg + "." + m.GetName()),
		}
		f.Type = descriptorpb.FieldDescriptorProto_Type(1 + s.IntN(18)).Enum()
		if f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_GROUP || s.IntN(3) == 0 {
			f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		}
		if s.IntN(3) == 0 {
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		s.refer(f)
		all = append(all, f)
	}
	return all
}

// features sets the file's features of an edition.
func (s *schema) features(f *descriptorpb.FileDescriptorProto) {
	f.Edition = descriptorpb.Edition_EDITION_2023.Enum()
	s.explicit, s.closed = s.IntN(3) != 0, s.IntN(2) == 0
	fs := &descriptorpb.FeatureSet{
		FieldPresence: descriptorpb.FeatureSet_IMPLICIT.Enum(), EnumType: descriptorpb.FeatureSet_OPEN.Enum(),
		Utf8Validation: descriptorpb.FeatureSet_Utf8Validation([]int32{2, 3}[s.IntN(2)]).Enum(),
	}
	if s.explicit {
		fs.FieldPresence = descriptorpb.FeatureSet_EXPLICIT.Enum()
	}
	if s.closed {
		fs.EnumType = descriptorpb.FeatureSet_CLOSED.Enum()
	}
	f.Options = &descriptorpb.FileOptions{Features: fs}
}

// awkward are names that generated structs and methods have, too.
var awkward = []string{"state", "sizeCache", "unknown_fields", "extensionFields", "XXX_presence", "reset", "string", "get_f1", "proto_message", "descriptor", "has_f1", "clear_f1", "which_o1", "build"}

// message is a random message.
func (s *schema) message(i int) *messageProto {
	m := &messageProto{Name: proto.String(fmt.Sprintf("M%d", i))}
	n := s.IntN(1 << s.IntN(7))
	if s.IntN(20) == 0 {
		n += 80 // More presence bits and required fields than a word has.
	}
	numbers := s.numbers(n)
	names := slices.Clone(awkward)
	s.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for k, num := range numbers {
		f := &fieldProto{Name: proto.String(fmt.Sprintf("f%d", k)), Number: proto.Int32(num), Label: fieldProto_optional.Enum()}
		if len(names) > 0 && s.IntN(12) == 0 {
			f.Name, names = proto.String(names[0]), names[1:]
		}
		m.Field = append(m.Field, f)
		s.kind(m, f, fmt.Sprintf("%s.M%d", s.pkg, i), k)
	}
	s.oneofs(m)
	if s.syntax != "proto3" && s.IntN(3) == 0 {
		m.ExtensionRange = []*messageProto_range{{Start: proto.Int32(18000), End: proto.Int32(18100)}}
	}
	return m
}

type messageProto_range = descriptorpb.DescriptorProto_ExtensionRange

const fieldProto_optional = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL

// numbers are n field numbers in any order: consecutive from 1, with gaps, or of any size.
func (s *schema) numbers(n int) (numbers []int32) {
	wide := []int{0, 0, 3, 28}[s.IntN(4)]
	next := int32(1)
	for range n {
		numbers = append(numbers, next)
		next += 1 + s.Int32N(1<<s.IntN(wide+1))/int32(n+1)
		if next >= 18000 && next < 20000 {
			next = 20000
		}
	}
	if n > 0 && s.IntN(6) == 0 && numbers[n-1] < 1<<29-1 {
		numbers[n-1] = 1<<29 - 1
	}
	if s.IntN(3) == 0 {
		s.Shuffle(n, func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	}
	return numbers
}

// kind sets the type and the label of the field k.
func (s *schema) kind(m *messageProto, f *fieldProto, full string, k int) {
	f.Type = descriptorpb.FieldDescriptorProto_Type(1 + s.IntN(18)).Enum()
	if s.IntN(5) == 0 {
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	}
	if s.IntN(8) == 0 {
		s.mapOf(m, f, full, k)
		return
	}
	group := f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_GROUP
	if group && s.syntax == "proto2" {
		name := fmt.Sprintf("G%d", k)
		m.NestedType = append(m.NestedType, &messageProto{Name: &name, Field: []*fieldProto{{
			Name: proto.String("a"), Number: proto.Int32(1), Label: fieldProto_optional.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_SINT64.Enum()}, {
			Name: proto.String("b"), Number: proto.Int32(2), Label: fieldProto_optional.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: &full}}})
		f.Name, f.TypeName = proto.String(fmt.Sprintf("g%d", k)), proto.String(full+"."+name)
	} else if group {
		f.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	}
	s.refer(f)
	s.label(f, group && s.syntax == "editions")
}

// refer sets the type's name of an enum or a message.
func (s *schema) refer(f *fieldProto) {
	switch {
	case f.TypeName != nil:
	case f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_ENUM:
		f.TypeName = proto.String(s.pkg + ".Kind")
	case f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE:
		f.TypeName = &s.messages[s.IntN(len(s.messages))]
	}
}

// label makes the field repeated or required, and sets its options.
func (s *schema) label(f *fieldProto, delimited bool) {
	o, fs := &descriptorpb.FieldOptions{}, &descriptorpb.FeatureSet{}
	isMessage := f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	packable := !isMessage && f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_GROUP && f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_STRING && f.GetType() != descriptorpb.FieldDescriptorProto_TYPE_BYTES
	if s.IntN(3) == 0 {
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		if packable && s.IntN(2) == 0 {
			packed := s.IntN(2) == 0
			o.Packed = &packed
			fs.RepeatedFieldEncoding = descriptorpb.FeatureSet_EXPANDED.Enum()
			if packed {
				fs.RepeatedFieldEncoding = descriptorpb.FeatureSet_PACKED.Enum()
			}
		}
	} else if s.IntN(12) == 0 && s.syntax == "proto2" {
		f.Label = descriptorpb.FieldDescriptorProto_LABEL_REQUIRED.Enum()
	} else if presence := 1 + s.Int32N(3); s.IntN(3) == 0 && (presence != 2 || !isMessage && !s.closed) {
		fs.FieldPresence = descriptorpb.FeatureSet_FieldPresence(presence).Enum()
	} else if isMessage && s.IntN(4) == 0 {
		o.Lazy = proto.Bool(true)
	}
	if delimited {
		fs.MessageEncoding = descriptorpb.FeatureSet_DELIMITED.Enum()
	}
	if f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_STRING && s.IntN(3) == 0 {
		fs.Utf8Validation = descriptorpb.FeatureSet_Utf8Validation([]int32{2, 3}[s.IntN(2)]).Enum()
	}
	if s.syntax == "editions" {
		o.Features, o.Packed = fs, nil
		if f.GetType() == descriptorpb.FieldDescriptorProto_TYPE_ENUM && s.closed && !s.explicit && f.GetLabel() == fieldProto_optional && fs.FieldPresence == nil {
			fs.FieldPresence = descriptorpb.FeatureSet_EXPLICIT.Enum()
		}
	}
	f.Options = o
}

// mapOf makes the field a map.
func (s *schema) mapOf(m *messageProto, f *fieldProto, full string, k int) {
	keys := []descriptorpb.FieldDescriptorProto_Type{3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 18}
	value := &fieldProto{Name: proto.String("value"), Number: proto.Int32(2), Label: fieldProto_optional.Enum(), Type: f.Type}
	if value.GetType() == descriptorpb.FieldDescriptorProto_TYPE_GROUP {
		value.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	}
	if value.GetType() == descriptorpb.FieldDescriptorProto_TYPE_ENUM && s.closed && !s.explicit { // It may not be closed then.
		value.Type = descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum()
	}
	s.refer(value)
	f.Name = proto.String(fmt.Sprintf("map%d", k))
	name := fmt.Sprintf("Map%dEntry", k)
	m.NestedType = append(m.NestedType, &messageProto{Name: &name, Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)}, Field: []*fieldProto{
		{Name: proto.String("key"), Number: proto.Int32(1), Label: fieldProto_optional.Enum(), Type: keys[s.IntN(len(keys))].Enum()}, value}})
	f.Label, f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum(), descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(full+"."+name)
}

// oneofs puts runs of fields into oneofs, and makes some fields of proto3 optional.
func (s *schema) oneofs(m *messageProto) {
	free := func(f *fieldProto) bool {
		return f.GetLabel() == fieldProto_optional && f.GetOptions().GetFeatures().GetFieldPresence() == 0 && f.OneofIndex == nil
	}
	for i := 0; i < len(m.Field); i++ {
		if !free(m.Field[i]) || s.IntN(8) != 0 {
			continue
		}
		index := int32(len(m.OneofDecl))
		m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String(fmt.Sprintf("o%d", index))})
		for j := i; j < len(m.Field) && free(m.Field[j]) && (j == i || s.IntN(4) != 0); j++ {
			m.Field[j].OneofIndex = &index
			i = j
		}
	}
	if s.syntax != "proto3" {
		return
	}
	for _, f := range m.Field {
		if free(f) && s.IntN(3) == 0 {
			f.OneofIndex, f.Proto3Optional = proto.Int32(int32(len(m.OneofDecl))), proto.Bool(true)
			m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + f.GetName())})
		}
	}
}
