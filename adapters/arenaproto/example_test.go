// SPDX-License-Identifier: Apache-2.0

package arenaproto_test

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/arena"
)

// decodeRecords decodes one record after the other, each into the memory of the one before.
func decodeRecords(records [][]byte) (names []string, err error) {
	a := arena.NewArena()
	defer a.Free()
	for _, b := range records {
		m, err := arenaproto.New[structpb.Value](a, b)
		if err != nil {
			return nil, err
		}
		names = append(names, m.String()) // String makes a string of its own.
		a.Reset(arena.Keep)               // frees the message
	}
	return names, nil
}

func ExampleNew() {
	b, err := proto.Marshal(structpb.NewStringValue("one"))
	if err != nil {
		panic(err)
	}
	names, err := decodeRecords([][]byte{b, b})
	fmt.Println(len(names), err)
	// Output: 2 <nil>
}

func ExampleInto() {
	b, err := proto.Marshal(durationpb.New(1500))
	if err != nil {
		panic(err)
	}
	a := arena.NewArena()
	defer a.Free()
	d := new(durationpb.Duration)
	err = proto.Unmarshal(b, arenaproto.Into(a, d)) // A library calls this.
	fmt.Println(d.AsDuration(), err)
	// Output: 1.5µs <nil>
}

func ExampleEach() {
	var w bytes.Buffer
	for n := range 3 {
		if _, err := protodelim.MarshalTo(&w, &durationpb.Duration{Seconds: int64(n)}); err != nil {
			panic(err)
		}
	}
	a := arena.NewArena()
	defer a.Free()
	seconds := int64(0)
	for d, err := range arenaproto.Each[durationpb.Duration](a, &w) {
		if err != nil {
			panic(err)
		}
		seconds += d.Seconds // d is valid until the loop's next turn.
	}
	fmt.Println(seconds)
	// Output: 3
}

func ExamplePrepare() {
	fmt.Println(arenaproto.Prepare(new(structpb.Struct)))
	// Output: 3 types of messages are decoded into arenas
}
