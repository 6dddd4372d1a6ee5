// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/hybrid"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/opaque"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/open"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
)

// A reflecting is a message whose ProtoReflect is the program's own.
type reflecting struct {
	inner proto3.Small
	do    func()
}

// onEmpty is what ProtoReflect of an empty message does, which Prepare asks, too.
var onEmpty func()

func (m *reflecting) ProtoReflect() protoreflect.Message {
	if m.do == nil {
		onEmpty()
	} else {
		m.do()
	}
	return m.inner.ProtoReflect()
}

// decodes decodes b at the first use of m's type.
func decodes(m proto.Message, b []byte) {
	compiled(m) // Forgets the plans.
	if err := Unmarshal(nil, b, m); err != nil {
		panic(err)
	}
}

// TestReflectionDecodes lets ProtoReflect decode a message itself, of another type and of its own.
func TestReflectionDecodes(t *testing.T) {
	nothing := func() {}
	done := make(chan *reflecting, 1)
	onEmpty = func() { decodes(new(proto3.Tree), []byte{0x12, 0}) }
	go func() {
		first := true
		m := &reflecting{do: func() {
			if first {
				first = false
				decodes(&reflecting{do: nothing}, []byte{8, 3})
			}
		}}
		decodes(m, []byte{8, 2})
		done <- m
	}()
	select {
	case m := <-done:
		if m.inner.Id != 2 {
			t.Errorf("decoded to %v", &m.inner)
		}
	case <-time.After(time.Minute):
		t.Fatal("ProtoReflect waits for itself")
	}
}

// TestReflectionEnds lets ProtoReflect panic and end the goroutine, while its type is compiled and afterwards. The next
// message is decoded.
func TestReflectionEnds(t *testing.T) {
	nothing := func() {}
	for name, end := range map[string]func(){"panic": func() { panic("by ProtoReflect") }, "Goexit": runtime.Goexit} {
		for _, compiling := range []bool{true, false} {
			onEmpty = nothing
			m := &reflecting{do: end}
			if compiling {
				onEmpty, m.do = end, nothing
			}
			returns := false
			var all sync.WaitGroup
			all.Go(func() {
				defer func() {
					if r := recover(); r != nil && r != "by ProtoReflect" {
						t.Errorf("%v", r)
					}
				}()
				decodes(m, []byte{8, 1})
				returns = true
			})
			all.Wait()
			// A type whose empty message panics is decoded by protobuf-go.
			if want := name == "panic" && compiling; returns != want {
				t.Errorf("%s, compiling %t: returns %t", name, compiling, returns)
			}
			onEmpty = nothing
			decodes(&reflecting{do: nothing}, []byte{8, 1})
		}
	}
}

// TestResolverGoexit ends the goroutine in the Resolver. The arena is as good as before.
func TestResolverGoexit(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for range 3 {
		var all sync.WaitGroup
		all.Go(func() {
			o := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Resolver: meddler{protoregistry.GlobalTypes, runtime.Goexit}}}
			_, err := New[descriptorpb.FileDescriptorProto](a, options(3), o)
			t.Errorf("New returns with %v", err)
		})
		all.Wait()
		if m, err := New[descriptorpb.FileDescriptorProto](a, options(3)); err != nil || len(m.MessageType) != 3 {
			t.Fatalf("%v, %v", m, err)
		}
		a.Reset(arena.Keep)
	}
}

// TestResolverMeddles lets the Resolver decode into the same arena and change the message that is being decoded. The
// result may be anything; memory stays intact.
func TestResolverMeddles(t *testing.T) {
	rounds := 60
	if testing.Short() || slow() {
		rounds = 10
	}
	a := arena.NewArena()
	defer a.Free()
	for _, like := range []proto.Message{
		new(proto2.Open2), new(open.Open2), new(hybrid.Open2), new(opaque.Open2), new(descriptorpb.FileDescriptorProto), new(descriptorpb.DescriptorProto),
	} {
		for seed := range uint64(rounds) {
			r := rand.New(rand.NewPCG(seed, 3))
			w := &writer{r, 10}
			b := append(w.message(nil, like.ProtoReflect().Descriptor(), 4, 20), options(3)...)
			m := like.ProtoReflect().New().Interface()
			calls := 0
			o := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{AllowPartial: true, Resolver: meddler{protoregistry.GlobalTypes, func() {
				if calls++; calls < 20 {
					meddle(r, a, b, m)
				}
			}}}}
			into := [...]*arena.Arena{a, nil}[seed%2]
			func() {
				defer func() {
					if p := recover(); p != nil && !strings.Contains(fmt.Sprint(p), "nil map") {
						t.Errorf("%T, seed %d: %v", like, seed, p)
					}
				}()
				_ = o.Unmarshal(into, b, m)
			}()
			runtime.GC()
			if _, err := (proto.MarshalOptions{AllowPartial: true}).Marshal(m); err != nil && !strings.Contains(err.Error(), "UTF-8") {
				t.Errorf("%T, seed %d: %v", like, seed, err)
			}
			if err := same(t, b, like, proto.UnmarshalOptions{AllowPartial: true}); err != nil {
				t.Fatalf("afterwards: %v", err)
			}
			a.Reset(arena.Keep)
		}
	}
}

// meddle decodes into a, or changes m.
func meddle(r *rand.Rand, a *arena.Arena, b []byte, m proto.Message) {
	merge := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Merge: true, AllowPartial: true}}
	switch r.IntN(5) {
	case 0:
		proto.Reset(m)
	case 1:
		_ = merge.Unmarshal(a, b[:r.IntN(len(b)+1)], m)
	case 2:
		_ = merge.Unmarshal(a, b, m.ProtoReflect().New().Interface())
	case 3:
		m.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if fd.IsList() {
				v.List().Truncate(r.IntN(v.List().Len() + 1))
			} else if r.IntN(3) == 0 {
				m.ProtoReflect().Clear(fd)
			}
			return true
		})
	default:
		runtime.GC()
	}
}

