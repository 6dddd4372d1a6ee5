// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// TestCursorsForgotten: a decoder keeps no cursor of an arena once the message has ended, with or without an error.
func TestCursorsForgotten(t *testing.T) {
	var made []*decoder
	decoders = sync.Pool{New: func() any {
		made = append(made, new(decoder))
		return made[len(made)-1]
	}}
	defer func() { decoders = sync.Pool{New: newDecoder} }()
	a := arena.NewArena()
	defer a.Free()
	opened := 0
	for seed := range uint64(20) {
		b := randomInput(new(proto2.All), seed, 30+20*int(seed))
		for _, in := range [][]byte{b, b[:len(b)/2], append(slices.Clone(b), 0xff)} {
			_ = Unmarshal(a, in, new(proto2.All))
		}
		a.Reset(arena.Keep)
	}
	for _, d := range made {
		opened += cap(d.opened)
		for n, c := range d.cursors {
			if c != &noCursor {
				t.Errorf("a decoder keeps a cursor for kind %d", n)
			}
		}
		if len(d.opened) != 0 || d.a != nil || d.data != nil {
			t.Errorf("a decoder keeps more than its memory for the next message: %v", d.opened)
		}
	}
	if opened == 0 {
		t.Error("no decoder ever had a cursor of the arena")
	}
}

// arenas are arenas of the kinds that take messages.
func arenas(t *testing.T) map[string]*arena.Arena {
	limited := arena.NewArena()
	limited.SetLimit(1 << 30)
	all := map[string]*arena.Arena{
		"own": arena.NewArena(), "limited": limited, "shared": arena.NewShared(),
		"no reuse": arena.NewWith(arena.Options{NoReuse: true}), "Pool": new(arena.Pool).Get(),
	}
	for _, a := range all {
		arena.Cleanup(t, a)
	}
	return all
}

// TestManyChunks decodes messages whose values of each type fill many chunks, in arenas of all kinds and after each
// way to reset them.
func TestManyChunks(t *testing.T) {
	records, rounds := 4000, 8
	if testing.Short() || slow() {
		records, rounds = 200, 2
	}
	for name, a := range arenas(t) {
		for round := range uint64(rounds) {
			b := randomInput(new(proto2.All), round, records)
			got, want := new(proto2.All), new(proto2.All)
			err, wantErr := Unmarshal(a, b, got), proto.Unmarshal(b, want)
			if (err == nil) != (wantErr == nil) || !proto.Equal(got, want) {
				t.Fatalf("%s, round %d: another message; %v, %v", name, round, err, wantErr)
			}
			a.Reset([]arena.Mode{arena.Keep, arena.GiveBack, arena.NoReuse, arena.KeepUpTo(4 << 10)}[round%4])
		}
	}
}

// TestResolverAllocates lets the Resolver take memory of the arena, for values of the types that are being decoded,
// note checkpoints and set limits. All messages are as proto.Unmarshal decodes them.
func TestResolverAllocates(t *testing.T) {
	const n = 150
	want := new(descriptorpb.FileDescriptorProto)
	if err := proto.Unmarshal(options(n), want); err != nil {
		t.Fatal(err)
	}
	rounds := 3
	if slow() {
		rounds = 1
	}
	for name, a := range arenas(t) {
		for round := range rounds {
			var more []*descriptorpb.FileDescriptorProto
			calls := 0
			o := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Resolver: meddler{protoregistry.GlobalTypes, func() {
				calls++
				switch calls % 10 {
				case 0, 5:
					m, err := New[descriptorpb.FileDescriptorProto](a, options(n))
					if err != nil {
						t.Error(err)
					}
					more = append(more, m)
				case 1, 6:
					for range 20 {
						arena.New[descriptorpb.DescriptorProto](a).Name = proto.String("another")
						arena.New[descriptorpb.MessageOptions](a).Deprecated = proto.Bool(true)
					}
				case 2:
					a.Checkpoint()
				case 3:
					a.SetLimit(1 << 29)
				case 4:
					runtime.GC()
				}
			}}}}
			m, err := New[descriptorpb.FileDescriptorProto](a, options(n), o)
			if err != nil || calls != n {
				t.Fatalf("%s, round %d: %d calls, %v", name, round, calls, err)
			}
			for i, m := range append(more, m) {
				if !proto.Equal(m, want) {
					t.Fatalf("%s, round %d: message %d is another one: %v", name, round, i, m)
				}
			}
			a.Reset(arena.Keep)
		}
	}
}

