// SPDX-License-Identifier: Apache-2.0

// Command testee is the program that the conformance test runner of Protocol Buffers asks: it decodes the
// runner's binary inputs by arenaproto, in the way that PROTOCHECK_WAY names, and all else by
// protobuf-go.
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/benchmarks/protocheck/ways"
)

// Numbers of conformance.proto.
const (
	outputBinary, outputJSON, outputText = 1, 2, 4
	ignoreUnknown                        = 3
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "testee:", err)
		os.Exit(1)
	}
}

// serve answers requests until the runner has no more.
func serve() error {
	way, ok := ways.Find(os.Getenv("PROTOCHECK_WAY"))
	if !ok {
		return errors.New("PROTOCHECK_WAY names no way")
	}
	var size [4]byte
	for {
		if _, err := io.ReadFull(os.Stdin, size[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		b := make([]byte, binary.LittleEndian.Uint32(size[:]))
		if _, err := io.ReadFull(os.Stdin, b); err != nil {
			return err
		}
		out, err := answer(way, b)
		if err != nil {
			return err
		}
		out = append(binary.LittleEndian.AppendUint32(nil, uint32(len(out))), out...)
		if _, err := os.Stdout.Write(out); err != nil {
			return err
		}
	}
}

// A request is a ConformanceRequest. Its Go type is generated when the runner is downloaded.
type request struct{ protoreflect.Message }

func (r request) get(name protoreflect.Name) protoreflect.Value {
	return r.Get(r.Descriptor().Fields().ByName(name))
}

// newMessage is an empty message of a generated type.
func newMessage(name protoreflect.FullName) (protoreflect.Message, error) {
	t, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		return nil, err
	}
	return t.New(), nil
}

// answer is the response to a request, both in binary.
func answer(way ways.Way, b []byte) ([]byte, error) {
	m, err := newMessage("conformance.ConformanceRequest")
	if err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(b, m.Interface()); err != nil {
		return nil, err
	}
	out, err := newMessage("conformance.ConformanceResponse")
	if err != nil {
		return nil, err
	}
	field, value := respond(way, request{m})
	out.Set(out.Descriptor().Fields().ByName(field), value)
	return proto.Marshal(out.Interface())
}

// respond is the field of the response that is set, and its value.
func respond(way ways.Way, r request) (protoreflect.Name, protoreflect.Value) {
	like, err := newMessage(protoreflect.FullName(r.get("message_type").String()))
	if err != nil {
		return "runtime_error", protoreflect.ValueOfString(err.Error())
	}
	if err := ways.Fast(like.Interface()); err != nil {
		return "runtime_error", protoreflect.ValueOfString(err.Error())
	}
	a := arena.NewArena()
	defer a.Free()
	m := like.Interface()
	switch payload := r.WhichOneof(r.Descriptor().Oneofs().ByName("payload")); payload.Name() {
	case "protobuf_payload":
		in := r.get("protobuf_payload").Bytes()
		m = way.New(a, m)
		err = way.Decode(a, in, m, proto.UnmarshalOptions{})
		if way.Name != "alias" {
			clear(in)
		}
	case "json_payload":
		o := protojson.UnmarshalOptions{DiscardUnknown: r.get("test_category").Enum() == ignoreUnknown}
		err = o.Unmarshal([]byte(r.get("json_payload").String()), m)
	case "text_payload":
		err = prototext.Unmarshal([]byte(r.get("text_payload").String()), m)
	default:
		return "skipped", protoreflect.ValueOfString("an input of another format")
	}
	if err != nil {
		return "parse_error", protoreflect.ValueOfString(err.Error())
	}
	return encode(r, m)
}

// encode is the response with m in the requested format.
func encode(r request, m proto.Message) (protoreflect.Name, protoreflect.Value) {
	var name protoreflect.Name
	var b []byte
	var err error
	switch r.get("requested_output_format").Enum() {
	case outputBinary:
		b, err = proto.Marshal(m)
		if err == nil {
			return "protobuf_payload", protoreflect.ValueOfBytes(b)
		}
	case outputJSON:
		name = "json_payload"
		b, err = protojson.Marshal(m)
	case outputText:
		name = "text_payload"
		b, err = prototext.MarshalOptions{EmitUnknown: r.get("print_unknown_fields").Bool()}.Marshal(m)
	default:
		return "skipped", protoreflect.ValueOfString("an output of another format")
	}
	if err != nil {
		return "serialize_error", protoreflect.ValueOfString(err.Error())
	}
	return name, protoreflect.ValueOfString(string(b))
}
