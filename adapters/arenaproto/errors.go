// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The errors of decoding are protobuf-go's own. It does not export them, but returns them.
var (
	errMalformed = sync.OnceValue(func() error { return proto.Unmarshal([]byte{0xff}, new(emptypb.Empty)) })
	errUTF8      = sync.OnceValue(func() error { return proto.Unmarshal([]byte{0x0a, 1, 0xff}, new(wrapperspb.StringValue)) })
	errDepth     = sync.OnceValue(func() error {
		return proto.UnmarshalOptions{RecursionLimit: -1}.Unmarshal(nil, new(emptypb.Empty))
	})
)

// entryLevels is how much the entry of a map counts towards the nesting of messages: nothing before
// protobuf-go 1.36.11, and 1 since then.
var entryLevels = sync.OnceValue(func() int {
	o := proto.UnmarshalOptions{RecursionLimit: 2}
	if o.Unmarshal([]byte{0x0a, 2, 0x12, 0}, new(structpb.Struct)) != nil {
		return 1
	}
	return 0
})