// TestResolverLimits lets the Resolver set a limit that refuses what follows. The arena is as good as before once the
// limit is gone.
func TestResolverLimits(t *testing.T) {
	for name, a := range arenas(t) {
		for at := range 12 {
			calls := 0
			o := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Resolver: meddler{protoregistry.GlobalTypes, func() {
				if calls++; calls == at {
					a.SetLimit(1)
				}
			}}}}
			if _, err := New[descriptorpb.FileDescriptorProto](a, options(300), o); err != nil && !errors.Is(err, offheap.ErrLimit) {
				t.Errorf("%s: %v", name, err)
			}
			a.SetLimit(0)
			if m, err := New[descriptorpb.FileDescriptorProto](a, options(20)); err != nil || len(m.MessageType) != 20 {
				t.Errorf("%s: afterwards: %v, %v", name, m, err)
			}
			a.Reset(arena.Keep)
		}
	}
}

// TestDecodersTogether decodes in several goroutines: each with arenas of its own, with a shared one, and without.
func TestDecodersTogether(t *testing.T) {
	shared := arena.NewShared()
	defer shared.Free()
	var all sync.WaitGroup
	for g := range uint64(4) {
		all.Go(func() {
			a := arena.NewArena()
			defer a.Free()
			for seed := range uint64(10) {
				b := randomInput(new(proto2.All), g+seed%5, 40)
				want := new(proto2.All)
				wantErr := proto.Unmarshal(b, want)
				for _, a := range []*arena.Arena{a, shared, nil} {
					got := new(proto2.All)
					if err := Unmarshal(a, b, got); (err == nil) != (wantErr == nil) || !proto.Equal(got, want) {
						t.Errorf("another message; %v, %v", err, wantErr)
					}
				}
				a.Reset(arena.Keep)
			}
		})
	}
	all.Wait()
}

// TestNilMemory: without an arena a message takes about the memory that protobuf-go allocates, also if it is much
// shorter than the last ones of its type. The objects are a few instead of many.
func TestNilMemory(t *testing.T) {
	if slow() {
		t.Skip("a sync.Pool forgets decoders, or memory comes from elsewhere")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	tree := func(n int) []byte {
		m := new(proto3.All)
		for i := range n {
			m.Children = append(m.Children, &proto3.All{FString: "text", RInt32: []int32{1, 2, int32(i)}, Small: &proto3.Small{}})
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	decode := func(b []byte, unmarshal func([]byte, proto.Message) error) (bytes, objects uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := unmarshal(b, new(proto3.All)); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
	}
	inSlabs := func(b []byte, m proto.Message) error { return Unmarshal(nil, b, m) }
	sizes := []int{100, 100, 1, 10, 100, 3, 50, 51, 52, 100}
	for _, n := range sizes { // The first time package reflect makes types of arrays.
		decode(tree(n), inSlabs)
	}
	for _, n := range sizes {
		b := tree(n)
		wantBytes, wantObjects := decode(b, proto.Unmarshal)
		bytes, objects := decode(b, inSlabs)
		if bytes > wantBytes+wantBytes/4+uint64(len(b)) || objects > 40 {
			t.Errorf("a message of %d others takes %d bytes in %d objects; protobuf-go allocates %d in %d", n, bytes, objects, wantBytes, wantObjects)
		}
	}
}
