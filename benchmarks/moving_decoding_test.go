//go:build (amd64 || arm64) && !go1.28

package main

import (
	"reflect"
	"testing"

	"buf.build/go/hyperpb"
	"github.com/bytedance/sonic"
	"github.com/bytedance/sonic/ast"
	json "github.com/goccy/go-json"
	"github.com/valyala/fastjson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

// The tables on docs/decoding.md name these calls as what programs have before they move over; internal/checks/lint
// holds the tables to this file. What becomes of them is in arenajson/example_moving_test.go and
// adapters/arenaproto/example_moving_test.go.

type order struct{ A []int }

func sonicBefore(data []byte) (n int64, err error) {
	var v order
	t := reflect.TypeFor[order]()
	if err := sonic.Pretouch(t); err != nil {
		return 0, err
	}
	if err := sonic.ConfigStd.Unmarshal(data, &v); err != nil {
		return 0, err
	}
	if err := sonic.Unmarshal(data, &v); err != nil {
		return 0, err
	}
	var node ast.Node
	if node, err = sonic.Get(data, "a", 3); err != nil {
		return 0, err
	}
	return node.Int64()
}

func goccyBefore(data []byte) (n int64, err error) {
	var v order
	if err := json.Unmarshal(data, &v); err != nil {
		return 0, err
	}
	if err := json.UnmarshalNoEscape(data, &v); err != nil {
		return 0, err
	}
	return int64(v.A[3]), nil
}

func fastjsonBefore(data []byte) (n int64, err error) {
	var p fastjson.Parser
	v, err := p.ParseBytes(data)
	if err != nil {
		return 0, err
	}
	var values fastjson.Arena
	v.Set("b", values.NewNumberInt(1))
	v.Del("b")
	var b []byte
	if b = v.MarshalTo(b); string(b) != string(data) || v.GetStringBytes("a") != nil {
		return 0, nil
	}
	return int64(v.GetInt("a", "3")), nil
}

func TestDecodingBefore(t *testing.T) {
	for name, before := range map[string]func([]byte) (int64, error){"sonic": sonicBefore, "goccy": goccyBefore, "fastjson": fastjsonBefore} {
		if n, err := before([]byte(`{"a":[1,2,3,4]}`)); n != 4 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}

// vtMessage is what protoc-gen-go-vtproto adds to a message.
type vtMessage interface {
	proto.Message
	UnmarshalVT(b []byte) error
	UnmarshalVTUnsafe(b []byte) error
	ReturnToVTPool()
}

func vtBefore(m vtMessage, b []byte) error {
	defer m.ReturnToVTPool()
	if err := proto.Unmarshal(b, m); err != nil {
		return err
	}
	if err := m.UnmarshalVT(b); err != nil {
		return err
	}
	return m.UnmarshalVTUnsafe(b)
}

func hyperpbBefore(b []byte) (fields int, err error) {
	md := new(structpb.Struct).ProtoReflect().Descriptor()
	t := hyperpb.CompileMessageDescriptor(md)
	var shared hyperpb.Shared
	defer shared.Free()
	profile := t.NewProfile()
	m := shared.NewMessage(t)
	if err := m.Unmarshal(b, hyperpb.WithAllowAlias(true), hyperpb.WithRecordProfile(profile, 1)); err != nil {
		return 0, err
	}
	t = t.Recompile(profile)
	var recompiled hyperpb.Shared // A Shared is for the types of one compilation.
	defer recompiled.Free()
	m = recompiled.NewMessage(t)
	if err := m.Unmarshal(b); err != nil {
		return 0, err
	}
	return m.Get(md.Fields().ByNumber(1)).Map().Len(), nil
}

func TestHyperpbBefore(t *testing.T) {
	s, err := structpb.NewStruct(map[string]any{"a": 1, "b": "x"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := hyperpbBefore(b); n != 2 || err != nil {
		t.Errorf("%d fields, %v", n, err)
	}
	_ = vtBefore
}
