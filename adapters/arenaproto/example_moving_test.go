// SPDX-License-Identifier: Apache-2.0

package arenaproto_test

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	pb "google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/arena"
)

// The table on docs/decoding.md names these calls as what programs have after they move over; internal/checks/lint holds
// the table to this file. What they have before is in benchmarks/moving_decoding_test.go.

func movedMessages(b []byte) (fields int, err error) {
	a := arena.NewArena()
	defer a.Free()
	a.SetLimit(1 << 20)
	m, err := arenaproto.New[pb.Struct](a, b)
	if err != nil {
		return 0, err
	}
	if report := arenaproto.Prepare(m); report.Messages == 0 {
		return 0, fmt.Errorf("no report")
	}
	fields = len(m.Fields)
	m = new(pb.Struct)
	if err := arenaproto.Unmarshal(a, b, m); err != nil {
		return 0, err
	}
	if err := (arenaproto.UnmarshalOptions{AliasInput: true}.Unmarshal(a, b, m)); err != nil {
		return 0, err
	}
	if s := a.Stats(); s.InUse == 0 {
		return 0, fmt.Errorf("the arena has %d bytes in use", s.InUse)
	}
	a.Reset(arena.Keep)
	return fields, nil
}

// What programs that move over call instead: Unmarshal or New, and one Reset for all messages.
func Example_movingOver() {
	s, err := pb.NewStruct(map[string]any{"a": 1, "b": "x"})
	if err != nil {
		panic(err)
	}
	b, err := proto.Marshal(s)
	if err != nil {
		panic(err)
	}
	fmt.Println(movedMessages(b))
	// Output: 2 <nil>
}
