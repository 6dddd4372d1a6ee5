// SPDX-License-Identifier: Apache-2.0

package ways

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/arena"
)

// Compare decodes inputs one after another into one message, the later ones with Merge, by protobuf-go and
// in All ways. The result is the first difference: in errors, in values, in unknown fields, or in
// the bytes of the message marshalled again. valid reports whether protobuf-go takes the inputs.
func Compare(a *arena.Arena, like proto.Message, o proto.UnmarshalOptions, inputs ...[]byte) (valid bool, err error) {
	if len(inputs) > 1 { // protobuf-go merges into messages with lazy fields, and would leave them undecoded.
		o.NoLazyDecoding = true
	}
	want, wantErr := decode(nil, Reference, like, o, inputs)
	again, marshalErr := marshal(want)
	for _, way := range All {
		got, gotErr := decode(a, way, like, o, inputs)
		switch {
		case !sameError(gotErr, wantErr):
			return false, fmt.Errorf("%s: error %v, protobuf-go: %v", way.Name, gotErr, wantErr)
		case wantErr != nil:
			continue
		}
		if path, ok := equal(reflect.ValueOf(got), reflect.ValueOf(want)); !ok {
			return false, fmt.Errorf("%s: the Go values differ at %s", way.Name, path)
		}
		b, err := marshal(got)
		if fmt.Sprint(err) != fmt.Sprint(marshalErr) || !bytes.Equal(b, again) {
			return false, fmt.Errorf("%s: marshalled again to %x, %v; protobuf-go: %x, %v", way.Name, b, err, again, marshalErr)
		}
		if !proto.Equal(got, want) {
			return false, fmt.Errorf("%s: proto.Equal says no", way.Name)
		}
	}
	return wantErr == nil, nil
}

// sameError compares texts. Of several required fields that are not set, protobuf-go names any one: it asks the values
// of maps in random order.
func sameError(a, b error) bool {
	const required = "required field "
	return fmt.Sprint(a) == fmt.Sprint(b) || a != nil && b != nil && strings.Contains(a.Error(), required) && strings.Contains(b.Error(), required)
}

// decode decodes inputs, and overwrites those that the message must not refer to.
func decode(a *arena.Arena, way Way, like proto.Message, o proto.UnmarshalOptions, inputs [][]byte) (proto.Message, error) {
	m := way.New(a, like)
	for i, in := range inputs {
		in = bytes.Clone(in)
		o.Merge = o.Merge || i > 0
		err := way.Decode(a, in, m, o)
		if !strings.Contains(way.Name, "alias") {
			for i := range in {
				in[i] = 0xee
			}
		}
		if err != nil {
			return m, err
		}
	}
	return m, nil
}

func marshal(m proto.Message) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
}

// equal compares two messages as Go values: nil and empty slices differ. path leads to a difference.
func equal(a, b reflect.Value) (path string, ok bool) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return "", a.IsNil() == b.IsNil()
		}
		if a.Elem().Type() != b.Elem().Type() {
			return a.Elem().Type().String(), false
		}
		return equal(a.Elem(), b.Elem())
	case reflect.Struct:
		return equalStruct(a, b)
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() || a.Kind() == reflect.Slice && a.IsNil() != b.IsNil() {
			return fmt.Sprintf("length %d, want %d", a.Len(), b.Len()), false
		}
		for i := range a.Len() {
			if path, ok := equal(a.Index(i), b.Index(i)); !ok {
				return fmt.Sprintf("%d.%s", i, path), false
			}
		}
		return "", true
	case reflect.Map: // nil or empty: protobuf-go makes maps for records that it then refuses.
		if a.Len() != b.Len() {
			return fmt.Sprintf("length %d, want %d", a.Len(), b.Len()), false
		}
		for it := a.MapRange(); it.Next(); {
			v := b.MapIndex(it.Key())
			if !v.IsValid() {
				return fmt.Sprint(it.Key()), false
			}
			if path, ok := equal(it.Value(), v); !ok {
				return fmt.Sprintf("%v.%s", it.Key(), path), false
			}
		}
		return "", true
	case reflect.Float32, reflect.Float64:
		return "", math.Float64bits(a.Float()) == math.Float64bits(b.Float()) || a.Float() != a.Float() && b.Float() != b.Float()
	}
	return "", a.Equal(b)
}

// equalStruct compares the fields of two structs, except those in which protobuf-go keeps its own state. A
// comparison of marshalled bytes sees extensions.
func equalStruct(a, b reflect.Value) (path string, ok bool) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		switch f.Name {
		case "state", "sizeCache", "extensionFields", "XXX_raceDetectHookData", "XXX_lazyUnmarshalInfo":
			continue
		}
		if path, ok := equal(a.Field(i), b.Field(i)); !ok {
			return f.Name + "." + path, false
		}
	}
	return "", true
}