// TestLazyReaders reads lazy fields in several goroutines. They are decoded, so reading changes nothing.
func TestLazyReaders(t *testing.T) {
	for _, like := range []proto.Message{new(opaque.All), new(hybrid.All), new(open.All)} {
		md := like.ProtoReflect().Descriptor()
		var b []byte
		for _, num := range []protoreflect.FieldNumber{241, 242, 241} {
			b = append(b, sample(nil, md.Fields().ByNumber(num))...)
		}
		b = append(b, bytesRecord(241, sample(nil, md.Fields().ByNumber(1)), bytesRecord(241, sample(nil, md.Fields().ByNumber(1))))...)
		want := like.ProtoReflect().New().Interface()
		if err := proto.Unmarshal(b, want); err != nil {
			t.Fatal(err)
		}
		for _, into := range []bool{false, true} {
			a := arena.NewArena()
			m := like.ProtoReflect().New().Interface()
			err := Unmarshal(a, b, m)
			if into {
				err = proto.Unmarshal(b, Into(a, m))
			}
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() { read(t, m, want) })
			}
			all.Wait()
			a.Free()
		}
	}
}

// read reads a message in many ways, which must be equal to want.
func read(t *testing.T, m, want proto.Message) {
	for range 10 {
		if o, ok := m.(*opaque.All); ok && (o.GetLazy().GetLazy().GetFInt32() != 1 || len(o.GetLazies()) == 0 || !o.HasLazy()) {
			t.Error("another value of a lazy field")
		}
		m.ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			return fd.Message() == nil || fd.IsList() || v.Message().IsValid()
		})
		if b, err := proto.Marshal(m); err != nil || len(b) != proto.Size(m) {
			t.Errorf("%x, %v", b, err)
		}
		if !proto.Equal(m, want) || !proto.Equal(proto.Clone(m), want) || proto.CheckInitialized(m) != nil {
			t.Error("another message")
		}
	}
}

// TestMergeIntoStale merges into messages that the arena has freed. New messages may lie where the old ones do, so
// that a message becomes a part of itself. Decoding ends, and memory stays intact.
func TestMergeIntoStale(t *testing.T) {
	if slow() {
		t.Skip("the test uses stale values, which the modes of FREEHOLD report")
	}
	a := arena.NewArena()
	defer a.Free()
	merge := UnmarshalOptions{UnmarshalOptions: proto.UnmarshalOptions{Merge: true}}
	deep := bytesRecord(3, bytesRecord(3, bytesRecord(3, bytesRecord(2), bytesRecord(2))))
	cycles := 0
	for range 100 {
		stale, err := New[proto3.Tree](a, deep)
		if err != nil {
			t.Fatal(err)
		}
		a.Reset(arena.Keep)
		for range 3 {
			if err := merge.Unmarshal(a, deep, stale); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[*proto3.Tree]bool{}
		for m := stale; m != nil && !seen[m]; m = m.Left {
			if seen[m] = true; m.Left != nil && seen[m.Left] {
				cycles++
			}
		}
		a.Reset(arena.Keep)
		if err := same(t, deep, stale, proto.UnmarshalOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d messages became a part of themselves", cycles)
}

// TestEachMeddles resets and rewinds the arena in the loop and in the reader of a stream, which panics at the next
// turn. Decoding into the arena there does no harm.
func TestEachMeddles(t *testing.T) {
	if os.Getenv("FREEHOLD") != "" {
		t.Skip("the debug modes report the values that were freed too early")
	}
	a := arena.NewArena()
	defer a.Free()
	var w bytes.Buffer
	for i := range 5 {
		if _, err := protodelim.MarshalTo(&w, &proto3.Small{Id: int32(i), Name: "name"}); err != nil {
			t.Fatal(err)
		}
	}
	var mark arena.Checkpoint
	for name, do := range map[string]func(){
		"Reset": func() { a.Reset(arena.Keep) }, "Rewind": func() { a.Rewind(mark) }, "decode": func() { _ = Unmarshal(a, []byte{8, 1}, new(proto3.Small)) },
	} {
		for _, where := range []string{"loop", "reader"} {
			mark = a.Checkpoint()
			func() {
				n := 0
				defer func() {
					if p := recover(); (p == nil) != (name == "decode") || p != nil && (n != 1 || !strings.Contains(fmt.Sprint(p), "checkpoint")) {
						t.Errorf("%s in the %s: %d messages, then %v", name, where, n, p)
					}
				}()
				r := &meddlingReader{Reader: bytes.NewReader(w.Bytes())}
				if where == "reader" {
					r.do = do
				}
				for m, err := range Each[proto3.Small](a, r) {
					if err != nil || int(m.GetId()) != n {
						t.Errorf("%s in the %s: message %d: %v, %v", name, where, n, m, err)
					}
					n++
					if where == "loop" {
						do()
					}
				}
			}()
			a.Reset(arena.Keep)
		}
	}
}

type meddlingReader struct {
	*bytes.Reader
	do func()
}

func (r *meddlingReader) Read(b []byte) (int, error) {
	if r.do != nil {
		r.do()
	}
	return r.Reader.Read(b)
}

// TestIntoInto decodes into a message that stands for one that stands for another.
func TestIntoInto(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	m := new(proto2.Small)
	if err := proto.Unmarshal([]byte{8, 5}, Into(a, Into(a, m))); err != nil || m.GetId() != 5 {
		t.Errorf("%v, %v", m, err)
	}
}
