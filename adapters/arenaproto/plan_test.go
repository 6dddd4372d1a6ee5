// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/memory"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/hybrid"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/opaque"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/open"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
)

// TestPrepare asks what falls back.
func TestPrepare(t *testing.T) {
	for _, m := range []proto.Message{new(proto2.All), new(proto3.All), new(open.All), new(hybrid.All), new(opaque.All), new(opaque.Needs), new(descriptorpb.FileDescriptorSet)} {
		if r := Prepare(m); len(r.Fallbacks) != 0 || r.Messages == 0 {
			t.Errorf("%T: %v", m, r)
		}
	}
	r := Prepare(new(proto2.HasSet))
	if len(r.Fallbacks) != 2 || r.Fallbacks[0].Field != "set" || r.Messages != 1 || !strings.Contains(r.String(), "HasSet.sets falls back to protobuf-go: its type is a MessageSet") {
		t.Errorf("a message with MessageSets: %v", r)
	}
	if r := Prepare(dynamicpb.NewMessage(new(proto3.All).ProtoReflect().Descriptor())); len(r.Fallbacks) != 1 || r.Messages != 0 {
		t.Errorf("a dynamic message: %v", r)
	}
}

// compiled is a plan that is not known to decoders, and its compiler.
func compiled(m proto.Message) (*compiler, *plan) {
	c := &compiler{made: make(map[reflect.Type]*plan)}
	plans.Range(func(k, _ any) bool { plans.Delete(k); return true })
	for i := range firstPlans {
		firstPlans[i].Store(nil)
	}
	return c, c.plan(reflect.TypeOf(m))
}

// TestProof makes plans wrong. The proof finds each mistake.
func TestProof(t *testing.T) {
	if slow() {
		t.Skip("it takes seconds")
	}
	for _, m := range []proto.Message{new(proto2.All), new(proto3.All), new(opaque.All)} {
		_, p := compiled(m)
		if reason := p.proof(); reason != "" {
			t.Fatalf("%T: %s", m, reason)
		}
		n := len(p.fields)
		for i := range n {
			f := p.fields[i]
			if f.sub != nil || f.entry != nil {
				continue
			}
			for _, other := range p.fields[i+1:] {
				if other.op == f.op && other.value == f.value && other.desc != f.desc && f.op != opOneof {
					f.offset, other.offset = other.offset, f.offset
					if p.proof() == "" {
						t.Errorf("%T: %s and %s are exchanged, and the proof finds nothing", m, f.desc.Name(), other.desc.Name())
					}
					f.offset, other.offset = other.offset, f.offset
					break
				}
			}
			if f.present {
				f.bit ^= 1
				if p.proof() == "" {
					t.Errorf("%T: %s has another presence bit, and the proof finds nothing", m, f.desc.Name())
				}
				f.bit ^= 1
			}
			if f.op == opText || f.value == opText {
				old, value := f.op, f.value
				if f.op == opText {
					f.op = opChars
				}
				f.value = opChars
				if p.proof() == "" {
					t.Errorf("%T: %s is not checked for UTF-8, and the proof finds nothing", m, f.desc.Name())
				}
				f.op, f.value = old, value
			}
		}
	}
}

// TestFallback lets protobuf-go decode a type that others lead to.
func TestFallback(t *testing.T) {
	c, p := compiled(new(proto2.All))
	small := c.plan(reflect.TypeFor[*proto2.Small]())
	small.foreign = "is refused by the test"
	c.prove()
	c.spread()
	if p.foreign != "" {
		t.Fatal(p.foreign)
	}
	for typ, p := range c.made {
		plans.Store(typ, p)
	}
	defer compiled(new(proto2.All)) // Forgets the plans.
	if r := Prepare(new(proto2.All)); len(r.Fallbacks) < 5 || r.Fallbacks[0].Reason != "its type is refused by the test" {
		t.Errorf("the report: %v", r)
	}
	for seed := range uint64(100) {
		b := randomInput(new(proto2.All), seed, 30)
		want, got := new(proto2.All), new(proto2.All)
		wantErr := proto.Unmarshal(b, want)
		if err := Unmarshal(nil, b, got); (err == nil) != (wantErr == nil) || err == nil && !proto.Equal(got, want) {
			t.Fatalf("seed %d: another message, or %v, want %v", seed, err, wantErr)
		}
	}
}

// TestPut fills maps by assignments to maps of another type, which have the same layout (GC-13).
func TestPut(t *testing.T) {
	type number int32
	const n = 3000
	numbers, texts, nodes := make(map[int32]number), make(map[string][]byte), make(map[int64]*proto3.Small)
	bools := make(map[bool]float32)
	putNumber, putText, putNode, putBool := putFor(opZig32, opInt32), putFor(opText, opBytes), putFor(opFixed64, opMessage), putFor(opBool, opFixed32)
	for i := range n {
		key, value := int32(i), number(-i)
		putNumber(memory.Of(&numbers), memory.Of(&key), memory.Of(&value))
		text, b := strings.Repeat("k", i%50)+string(rune('0'+i)), []byte{byte(i)}
		putText(memory.Of(&texts), memory.Of(&text), memory.Of(&b))
		long, node := int64(i)<<33, &proto3.Small{Id: int32(i)}
		putNode(memory.Of(&nodes), memory.Of(&long), memory.Of(&node))
		yes, f := i%2 == 0, float32(i)
		putBool(memory.Of(&bools), memory.Of(&yes), memory.Of(&f))
		if i%1000 == 0 {
			runtime.GC()
		}
	}
	runtime.GC()
	if len(numbers) != n || len(texts) != n || len(nodes) != n || len(bools) != 2 || bools[true] != n-2 {
		t.Fatalf("%d, %d, %d entries of %d, %v", len(numbers), len(texts), len(nodes), n, bools)
	}
	for i := range n {
		text := strings.Repeat("k", i%50) + string(rune('0'+i))
		if numbers[int32(i)] != number(-i) || texts[text][0] != byte(i) || nodes[int64(i)<<33].Id != int32(i) {
			t.Fatalf("entry %d: %d, %v, %v", i, numbers[int32(i)], texts[text], nodes[int64(i)<<33])
		}
	}
}

// TestAllocations decodes into an arena that is reset. Nothing is left to the collector.
func TestAllocations(t *testing.T) {
	if slow() {
		t.Skip("under the race detector sync.Pool drops things, and the modes of FREEHOLD allocate")
	}
	for _, m := range []proto.Message{new(proto3.All), new(opaque.All)} {
		w := randomInput(m, 21, 0)
		for fd := range m.ProtoReflect().Descriptor().Fields().Len() {
			w = sample(w, m.ProtoReflect().Descriptor().Fields().Get(fd))
		}
		a := arena.NewArena()
		if n := testing.AllocsPerRun(50, func() {
			a.Reset(arena.Keep)
			if err := Unmarshal(a, w, m); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%T: %v objects for a message", m, n)
		}
		a.Free()
	}
}
