// SPDX-License-Identifier: Apache-2.0

package grpcmem

import (
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold/arena"
)

// TestDeepCloneOfMessages clones messages of packages of other modules. Each message that was used
// has an unexported pointer to the description of its type.
func TestDeepCloneOfMessages(t *testing.T) {
	list, err := structpb.NewStruct(map[string]any{"a": []any{1.5, "x", nil}, "b": map[string]any{"c": true}})
	if err != nil {
		t.Fatal(err)
	}
	a := arena.NewArena()
	defer a.Free()
	for _, m := range []proto.Message{list, &grpc_health_v1.HealthCheckRequest{Service: "s"}} {
		want, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		inArena, err := arena.DeepClone(a, m)
		if err != nil {
			t.Fatal(err)
		}
		onHeap, err := arena.Heap(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []proto.Message{inArena, onHeap} {
			if got, err := proto.Marshal(c); c == m || err != nil || len(got) != len(want) || !proto.Equal(c, m) {
				t.Errorf("%v became %v (%v)", m, c, err)
			}
		}
	}
}
