// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/hybrid"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/opaque"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/open"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
)

// every has a message of each type that the tests decode.
var every = []proto.Message{
	new(proto2.All), new(proto3.All), new(open.All), new(hybrid.All), new(opaque.All),
	new(proto2.Tree), new(opaque.Tree),
	new(proto2.Needs), new(open.Needs), new(hybrid.Needs), new(opaque.Needs),
	new(proto2.Open2), new(open.Open2), new(hybrid.Open2), new(opaque.Open2),
	new(proto2.HasSet), new(proto2.Set), new(proto2.Item),
	new(structpb.Struct), new(timestamppb.Timestamp), new(anypb.Any), new(wrapperspb.BytesValue),
	new(descriptorpb.FileDescriptorProto), new(descriptorpb.FieldOptions),
}

// same decodes b by protobuf-go and in all our ways, and reports differences.
func same(t *testing.T, b []byte, like proto.Message, o proto.UnmarshalOptions) error {
	t.Helper()
	want := like.ProtoReflect().New().Interface()
	o.NoLazyDecoding = true
	wantErr := o.Unmarshal(b, want)
	a := arena.NewArena()
	defer a.Free()
	for _, way := range []struct {
		name  string
		a     *arena.Arena
		alias bool
	}{{"arena", a, false}, {"heap", nil, false}, {"alias", a, true}} {
		in := bytes.Clone(b)
		got := like.ProtoReflect().New().Interface()
		err := UnmarshalOptions{UnmarshalOptions: o, AliasInput: way.alias}.Unmarshal(way.a, in, got)
		if !way.alias {
			clear(in)
		}
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			return fmt.Errorf("%s: error %v, protobuf-go: %v: %x", way.name, err, wantErr, b)
		}
		if err != nil {
			continue
		}
		if path, ok := sameGo(reflect.ValueOf(got), reflect.ValueOf(want)); !ok {
			return fmt.Errorf("%s: other at %s: %x", way.name, path, b)
		}
		m := proto.MarshalOptions{Deterministic: true, AllowPartial: true}
		g, err := m.Marshal(got)
		w, wantErr := m.Marshal(want)
		if fmt.Sprint(err) != fmt.Sprint(wantErr) || !bytes.Equal(g, w) {
			return fmt.Errorf("%s: marshalled again to %x, %v; want %x, %v: %x", way.name, g, err, w, wantErr, b)
		}
	}
	return nil
}

// sameGo compares two messages as Go values: slices that are nil and empty differ.
func sameGo(a, b reflect.Value) (path string, ok bool) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return "", a.IsNil() == b.IsNil()
		}
		if a.Elem().Type() != b.Elem().Type() {
			return "", false
		}
		return sameGo(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			switch name := a.Type().Field(i).Name; name {
			case "state", "sizeCache", "extensionFields", "XXX_raceDetectHookData", "XXX_lazyUnmarshalInfo":
			default:
				if path, ok := sameGo(a.Field(i), b.Field(i)); !ok {
					return name + "." + path, false
				}
			}
		}
		return "", true
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return fmt.Sprintf("length %d, want %d (nil: %t, %t)", a.Len(), b.Len(), a.IsNil(), b.IsNil()), false
		}
		fallthrough
	case reflect.Array:
		for i := range a.Len() {
			if path, ok := sameGo(a.Index(i), b.Index(i)); !ok {
				return fmt.Sprintf("[%d].%s", i, path), false
			}
		}
		return "", true
	case reflect.Map:
		if a.Len() != b.Len() { // protobuf-go makes a map before it finds that the wire type is wrong.
			return fmt.Sprintf("map of %d, want %d", a.Len(), b.Len()), false
		}
		for it := a.MapRange(); it.Next(); {
			v := b.MapIndex(it.Key())
			if !v.IsValid() {
				return fmt.Sprintf("[%v]", it.Key()), false
			}
			if path, ok := sameGo(it.Value(), v); !ok {
				return fmt.Sprintf("[%v].%s", it.Key(), path), false
			}
		}
		return "", true
	case reflect.Float32, reflect.Float64:
		return "", math.Float64bits(a.Float()) == math.Float64bits(b.Float()) || a.Float() != a.Float() && b.Float() != b.Float()
	}
	return "", a.Equal(b)
}

// slow reports whether decoding takes much longer than usual, or not the usual way: with the race detector, or in a
// mode of FREEHOLD.
func slow() bool { return raceEnabled || os.Getenv("FREEHOLD") != "" }

// TestSame decodes random inputs.
func TestSame(t *testing.T) {
	for _, m := range every {
		md := m.ProtoReflect().Descriptor()
		t.Run(string(md.FullName()), func(t *testing.T) {
			rounds := 100
			if testing.Short() || slow() {
				rounds = 15
			}
			for seed := range uint64(rounds) {
				w := &writer{rand.New(rand.NewPCG(seed, 1)), int(seed%3) * 10}
				b := w.message(nil, md, 3, w.IntN(30))
				o := proto.UnmarshalOptions{AllowPartial: seed%2 == 0, DiscardUnknown: seed%5 == 0}
				if seed%7 == 0 {
					o.RecursionLimit = 1 + int(seed%4)
				}
				if err := same(t, b, m, o); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
		})
	}
}

// FuzzSame decodes any input as a message of any type of the tests.
func FuzzSame(f *testing.F) {
	for i, m := range every {
		f.Add(uint8(i), uint8(0), randomInput(m, uint64(i), 8))
	}
	f.Fuzz(func(t *testing.T, i, options uint8, b []byte) {
		o := proto.UnmarshalOptions{AllowPartial: options&1 != 0, DiscardUnknown: options&2 != 0, RecursionLimit: int(options >> 4)}
		if err := same(t, b, every[int(i)%len(every)], o); err != nil {
			t.Error(err)
		}
	})
}
