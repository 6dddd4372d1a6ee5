// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/hybrid"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/opaque"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/open"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
)

var needs = []proto.Message{new(proto2.Needs), new(open.Needs), new(hybrid.Needs), new(opaque.Needs)}

// bytesRecord is a record of a message, a string or bytes.
func bytesRecord(num protowire.Number, parts ...[]byte) []byte {
	var v []byte
	for _, part := range parts {
		v = append(v, part...)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), v)
}

// TestValueTwice decodes an entry of a map with its value twice. protobuf-go takes the value for complete
// if one of the two is, and does not look for required fields then.
func TestValueTwice(t *testing.T) {
	whole := []byte{1 << 3, 1, 2<<3 | 2, 0}
	part := append(whole[:4:4], bytesRecord(3)...) // more has no required field set.
	for _, values := range [][][]byte{{part, whole}, {whole, part}, {part, part}, {whole, whole}, {part}, {whole}, {}, {nil}, {nil, whole}} {
		var entry []byte
		for _, v := range values {
			entry = append(entry, bytesRecord(2, v)...)
		}
		b := append(whole[:4:4], bytesRecord(5, entry)...)
		if err := same(t, b, new(proto2.Needs), proto.UnmarshalOptions{}); err != nil {
			t.Errorf("values %x: %v", values, err)
		}
		if err := same(t, append(b, bytesRecord(5, bytesRecord(2, part))...), new(proto2.Needs), proto.UnmarshalOptions{}); err != nil {
			t.Errorf("values %x, and an entry with a part: %v", values, err)
		}
	}
}

// TestOverlooked decodes messages without required fields at places where proto.Unmarshal overlooks them, and at
// others. If it finds one of the latter, it reports any of all.
func TestOverlooked(t *testing.T) {
	whole := []byte{1 << 3, 1, 2<<3 | 2, 0}
	records := [][]byte{
		whole,
		bytesRecord(5), // An entry without a value.
		bytesRecord(5, bytesRecord(2, whole, bytesRecord(9))),                                                     // An entry with p.
		bytesRecord(5, bytesRecord(1, []byte("k")), bytesRecord(2, whole, bytesRecord(4)), bytesRecord(2, whole)), // A value twice.
		bytesRecord(9), // p, which is not the first member of the oneof.
		bytesRecord(6), // o, which is.
	}
	for _, like := range needs {
		for set := range 1 << len(records) {
			var b []byte
			for i, r := range records {
				if set>>i&1 != 0 {
					b = append(b, r...)
				}
			}
			for _, lacking := range []bool{false, true} {
				if err := sameMerged(like, b, lacking); err != nil {
					t.Errorf("%T: %x: %v", like, b, err)
				}
			}
		}
	}
}

// sameMerged decodes b by protobuf-go and in our ways, into a message that may lack required fields already. It
// compares whether there is an error: protobuf-go names any one of the missing fields.
func sameMerged(like proto.Message, b []byte, lacking bool) error {
	o := proto.UnmarshalOptions{Merge: true, NoLazyDecoding: true}
	decoded := func(decode func(m proto.Message) error) bool {
		m := like.ProtoReflect().New().Interface()
		if lacking {
			_ = proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(bytesRecord(3), m)
		}
		return decode(m) == nil
	}
	want := decoded(func(m proto.Message) error { return o.Unmarshal(b, m) })
	got := decoded(func(m proto.Message) error { return UnmarshalOptions{UnmarshalOptions: o}.Unmarshal(nil, b, m) })
	into := decoded(func(m proto.Message) error { return o.Unmarshal(b, Into(nil, m)) })
	if got != want || into != want {
		return fmt.Errorf("decoded: %t, by Into: %t, by protobuf-go: %t", got, into, want)
	}
	return nil
}
