// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
)

// TestValueTwice decodes an entry of a map with its value twice. protobuf-go takes the value for complete
// if one of the two is, and does not look for required fields then.
func TestValueTwice(t *testing.T) {
	record := func(b []byte, num protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
	}
	whole := []byte{1 << 3, 1, 2<<3 | 2, 0}
	part := record(whole[:4:4], 3, nil) // more has no required field set.
	for _, values := range [][][]byte{{part, whole}, {whole, part}, {part, part}, {whole, whole}, {part}, {whole}, {}, {nil}, {nil, whole}} {
		var entry []byte
		for _, v := range values {
			entry = record(entry, 2, v)
		}
		b := record(whole[:4:4], 5, entry)
		if err := same(t, b, new(proto2.Needs), proto.UnmarshalOptions{}); err != nil {
			t.Errorf("values %x: %v", values, err)
		}
		if err := same(t, record(b, 5, record(nil, 2, part)), new(proto2.Needs), proto.UnmarshalOptions{}); err != nil {
			t.Errorf("values %x, and an entry with a part: %v", values, err)
		}
	}
}
