// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/opaque"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
	"github.com/freehold-go/freehold/arena"
)

// TestInto calls package proto with a message that stands for another.
func TestInto(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for _, m := range every {
		for seed := range uint64(10) {
			b := randomInput(m, seed, 20)
			want := m.ProtoReflect().New().Interface()
			wantErr := proto.Unmarshal(b, want)
			got := m.ProtoReflect().New().Interface()
			if err := proto.Unmarshal(b, Into(a, got)); (err == nil) != (wantErr == nil) {
				t.Fatalf("%T: error %v, want %v", m, err, wantErr)
			} else if err == nil && !proto.Equal(got, want) {
				t.Fatalf("%T: another message of %x", m, b)
			}
		}
	}
	if freehold.HeapMode() {
		return // An arena owns nothing then.
	}
	m := new(structpb.Struct)
	b, err := proto.Marshal(&structpb.Struct{Fields: map[string]*structpb.Value{"name": structpb.NewStringValue("value")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := proto.Unmarshal(b, Into(a, m)); err != nil || !a.Owns(m.Fields["name"]) || !a.Owns(m.Fields["name"].GetStringValue()) {
		t.Errorf("%v, %v: the value is not in the arena", m, err)
	}
}

// TestIntoIsTheMessage calls all else that package proto does with a message.
func TestIntoIsTheMessage(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	inner := &proto2.Needs{A: proto.Int32(1)}
	m := Into(a, inner)
	if proto.CheckInitialized(m) == nil {
		t.Error("CheckInitialized finds nothing")
	}
	inner.B = proto.String("b")
	b, err := proto.Marshal(m)
	want, wantErr := proto.Marshal(inner)
	if err != nil || wantErr != nil || !bytes.Equal(b, want) || proto.Size(m) != len(want) {
		t.Errorf("Marshal: %x, %v, size %d; want %x, %v", b, err, proto.Size(m), want, wantErr)
	}
	if !proto.Equal(m, inner) || !proto.Equal(inner, m) || proto.Equal(m, new(proto2.Needs)) {
		t.Error("Equal")
	}
	if c := proto.Clone(m); !proto.Equal(c, inner) {
		t.Errorf("Clone: %v", c)
	}
	proto.Merge(m, &proto2.Needs{A: proto.Int32(2)})
	other := new(proto2.Needs)
	proto.Merge(other, m)
	if inner.GetA() != 2 || other.GetA() != 2 {
		t.Errorf("Merge: %v, %v", inner, other)
	}
	if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal([]byte{8, 3}, m); err != nil || inner.GetA() != 3 || inner.GetB() != "b" {
		t.Errorf("Unmarshal with Merge: %v, %v", inner, err)
	}
	if proto.Reset(m); inner.A != nil {
		t.Error("Reset")
	}
	inner.A = proto.Int32(1)
	v1, ok := m.(protoadapt.MessageV1)
	if !ok || v1.String() != inner.String() || protoadapt.MessageV2Of(v1) != m {
		t.Errorf("it is no message of version 1 of the API: %v", m)
	} else if v1.Reset(); inner.A != nil {
		t.Error("Reset of version 1")
	}
	if d := dynamicpb.NewMessage(inner.ProtoReflect().Descriptor()); Into(a, d) != proto.Message(d) {
		t.Error("a dynamic message does not stand for itself")
	}
}

// TestMerge decodes into messages that are not empty.
func TestMerge(t *testing.T) {
	for _, m := range every {
		for seed := range uint64(12) {
			a := arena.NewArena()
			first, second := randomInput(m, 2*seed, 25), randomInput(m, 2*seed+1, 25)
			o := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Merge: true, AllowPartial: true}}
			want, got, lazy := m.ProtoReflect().New().Interface(), m.ProtoReflect().New().Interface(), m.ProtoReflect().New().Interface()
			for _, b := range [][]byte{first, second} {
				wantErr := o.UnmarshalOptions.Unmarshal(b, want)
				if err := o.Unmarshal(a, b, got); (err == nil) != (wantErr == nil) {
					t.Fatalf("%T: error %v, want %v", m, err, wantErr)
				}
			}
			_ = o.UnmarshalOptions.Unmarshal(first, lazy) // Fields may still be encoded when ours begins.
			_ = o.Unmarshal(a, second, lazy)
			if proto.Unmarshal(first, m.ProtoReflect().New().Interface()) != nil || proto.Unmarshal(second, m.ProtoReflect().New().Interface()) != nil {
				a.Free() // After an error a message holds some part.
				continue
			}
			if !proto.Equal(got, want) || !proto.Equal(lazy, want) {
				t.Fatalf("%T: another message of %x and %x", m, first, second)
			}
			a.Free()
		}
	}
}

// TestAliases looks where strings lie.
func TestAliases(t *testing.T) {
	if freehold.HeapMode() {
		t.Skip("an arena owns nothing with the kill switch")
	}
	a := arena.NewArena()
	defer a.Free()
	in := []byte{0x72, 3, 'a', 'b', 'c'}
	m, err := New[opaque.All](a, in)
	if err != nil || !a.Owns(m) || !a.Owns(m.GetFString()) {
		t.Fatalf("%v, %v: not in the arena", m, err)
	}
	in[2] = 'x'
	if m.GetFString() != "abc" {
		t.Error("the message changes with the input")
	}
	m, err = New[opaque.All](a, in, UnmarshalOptions{AliasInput: true})
	if err != nil {
		t.Fatal(err)
	}
	if in[2] = 'y'; m.GetFString() != "ybc" {
		t.Error("AliasInput copies")
	}
}
