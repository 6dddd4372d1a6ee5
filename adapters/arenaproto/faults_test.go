// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/hybrid"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/opaque"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/open"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
)

// TestTwoFaults decodes entries of maps that are nested too deep and have a bad length besides. protobuf-go
// finds the depth first.
func TestTwoFaults(t *testing.T) {
	md := new(proto3.All).ProtoReflect().Descriptor()
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if !fd.IsMap() {
			continue
		}
		for _, length := range []string{"", "\x04\x0a", "\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
			for _, wire := range []protowire.Type{protowire.VarintType, protowire.BytesType} {
				b := append(protowire.AppendTag(nil, fd.Number(), wire), length...)
				for limit := range 3 {
					if err := same(t, b, new(proto3.All), proto.UnmarshalOptions{RecursionLimit: limit}); err != nil {
						t.Errorf("%s with wire type %d and RecursionLimit %d: %v", fd.Name(), wire, limit, err)
					}
				}
			}
		}
	}
}

// TestTwoFaultsBesideForeign decodes inputs with faults in extensions, which protobuf-go decodes when a message ends, and
// in other records. The error is that of the first fault.
func TestTwoFaultsBesideForeign(t *testing.T) {
	records := [][]byte{
		nil,
		protowire.AppendVarint(protowire.AppendTag(nil, 100, protowire.VarintType), 1), // x_int32.
		bytesRecord(103, []byte{0xff}),                 // x_needs, cut in a tag.
		bytesRecord(2, bytesRecord(2, bytesRecord(2))), // Nested too deep.
		{0xff},
	}
	for _, like := range []proto.Message{new(proto2.Open2), new(open.Open2), new(hybrid.Open2), new(opaque.Open2)} {
		for _, first := range records {
			for _, second := range records {
				for _, b := range [][]byte{
					slices.Concat(first, second), bytesRecord(2, first, second), slices.Concat(bytesRecord(2, first), second), slices.Concat(first, bytesRecord(2, second)),
				} {
					if err := same(t, b, like, proto.UnmarshalOptions{RecursionLimit: 3}); err != nil {
						t.Errorf("%T: %v", like, err)
					}
				}
			}
		}
	}
}

// TestOrderBesideForeign decodes unknown records around a record of a field that protobuf-go decodes, whose wire type is
// wrong: it is unknown, too, and keeps its place.
func TestOrderBesideForeign(t *testing.T) {
	var b []byte
	for i, num := range []protowire.Number{1, 99, 2, 98, 1} {
		b = protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(i))
	}
	if err := same(t, b, new(proto2.HasSet), proto.UnmarshalOptions{}); err != nil {
		t.Error(err)
	}
}
