// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
)

// TestTexts decodes strings of each short length, with bytes that are not ASCII at each position: as a field, as a member of a
// oneof, and at the end of an input that is not copied.
func TestTexts(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for n := range 75 {
		for _, odd := range []string{"", "\x80", "\xff", "é", "\xe2\x82", "€"} {
			for at := 0; at+len(odd) <= n; at++ {
				text := bytes.Repeat([]byte("a"), n)
				copy(text[at:], odd)
				sameText(t, a, &proto3.All{}, 14, text)
				sameText(t, a, &structpb.Value{}, 3, text)
				if odd == "" {
					break
				}
			}
		}
		a.Reset(arena.Keep)
	}
}

// sameText decodes a field as proto.Unmarshal does: alone, and with a record behind it.
func sameText(t *testing.T, a *arena.Arena, m proto.Message, num protowire.Number, text []byte) {
	t.Helper()
	b := protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), text)
	for _, in := range [][]byte{b[:len(b):len(b)], append(bytes.Clone(b), 0xa0, 0x06, 1)} {
		want := m.ProtoReflect().New().Interface()
		wantErr := proto.Unmarshal(in, want)
		for _, alias := range []bool{false, true} {
			got := m.ProtoReflect().New().Interface()
			err := UnmarshalOptions{AliasInput: alias}.Unmarshal(a, in, got)
			if (err == nil) != (wantErr == nil) || err == nil && !proto.Equal(got, want) {
				t.Fatalf("%q, alias %v: %v, %v; want %v, %v", text, alias, got, err, want, wantErr)
			}
		}
	}
}
