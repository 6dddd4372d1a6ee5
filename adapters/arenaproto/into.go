// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"reflect"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"
	"google.golang.org/protobuf/runtime/protoimpl"

	"github.com/freehold-go/freehold/arena"
)

// Into returns a message that stands for m in calls of [proto.Unmarshal] by other code: gRPC, a schema
// registry, a client of a queue. Such a call fills m from a, as [Unmarshal] does. All else that
// is done with the result is done with m.
//
// The result is not of m's type. Pass it to the code that decodes and to no other, and go on with m.
func Into(a *arena.Arena, m proto.Message) proto.Message { return UnmarshalOptions{}.Into(a, m) }

// Into is the function [Into] with AliasInput of the options. The others are those of the caller of
// proto.Unmarshal.
func (o UnmarshalOptions) Into(a *arena.Arena, m proto.Message) proto.Message {
	r := m.ProtoReflect()
	if r.ProtoMethods() == nil { // Dynamic messages and their kin.
		return m
	}
	return &stand{Message: r, inner: m, a: a, alias: o.AliasInput}
}

// A stand is a message whose Unmarshal is ours. It is its own reflection: package proto finds the methods there.
type stand struct {
	protoreflect.Message // Of inner.
	inner                proto.Message
	a                    *arena.Arena
	alias                bool
}

// ProtoReflect makes a stand a message.
func (s *stand) ProtoReflect() protoreflect.Message { return s }

// ProtoMethods are the methods that package proto calls.
func (s *stand) ProtoMethods() *protoiface.Methods { return &standMethods }

// Reset, String and ProtoMessage make a stand a message of version 1 of the API, too: gRPC before 1.63 and
// clients of queues decode by github.com/golang/protobuf.

// Reset empties the inner message.
func (s *stand) Reset() { proto.Reset(s.inner) }

// String is the inner message as text.
func (s *stand) String() string { return protoimpl.X.MessageStringOf(s.inner) }

// ProtoMessage marks messages.
func (s *stand) ProtoMessage() {}

// New is an empty message of the inner type.
func (s *stand) New() protoreflect.Message { return s.Message.New() }

var standMethods = protoiface.Methods{
	Flags:     protoiface.SupportMarshalDeterministic | protoiface.SupportUnmarshalDiscardUnknown,
	Unmarshal: unmarshalStand,
	Size: func(in protoiface.SizeInput) protoiface.SizeOutput {
		o := proto.MarshalOptions{UseCachedSize: in.Flags&protoiface.MarshalUseCachedSize != 0}
		return protoiface.SizeOutput{Size: o.Size(behind(in.Message))}
	},
	Marshal: func(in protoiface.MarshalInput) (protoiface.MarshalOutput, error) {
		o := proto.MarshalOptions{
			AllowPartial:  true,
			Deterministic: in.Flags&protoiface.MarshalDeterministic != 0,
			UseCachedSize: in.Flags&protoiface.MarshalUseCachedSize != 0,
		}
		b, err := o.MarshalAppend(in.Buf, behind(in.Message))
		return protoiface.MarshalOutput{Buf: b}, err
	},
	Merge: func(in protoiface.MergeInput) protoiface.MergeOutput {
		proto.Merge(behind(in.Destination), behind(in.Source))
		return protoiface.MergeOutput{Flags: protoiface.MergeComplete}
	},
	CheckInitialized: func(in protoiface.CheckInitializedInput) (protoiface.CheckInitializedOutput, error) {
		return protoiface.CheckInitializedOutput{}, proto.CheckInitialized(behind(in.Message))
	},
	Equal: func(in protoiface.EqualInput) protoiface.EqualOutput {
		return protoiface.EqualOutput{Equal: proto.Equal(behind(in.MessageA), behind(in.MessageB))}
	},
}

// behind is the message that m stands for, or m.
func behind(m protoreflect.Message) proto.Message {
	if s, ok := m.(*stand); ok {
		return s.inner
	}
	return m.Interface()
}

// unmarshalStand is Unmarshal for package proto, which has reset the message before if it is to be reset.
func unmarshalStand(in protoiface.UnmarshalInput) (protoiface.UnmarshalOutput, error) {
	s := in.Message.(*stand)
	o := UnmarshalOptions{AliasInput: s.alias}
	o.Merge, o.AllowPartial, o.RecursionLimit, o.Resolver = true, true, in.Depth, in.Resolver
	o.DiscardUnknown = in.Flags&protoiface.UnmarshalDiscardUnknown != 0
	o.NoLazyDecoding = in.Flags&protoiface.UnmarshalNoLazyDecoding != 0
	s.a.Round() // Panics if the arena was freed: a message need not take memory.
	p := planOf(reflect.TypeOf(s.inner))
	if p.foreign != "" || p.lazy && !isFresh(s.inner) {
		return o.UnmarshalState(protoiface.UnmarshalInput{Message: s.Message, Buf: in.Buf})
	}
	partial, err := o.decode(s.a, in.Buf, p, addressOf(s.inner))
	var out protoiface.UnmarshalOutput
	required := in.Flags&protoiface.UnmarshalCheckRequired != 0 // Else package proto ignores the flag.
	if err == nil && (!partial || required && o.missing(in.Buf, s.inner) == nil) {
		out.Flags |= protoiface.UnmarshalInitialized
	}
	return out, err
}
