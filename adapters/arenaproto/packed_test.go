// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
)

// packedNumbers are the lists of numbers of proto3.All.
var packedNumbers = []protowire.Number{21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 36}

// TestPacked decodes lists of few and of many values that share a length, whose varints have one to ten bytes, at the
// end of the input and before other records.
func TestPacked(t *testing.T) {
	values := []uint64{0, 1, 0x7f, 0x80, 0x3fff, 0x4000, 1<<21 - 1, 1 << 28, 1<<35 - 1, 1 << 56, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	rest := protowire.AppendString(protowire.AppendTag(nil, 14, protowire.BytesType), "the rest of the input")
	for _, num := range packedNumbers {
		for n := range 20 {
			for first := range values {
				if (testing.Short() || slow()) && (n+first)%5 != 0 {
					continue
				}
				var list []byte
				for k := range n {
					list = protowire.AppendVarint(list, values[(first+k*k)%len(values)])
				}
				record := protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), list)
				for _, b := range [][]byte{record, slices.Concat(record, rest), slices.Concat(record, record, rest, record)} {
					if err := same(t, b, new(proto3.All), proto.UnmarshalOptions{}); err != nil {
						t.Fatalf("field %d: %v", num, err)
					}
				}
			}
		}
	}
}

// TestPackedBad decodes such lists with every last byte that makes them malformed, and ones whose varints are too long.
func TestPackedBad(t *testing.T) {
	rest := protowire.AppendString(protowire.AppendTag(nil, 14, protowire.BytesType), "the rest of the input")
	for _, num := range packedNumbers {
		for n := range 14 {
			list := slices.Repeat([]byte{1}, n)
			for k := range list {
				list[k] = 0xff
				record := protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), list)
				for _, b := range [][]byte{record, slices.Concat(record, rest)} {
					if err := same(t, b, new(proto3.All), proto.UnmarshalOptions{}); err != nil {
						t.Fatalf("field %d: %v", num, err)
					}
				}
				if k%2 == 0 {
					list[k] = 1
				}
			}
		}
	}
}
