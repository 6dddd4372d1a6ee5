// SPDX-License-Identifier: Apache-2.0

// Package protobuf reads messages of Protocol Buffers by tables that it makes of their descriptors, without generated types.
//
// A Set has the files of a FileDescriptorSet, or the text of a .proto file. A Type has the tables of one of its messages. Type.AppendJSON writes a
// message as ProtoJSON: the text means what package protojson of protobuf-go makes of the same bytes with a dynamic message, and both refuse the
// same messages. Type.AppendField reads one field by its path. Columns shreds messages into columns, as Parquet wants them.
//
// All of them read the bytes of the message where they are. There is no object for a message, and nothing is allocated on the Go heap
// once the scratch memory of a goroutine is large enough.
//
// These differ from protobuf-go: the depth of messages within google.protobuf.Any counts together with that around it, up to 10,000 levels.
package protobuf

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Options say how messages are written.
type Options struct {
	// ProtoNames writes the names of fields as they stand in the .proto file, customer_id. By default they are those of ProtoJSON, customerId.
	ProtoNames bool
}

// A Set is files whose messages know each other. Its methods may be called by several goroutines at once.
type Set struct {
	o          Options
	files      *protoregistry.Files
	extensions map[protoreflect.FullName][]protoreflect.ExtensionDescriptor // by the message that they extend

	mu    sync.RWMutex
	types map[protoreflect.FullName]*Type
}

// Parse makes the Set of a FileDescriptorSet, as protoc writes it with --include_imports, and buf build. Files of
// google/protobuf may be missing.
func Parse(descriptors []byte, o Options) (*Set, error) {
	var files descriptorpb.FileDescriptorSet
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(descriptors, &files); err != nil {
		return nil, fmt.Errorf("protobuf: the bytes are no FileDescriptorSet: %w", err)
	}
	return NewSet(&files, o)
}

// known are the files that NewSet adds if they are missing.
var known = []protoreflect.FileDescriptor{
	descriptorpb.File_google_protobuf_descriptor_proto, anypb.File_google_protobuf_any_proto, durationpb.File_google_protobuf_duration_proto, emptypb.File_google_protobuf_empty_proto,
	fieldmaskpb.File_google_protobuf_field_mask_proto, structpb.File_google_protobuf_struct_proto, timestamppb.File_google_protobuf_timestamp_proto, wrapperspb.File_google_protobuf_wrappers_proto,
}

// NewSet is Parse for a FileDescriptorSet that is decoded.
func NewSet(files *descriptorpb.FileDescriptorSet, o Options) (*Set, error) {
	all := &descriptorpb.FileDescriptorSet{File: slices.Clone(files.File)}
	has := map[string]bool{}
	for _, f := range files.File {
		has[f.GetName()] = true
	}
	for _, f := range known {
		if !has[f.Path()] {
			all.File = append(all.File, protodesc.ToFileDescriptorProto(f))
		}
	}
	registry, err := protodesc.NewFiles(all)
	if err != nil {
		return nil, fmt.Errorf("protobuf: %w", err)
	}
	s := &Set{o: o, files: registry, extensions: map[protoreflect.FullName][]protoreflect.ExtensionDescriptor{}, types: map[protoreflect.FullName]*Type{}}
	registry.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		s.note(f.Extensions(), f.Messages())
		return true
	})
	return s, nil
}

// note notes extensions, and those that are declared within messages.
func (s *Set) note(extensions protoreflect.ExtensionDescriptors, messages protoreflect.MessageDescriptors) {
	for i := range extensions.Len() {
		x := extensions.Get(i)
		name := x.ContainingMessage().FullName()
		s.extensions[name] = append(s.extensions[name], x)
	}
	for i := range messages.Len() {
		s.note(messages.Get(i).Extensions(), messages.Get(i).Messages())
	}
}

// Type returns the tables of a message by its full name, "shop.v1.Order".
func (s *Set) Type(name string) (*Type, error) {
	t, err := s.lookup(name)
	if errors.Is(err, protoregistry.NotFound) {
		return nil, fmt.Errorf("protobuf: the descriptors have no message %q; they have %s", name, s.names())
	}
	return t, err
}

func (s *Set) lookup(name string) (*Type, error) {
	if t := s.typeOf([]byte(name)); t != nil {
		return t, nil
	}
	d, err := s.files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	m, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, fmt.Errorf("protobuf: %q is no message", name)
	}
	return s.compile(m)
}

// names lists some messages.
func (s *Set) names() string {
	var names []string
	s.files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			if !strings.HasPrefix(f.Path(), "google/protobuf/") {
				names = append(names, string(f.Messages().Get(i).FullName()))
			}
		}
		return true
	})
	slices.Sort(names)
	return list(names, 10)
}

// list lists names for a sentence, and no more of them than some.
func list(names []string, most int) string {
	if len(names) == 0 {
		return "none"
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// typeOf returns the tables of a message if they have been made.
func (s *Set) typeOf(name []byte) *Type {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.types[protoreflect.FullName(name)]
}

// ByIndexes returns the tables of a message by its place in a file: the index of a message among those of the file, then that of
// a message within, and so on. The messages that stand for entries of maps do not count, because nobody has declared them.
func (s *Set) ByIndexes(file string, indexes []int) (*Type, error) {
	f, err := s.files.FindFileByPath(file)
	if err != nil {
		return nil, fmt.Errorf("protobuf: %w", err)
	}
	messages := f.Messages()
	var m protoreflect.MessageDescriptor
	for _, i := range indexes {
		if m = declared(messages, i); m == nil {
			return nil, fmt.Errorf("protobuf: the file has no message at %v", indexes)
		}
		messages = m.Messages()
	}
	if m == nil {
		return nil, errors.New("protobuf: no index of a message")
	}
	return s.compile(m)
}

// declared returns the message with an index among those that are declared, or nil.
func declared(messages protoreflect.MessageDescriptors, index int) protoreflect.MessageDescriptor {
	for i := range messages.Len() {
		m := messages.Get(i)
		if m.IsMapEntry() {
			continue
		}
		if index == 0 {
			return m
		}
		index--
	}
	return nil
}
