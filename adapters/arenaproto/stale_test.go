// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/opaque"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
)

// TestStaleList looks at the list of a message on the Go heap after Reset. It shows messages of its own type, or
// none, but never those of another type, whose numbers would be its pointers.
func TestStaleList(t *testing.T) {
	if slow() {
		t.Skip("the test uses a stale value, which the modes of FREEHOLD report")
	}
	a := arena.NewArena()
	defer a.Free()
	tree, all := new(opaque.Tree), new(opaque.All)
	if err := Unmarshal(a, []byte{0x12, 0, 0x12, 0}, tree); err != nil || len(tree.GetKids()) != 2 {
		t.Fatalf("%v, %v", tree, err)
	}
	a.Reset(arena.Keep)
	smalls := protowire.AppendTag(nil, 20, protowire.BytesType)
	smalls = protowire.AppendBytes(smalls, []byte{0x08, 0x7f})
	if err := Unmarshal(a, smalls, all); err != nil || len(all.GetSmalls()) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	for _, kid := range tree.GetKids() {
		if kid != nil && reflect.ValueOf(kid).Pointer() == reflect.ValueOf(all.GetSmalls()[0]).Pointer() {
			t.Fatalf("a stale []*Tree shows a *Small")
		}
	}
}

// A meddler is a Resolver that does something to the message while it is decoded.
type meddler struct {
	*protoregistry.Types
	do func()
}

func (m meddler) FindExtensionByNumber(protoreflect.FullName, protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	m.do()
	return nil, protoregistry.NotFound
}

// options are n messages of a FileDescriptorProto. Each has options with a field that may be an extension.
func options(n int) (b []byte) {
	inner := protowire.AppendVarint(protowire.AppendTag(nil, 50000, protowire.VarintType), 1)
	inner = protowire.AppendBytes(protowire.AppendTag(nil, 7, protowire.BytesType), inner)
	for range n {
		b = protowire.AppendBytes(protowire.AppendTag(b, 4, protowire.BytesType), inner)
	}
	return b
}

// TestResolverShortensList makes a list shorter while messages are added to it. Nothing is written behind its
// end.
func TestResolverShortensList(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for _, a := range []*arena.Arena{a, nil} {
		for last := range 4 {
			m, mem := new(descriptorpb.FileDescriptorProto), make([]*descriptorpb.DescriptorProto, 8)
			calls := 0
			o := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Resolver: meddler{protoregistry.GlobalTypes, func() {
				if calls++; calls <= last+1 {
					m.MessageType = mem[:last:last]
				}
			}}}}
			if err := o.Unmarshal(a, options(4), m); err != nil || calls != 4 {
				t.Fatalf("%d calls, %v", calls, err)
			}
			for i, behind := range mem[last:] {
				if behind != nil {
					t.Fatalf("a list of capacity %d was written to at index %d", last, last+i)
				}
			}
			if len(m.MessageType) < last || len(m.GetMessageType()) != cap(m.MessageType) && len(m.MessageType) > cap(m.MessageType) {
				t.Errorf("a list of %d with room for %d", len(m.MessageType), cap(m.MessageType))
			}
		}
	}
}

// TestResolverFrees resets, rewinds or frees the arena while it is decoded into, which is reported. The next messages
// are decoded as if nothing had happened.
func TestResolverFrees(t *testing.T) {
	if os.Getenv("FREEHOLD") != "" {
		t.Skip("the debug modes report protobuf-go, which goes on in freed memory until it returns")
	}
	for name, free := range map[string]func(*arena.Arena, arena.Checkpoint){
		"Reset":  func(a *arena.Arena, _ arena.Checkpoint) { a.Reset(arena.Keep) },
		"Rewind": func(a *arena.Arena, c arena.Checkpoint) { a.Rewind(c) },
		"Free":   func(a *arena.Arena, _ arena.Checkpoint) { a.Free() },
		"Put":    func(a *arena.Arena, _ arena.Checkpoint) { (&arena.Pool{NoReuse: true}).Put(a) },
	} {
		for _, shared := range []bool{false, true} {
			// protobuf-go writes to the message once more, in memory that must not be another arena's then.
			a := arena.NewWith(arena.Options{Shared: shared, NoReuse: true})
			c := a.Checkpoint()
			o := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Resolver: meddler{protoregistry.GlobalTypes, func() { free(a, c) }}}}
			func() {
				defer func() {
					if r := fmt.Sprint(recover()); !strings.Contains(r, "Resolver") {
						t.Errorf("%s: %s", name, r)
					}
				}()
				_, _ = New[descriptorpb.FileDescriptorProto](a, options(150), o)
			}()
			if name == "Free" || name == "Put" {
				a = arena.NewArena()
			}
			if m, err := New[descriptorpb.FileDescriptorProto](a, options(150)); err != nil || len(m.MessageType) != 150 {
				t.Errorf("after %s: %v, %v", name, m, err)
			}
			a.Free()
		}
	}
}

// TestNilMessage decodes into no message. Large messages have fields far from their beginning, where a write
// through a nil pointer would end the process.
func TestNilMessage(t *testing.T) {
	for name, f := range map[string]func() error{
		"Unmarshal": func() error { return Unmarshal(nil, []byte{8, 1}, (*proto3.All)(nil)) },
		"Merge": func() error {
			return UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Merge: true}}.Unmarshal(nil, []byte{8, 1}, (*proto3.All)(nil))
		},
		"Into": func() error {
			return proto.UnmarshalOptions{Merge: true}.Unmarshal([]byte{8, 1}, Into(nil, (*proto3.All)(nil)))
		},
	} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, "nil *proto3.All") {
					t.Errorf("%s: %s", name, r)
				}
			}()
			t.Errorf("%s: no panic, error %v", name, f())
		}()
	}
}

// TestIntoDepth bounds how deeply messages are nested, by the limit that package proto is called with.
func TestIntoDepth(t *testing.T) {
	b := []byte{0x1a, 4, 0x1a, 2, 0x1a, 0} // Three levels below the first.
	for limit := range 8 {
		o := proto.UnmarshalOptions{RecursionLimit: limit - 1}
		want := o.Unmarshal(b, new(proto2.Tree))
		if err := o.Unmarshal(b, Into(nil, new(proto2.Tree))); fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("a limit of %d: %v, want %v", limit-1, err, want)
		}
		if err := (UnmarshalOptions{UnmarshalOptions: o}).Unmarshal(nil, b, new(proto2.Tree)); fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("Unmarshal with a limit of %d: %v, want %v", limit-1, err, want)
		}
	}
}
