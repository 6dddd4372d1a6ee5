// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Generate makes otlpvt.pb.go and otlpvt_vtproto.pb.go from the descriptors in go.opentelemetry.io/proto/otlp.
//
// It needs no protoc.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

const (
	name = "otlpvt.proto"
	pkg  = "freehold.benchmarks.otlpvt"
)

func main() {
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String(name), Package: proto.String(pkg), Syntax: proto.String("proto3"),
		Options: &descriptorpb.FileOptions{GoPackage: proto.String("github.com/freehold-go/freehold/benchmarks/internal/otlpvt")},
	}
	add(file, trace.File_opentelemetry_proto_trace_v1_trace_proto, map[string]bool{})
	for _, plugin := range [][2]string{
		{"google.golang.org/protobuf/cmd/protoc-gen-go", "paths=source_relative"},
		{"github.com/planetscale/vtprotobuf/cmd/protoc-gen-go-vtproto", "paths=source_relative,features=unmarshal"},
	} {
		if err := run(file, plugin[0], plugin[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// add adds the types of a file and of the files that it imports to one file. No two of them have the same name.
func add(to *descriptorpb.FileDescriptorProto, f protoreflect.FileDescriptor, seen map[string]bool) {
	if seen[f.Path()] {
		return
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		add(to, f.Imports().Get(i).FileDescriptor, seen)
	}
	d := protodesc.ToFileDescriptorProto(f)
	for _, m := range d.MessageType {
		rename(m)
	}
	to.MessageType = append(to.MessageType, d.MessageType...)
	to.EnumType = append(to.EnumType, d.EnumType...)
}

// rename moves the types of a message's fields to the new package.
func rename(m *descriptorpb.DescriptorProto) {
	for _, f := range m.Field {
		for _, old := range []string{".opentelemetry.proto.trace.v1.", ".opentelemetry.proto.common.v1.", ".opentelemetry.proto.resource.v1."} {
			if rest, ok := strings.CutPrefix(f.GetTypeName(), old); ok {
				f.TypeName = proto.String("." + pkg + "." + rest)
			}
		}
	}
	for _, nested := range m.NestedType {
		rename(nested)
	}
}

// run lets a plugin of protoc generate its file.
func run(file *descriptorpb.FileDescriptorProto, plugin, parameter string) error {
	in, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{name}, Parameter: proto.String(parameter), ProtoFile: []*descriptorpb.FileDescriptorProto{file},
	})
	if err != nil {
		return err
	}
	c := exec.Command("go", "run", plugin)
	c.Stdin, c.Stderr = bytes.NewReader(in), os.Stderr
	out, err := c.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", plugin, err)
	}
	response := new(pluginpb.CodeGeneratorResponse)
	if err := proto.Unmarshal(out, response); err != nil || response.Error != nil {
		return fmt.Errorf("%s: %s, %v", plugin, response.GetError(), err)
	}
	for _, f := range response.File {
		text := "// SPDX-License-Identifier: Apache-2.0\n\n" + f.GetContent()
		if err := os.WriteFile(f.GetName(), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
