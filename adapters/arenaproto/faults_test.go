// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

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
			b := append(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), length...)
			for limit := range 3 {
				if err := same(t, b, new(proto3.All), proto.UnmarshalOptions{RecursionLimit: limit}); err != nil {
					t.Errorf("%s with RecursionLimit %d: %v", fd.Name(), limit, err)
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
