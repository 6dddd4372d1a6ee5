// SPDX-License-Identifier: Apache-2.0

// Package ways decodes messages of any generated type in all ways of arenaproto, and compares the
// results with those of protobuf-go.
package ways

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/arena"
)

// A Way makes an empty message of like's type, and decodes b into it.
type Way struct {
	Name   string
	New    func(a *arena.Arena, like proto.Message) proto.Message
	Decode func(a *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error
}

// All are the ways of arenaproto. The messages of all but heap and heap alias lead into a.
var All = []Way{
	{"arena", inArena, unmarshal},
	{"root", onHeap, unmarshal},
	{"into", onHeap, func(a *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error {
		return o.Unmarshal(b, arenaproto.Into(a, m))
	}},
	{"heap", onHeap, func(_ *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error {
		return unmarshal(nil, b, m, o)
	}},
	{"alias", onHeap, func(a *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error {
		return aliased(a, b, m, o)
	}},
	{"heap alias", onHeap, func(_ *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error {
		return aliased(nil, b, m, o)
	}},
	// Of several inputs, protobuf-go decodes the first one or all others, so that a message lies partly in the arena and partly on the Go heap.
	{"onto heap", onHeap, func(a *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error {
		if !o.Merge {
			return Reference.Decode(a, b, m, o)
		}
		return unmarshal(a, b, m, o)
	}},
	{"onto arena", inArena, func(a *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error {
		if o.Merge {
			return Reference.Decode(a, b, m, o)
		}
		return unmarshal(a, b, m, o)
	}},
}

func aliased(a *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error {
	return arenaproto.UnmarshalOptions{UnmarshalOptions: o, AliasInput: true}.Unmarshal(a, b, m)
}

// Reference is protobuf-go. It decodes lazy fields at once, as arenaproto does.
var Reference = Way{"protobuf-go", onHeap, func(_ *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error {
	o.NoLazyDecoding = true
	return o.Unmarshal(b, m)
}}

// Find is the way of a name.
func Find(name string) (Way, bool) {
	for _, w := range append(All[:len(All):len(All)], Reference) {
		if w.Name == name {
			return w, true
		}
	}
	return Way{}, false
}

// Fast reports which type or field of m protobuf-go would decode, as an error. Only MessageSets may be decoded by it.
func Fast(m proto.Message) error {
	for _, f := range arenaproto.Prepare(m).Fallbacks {
		if !strings.Contains(f.Reason, "is a MessageSet") {
			return fmt.Errorf("%s %s falls back to protobuf-go: %s", f.Message, f.Field, f.Reason)
		}
	}
	return nil
}

func unmarshal(a *arena.Arena, b []byte, m proto.Message, o proto.UnmarshalOptions) error {
	return arenaproto.UnmarshalOptions{UnmarshalOptions: o}.Unmarshal(a, b, m)
}

// onHeap is an empty message on the Go heap.
func onHeap(_ *arena.Arena, like proto.Message) proto.Message {
	return like.ProtoReflect().New().Interface()
}

// inArena is an empty message in a.
func inArena(a *arena.Arena, like proto.Message) proto.Message {
	t := reflect.TypeOf(like).Elem()
	p, err := a.UnsafeNew(arena.UnsafeTypeOf(t))
	if err != nil {
		panic(err) // The arena has no limit.
	}
	return reflect.NewAt(t, p).Interface().(proto.Message)
}
