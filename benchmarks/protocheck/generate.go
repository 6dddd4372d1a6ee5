// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// parse compiles .proto files below a folder. The result has the files that they import, too, each
// behind its imports.
func parse(dir string, names ...string) ([]*descriptorpb.FileDescriptorProto, error) {
	c := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{dir}})}
	linked, err := c.Compile(context.Background(), names...)
	if err != nil {
		return nil, err
	}
	var files []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		files = append(files, protodesc.ToFileDescriptorProto(f))
	}
	for _, f := range linked {
		add(f)
	}
	return files, nil
}

// generate adds the Go packages of files to o, as protoc-gen-go makes them at an API level: each file's
// below the folder where. The files of protobuf-go itself are not generated anew.
func (o *overlay) generate(where, level string, files []*descriptorpb.FileDescriptorProto) error {
	req := &pluginpb.CodeGeneratorRequest{}
	parameters := []string{"default_api_level=API_" + strings.ToUpper(level), "module=" + module}
	for _, f := range files {
		// A copy without options of custom types: as protoc passes them, by their numbers.
		b, err := proto.Marshal(f)
		if err != nil {
			return err
		}
		plain := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(b, plain); err != nil {
			return err
		}
		req.ProtoFile = append(req.ProtoFile, plain)
		if strings.HasPrefix(f.GetName(), "google/protobuf/") && !strings.Contains(f.GetName(), "test_messages") {
			continue
		}
		dir := path.Join(where, strings.TrimSuffix(path.Base(f.GetName()), ".proto"))
		parameters = append(parameters, fmt.Sprintf("M%s=%s/%s;pb", f.GetName(), module, dir))
		req.FileToGenerate = append(req.FileToGenerate, f.GetName())
		o.packages = append(o.packages, dir)
	}
	req.Parameter = proto.String(strings.Join(parameters, ","))
	plugin, err := protogen.Options{}.New(req)
	if err != nil {
		return err
	}
	for _, f := range plugin.Files {
		if f.Generate {
			internal_gengo.GenerateFile(plugin, f)
		}
	}
	response := plugin.Response()
	if response.Error != nil {
		return fmt.Errorf("protoc-gen-go: %s", response.GetError())
	}
	for _, f := range response.File {
		if err := o.add(f.GetName(), f.GetContent()); err != nil {
			return err
		}
	}
	return nil
}
