//go:build !race

package protobuf

import (
	"reflect"
	"runtime"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
)

// TestMemory bounds the memory that a message takes in an arena, as a part of the bytes that proto.Unmarshal allocates for it.
func TestMemory(t *testing.T) {
	for _, task := range Tasks() {
		if task.FullOnly {
			continue
		}
		b, err := task.Data(&bench.Run{Spec: bench.Spec{N: task.Sizes[0]}})
		if err != nil {
			t.Fatal(err)
		}
		heap := allocatedBy(func() { _ = proto.Unmarshal(b, task.New()) })
		aliased := 0.8
		if task.Name == "proto/descriptors" { // It has many lists of two numbers.
			aliased = 0.85
		}
		for limit, o := range map[float64]arenaproto.UnmarshalOptions{1: {}, aliased: {AliasInput: true}} {
			a := arena.NewArena()
			typ := reflect.TypeOf(task.New()).Elem()
			for range 2 { // Go maps are new in the first round.
				a.Reset(arena.Keep)
				o.Merge = true
				if err := o.Unmarshal(a, b, arena.NewOf(a, typ).(proto.Message)); err != nil {
					t.Fatal(err)
				}
			}
			ratio := float64(a.Stats().InUse) / heap
			t.Logf("%s, alias %t: %d of %.0f bytes, %.2f", task.Name, o.AliasInput, a.Stats().InUse, heap, ratio)
			if ratio > limit {
				t.Errorf("%s, alias %t: %.2f of the bytes that proto.Unmarshal allocates, want at most %.2f", task.Name, o.AliasInput, ratio, limit)
			}
			a.Free()
		}
	}
}

// allocatedBy is the bytes that f allocates in one call.
func allocatedBy(f func()) float64 {
	const calls = 4
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / calls
}
