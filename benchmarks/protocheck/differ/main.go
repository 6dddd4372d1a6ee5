// SPDX-License-Identifier: Apache-2.0

// Command differ compares arenaproto with protobuf-go on the generated packages that are linked in: on
// inputs from a file, with their prefixes and with flipped bytes, and then on random ones.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/benchmarks/protocheck/ways"
)

func main() {
	var d differ
	limit := flag.Duration("time", time.Second, "how long random inputs are decoded")
	seed := flag.Uint64("seed", 1, "the first random input")
	inputs := flag.String("inputs", "", "a `file` with inputs")
	descriptors := flag.Bool("descriptors", false, "write the descriptors of the generated packages, and no more")
	flag.Parse()
	d.find()
	var err error
	if *descriptors {
		err = d.describe()
	} else {
		err = errors.Join(d.prepare(), d.file(*inputs))
		if err == nil {
			err = d.random(*seed, *limit)
		}
		fmt.Printf("%d types, %d inputs, %d of them valid\n", len(d.types), d.inputs, d.valid)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "differ:", err)
		os.Exit(1)
	}
}

// A differ has the types to compare, and counts.
type differ struct {
	types         []proto.Message
	inputs, valid int
}

// find finds the generated types.
func (d *differ) find() {
	protoregistry.GlobalTypes.RangeMessages(func(t protoreflect.MessageType) bool {
		m := t.Zero().Interface()
		if strings.Contains(reflect.TypeOf(m).Elem().PkgPath(), "/protocheck/generated/") {
			d.types = append(d.types, m)
		}
		return true
	})
	slices.SortFunc(d.types, func(a, b proto.Message) int {
		return strings.Compare(string(a.ProtoReflect().Descriptor().FullName()), string(b.ProtoReflect().Descriptor().FullName()))
	})
}

// describe writes the files of the types as a FileDescriptorSet.
func (d *differ) describe() error {
	set := &descriptorpb.FileDescriptorSet{}
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
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	for _, m := range d.types {
		add(m.ProtoReflect().Descriptor().ParentFile())
	}
	b, err := proto.Marshal(set)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(b)
	return err
}

// prepare compiles the plans.
func (d *differ) prepare() error {
	for _, m := range d.types {
		if err := ways.Fast(m); err != nil {
			return err
		}
	}
	return nil
}

// compare compares one message.
func (d *differ) compare(a *arena.Arena, like proto.Message, o proto.UnmarshalOptions, inputs ...[]byte) error {
	d.inputs++
	valid, err := ways.Compare(a, like, o, inputs...)
	if valid {
		d.valid++
	}
	a.Reset(arena.Keep)
	if d.inputs%4096 == 0 {
		runtime.GC()
	}
	if err != nil {
		err = fmt.Errorf("%s, options %+v: %w: inputs %.4000x", like.ProtoReflect().Descriptor().FullName(), o, err, inputs)
	}
	return err
}

// file compares the inputs of a file, as they are, cut and with changed bytes.
func (d *differ) file(name string) error {
	if name == "" {
		return nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var specimens []struct {
		Type, Text string
		Bytes      []byte
	}
	if err := json.Unmarshal(text, &specimens); err != nil {
		return err
	}
	a := arena.NewArena()
	defer a.Free()
	for _, s := range specimens {
		t, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(s.Type))
		if err != nil {
			return fmt.Errorf("%s: %w", s.Type, err)
		}
		like, b := t.Zero().Interface(), s.Bytes
		if s.Text != "" {
			m := t.New().Interface()
			if err := prototext.Unmarshal([]byte(s.Text), m); err != nil {
				return err
			}
			if b, err = (proto.MarshalOptions{AllowPartial: true}).Marshal(m); err != nil {
				return err
			}
		}
		if err := d.specimen(a, like, b); err != nil {
			return err
		}
	}
	return nil
}

// specimen compares an input, its prefixes, and the input with one byte flipped. Of large inputs it takes a
// part of these.
func (d *differ) specimen(a *arena.Arena, like proto.Message, b []byte) error {
	if err := errors.Join(d.compare(a, like, proto.UnmarshalOptions{}, b), d.compare(a, like, proto.UnmarshalOptions{}, b, b)); err != nil {
		return err
	}
	steps := min(len(b), 256, 1+1<<23/(len(b)+1))
	for i := range steps {
		at := i * len(b) / steps
		flipped := bytes.Clone(b)
		flipped[at] ^= 0xff
		o := proto.UnmarshalOptions{AllowPartial: true}
		if err := errors.Join(d.compare(a, like, o, b[:at]), d.compare(a, like, o, flipped)); err != nil {
			return err
		}
	}
	return nil
}

// random compares random inputs.
func (d *differ) random(seed uint64, limit time.Duration) error {
	a := arena.NewArena()
	defer a.Free()
	for end := time.Now().Add(limit); time.Now().Before(end); seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		m := d.types[r.IntN(len(d.types))]
		md := m.ProtoReflect().Descriptor()
		inputs := [][]byte{ways.Input(r, md)}
		if r.IntN(4) == 0 {
			inputs = append(inputs, ways.Input(r, md))
		}
		o := proto.UnmarshalOptions{AllowPartial: r.IntN(3) != 0, DiscardUnknown: r.IntN(4) == 0}
		if r.IntN(8) == 0 {
			o.RecursionLimit = 1 + r.IntN(4)
		}
		if err := d.compare(a, m, o, inputs...); err != nil {
			return fmt.Errorf("input %d: %w", seed, err)
		}
	}
	return nil
}
