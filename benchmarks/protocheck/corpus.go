// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/protocolbuffers/protoscope"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

const hyperpb = "buf.build/go/hyperpb@v0.1.3"

// A specimen is an input for a type: bytes, or the text form of a message.
type specimen struct {
	Type, Text string
	Bytes      []byte
}

// corpus compares on the test data of hyperpb and on the schemata google_message1 to 4 of protobuf-go's
// benchmarks, at each API level. The inputs of the latter are no longer published: they are random.
func corpus(o options) error {
	theirs, err := downloaded(hyperpb)
	if err != nil {
		return err
	}
	specimens, err := specimensIn(filepath.Join(theirs, "internal/testdata"))
	if err != nil {
		return err
	}
	tests, err := parse(filepath.Join(theirs, "internal/proto/test"), "test/descriptor.proto", "test/editions.proto", "test/proto2.proto", "test/test.proto")
	if err != nil {
		return err
	}
	rsb, err := parse(filepath.Join(theirs, "internal/proto/rsb"), "rsb/log/log.proto", "rsb/mesh/mesh.proto", "rsb/mk48/mk48.proto", "rsb/minecraft/minecraft.proto")
	if err != nil {
		return err
	}
	google, err := googleMessages()
	if err != nil {
		return err
	}
	for _, level := range levels {
		fmt.Printf("%s: ", level)
		if err := corpusAt(level, specimens, o, tests, rsb, google); err != nil {
			return err
		}
	}
	return nil
}

// corpusAt compares at an API level.
func corpusAt(level string, specimens []specimen, o options, sets ...[]*descriptorpb.FileDescriptorProto) error {
	l, err := newOverlay()
	if err != nil {
		return err
	}
	defer l.remove()
	for i, files := range sets {
		if err := l.generate(fmt.Sprintf("generated/c%d", i), level, files); err != nil {
			return err
		}
	}
	text, err := json.Marshal(specimens)
	if err != nil {
		return err
	}
	name := filepath.Join(l.dir, "specimens.json")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		return err
	}
	return l.differ("-inputs", name, "-seed", fmt.Sprint(o.seed), "-time", (o.time / 3).String())
}

// specimensIn reads the YAML files of hyperpb's test data.
func specimensIn(dir string) (all []specimen, err error) {
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var test struct {
			Type                       string
			Hex, TextProto, Protoscope []string
		}
		if err := yaml.Unmarshal(text, &test); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, s := range test.Hex {
			b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, specimen{Type: test.Type, Bytes: b})
		}
		for _, s := range test.Protoscope {
			scanner := protoscope.NewScanner(s)
			b, err := scanner.Exec()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, specimen{Type: test.Type, Bytes: b})
		}
		for _, s := range test.TextProto {
			all = append(all, specimen{Type: test.Type, Text: s})
		}
		return nil
	})
	return all, err
}

// googleMessages are the descriptors of google_message1 to 4. Only their Go packages are published,
// below internal, so a program that sees them as ours writes the descriptors.
func googleMessages() ([]*descriptorpb.FileDescriptorProto, error) {
	theirs, err := downloaded(protobufGo)
	if err != nil {
		return nil, err
	}
	o, err := newOverlay()
	if err != nil {
		return nil, err
	}
	defer o.remove()
	root := filepath.Join(theirs, "internal/testprotos/benchmarks/datasets")
	for _, dir := range []string{"google_message1/proto2", "google_message1/proto3", "google_message2", "google_message3", "google_message4"} {
		names, err := filepath.Glob(filepath.Join(root, dir, "*.pb.go"))
		if err != nil || len(names) == 0 {
			return nil, errors.Join(err, fmt.Errorf("no files in %s", dir))
		}
		o.packages = append(o.packages, "generated/"+dir)
		for _, name := range names {
			o.files["generated/"+dir+"/"+filepath.Base(name)] = name
		}
	}
	binary, err := o.build("differ")
	if err != nil {
		return nil, err
	}
	b, err := exec.Command(binary, "-descriptors").Output()
	if err != nil {
		return nil, err
	}
	set := &descriptorpb.FileDescriptorSet{}
	err = proto.Unmarshal(b, set)
	return set.File, err
}
