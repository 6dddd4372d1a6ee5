// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/opaque"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto2"
	"github.com/freehold-go/freehold/adapters/arenaproto/internal/testpb/proto3"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// randomInput is an input for messages of m's type.
func randomInput(m proto.Message, seed uint64, records int) []byte {
	w := &writer{rand.New(rand.NewPCG(seed, 2)), 20}
	return w.message(nil, m.ProtoReflect().Descriptor(), 3, records)
}

// TestPrefixes decodes every prefix of an input of each type, and the input with each byte changed.
func TestPrefixes(t *testing.T) {
	for _, m := range every {
		b := randomInput(m, 3, 12)
		b = b[:min(len(b), 250)]
		for n := range b {
			if err := same(t, b[:n], m, proto.UnmarshalOptions{}); err != nil {
				t.Fatalf("%T: the first %d bytes: %v", m, n, err)
			}
			c := bytes.Clone(b)
			c[n] ^= []byte{0x80, 0xff, 1, 8}[n%4]
			if err := same(t, c, m, proto.UnmarshalOptions{AllowPartial: true}); err != nil {
				t.Fatalf("%T: byte %d changed: %v", m, n, err)
			}
		}
	}
}

// TestMalformed decodes inputs that were made to hurt.
func TestMalformed(t *testing.T) {
	deep := func(n int, tag byte) (b []byte) {
		for range n {
			b = append([]byte{tag}, protowire.AppendBytes(nil, b)...)
		}
		return b
	}
	for name, c := range map[string]struct {
		m proto.Message
		b []byte
	}{
		"9999 levels":               {new(proto3.Tree), deep(9999, 0x1a)},
		"10000 levels":              {new(proto3.Tree), deep(10000, 0x1a)},
		"groups without an end":     {new(proto2.All), bytes.Repeat([]byte{0x9b, 1}, 20000)},
		"empty submessages":         {new(proto3.All), bytes.Repeat([]byte{0xaa, 2, 0}, 1000)},
		"a list of 2^31 elements":   {new(proto3.All), []byte{0xaa, 1, 0xff, 0xff, 0xff, 0xff, 7, 1}},
		"a length of 2^63":          {new(proto3.All), []byte{0x72, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}},
		"a length of 2^64-1":        {new(proto3.All), []byte{0x72, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}},
		"packed, cut in a varint":   {new(proto3.All), []byte{0xaa, 1, 3, 1, 0x80, 0x80}},
		"packed, only high bits":    {new(proto3.All), []byte{0xaa, 1, 3, 0x80, 0x80, 0x80}},
		"packed, eleven bytes":      {new(proto3.All), append([]byte{0xaa, 1, 12}, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 1)},
		"packed, half a fixed":      {new(proto3.All), []byte{0xda, 1, 6, 1, 2, 3, 4, 5, 6}},
		"field number 0":            {new(proto3.All), []byte{0, 1}},
		"field number 2^29":         {new(proto3.All), []byte{0x80, 0x80, 0x80, 0x80, 0x10, 1}},
		"a tag of ten bytes":        {new(proto3.All), []byte{0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1}},
		"a tag of eleven bytes":     {new(proto3.All), []byte{0x88, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1}},
		"wire type 6":               {new(proto3.All), []byte{0x0e, 1}},
		"an end without a group":    {new(proto3.All), []byte{0x0c}},
		"another group's end":       {new(proto2.All), []byte{0x9b, 1, 0xa4, 1}},
		"bools that are neither":    {new(proto3.All), []byte{0x68, 2, 0x8a, 2, 3, 2, 0x80, 1, 0x85, 6, 2, 0, 0}},
		"a varint of 2^64":          {new(proto3.All), []byte{0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}},
		"invalid UTF-8 in an entry": {new(structpb.Struct), []byte{0x0a, 3, 0x0a, 1, 0xff}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := same(t, c.b, c.m, proto.UnmarshalOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLimits sets each limit from none of the memory to all that an input needs. The arena is as good as before
// after each failure.
func TestLimits(t *testing.T) {
	b := randomInput(new(proto2.All), 5, 60)
	want := new(proto2.All)
	if err := proto.Unmarshal(b, want); err != nil {
		t.Fatal(err)
	}
	refused, done := 0, 0
	for limit := int64(1); done < 3; limit += 1 + limit/8 {
		a := arena.NewArena()
		a.SetLimit(limit)
		got := new(proto2.All)
		switch err := Unmarshal(a, b, got); {
		case err == nil:
			done++
		case errors.Is(err, offheap.ErrLimit):
			refused++
			a.SetLimit(0)
			if err := Unmarshal(a, b, got); err != nil {
				t.Fatalf("after the limit of %d: %v", limit, err)
			}
		default:
			t.Fatalf("limit %d: %v", limit, err)
		}
		if !proto.Equal(got, want) {
			t.Fatalf("limit %d: another message", limit)
		}
		a.Reset(arena.Keep)
		if err := Unmarshal(a, b, got); err == nil && !proto.Equal(got, want) {
			t.Fatalf("limit %d: another message after Reset", limit)
		}
		a.Free()
	}
	if refused < 10 {
		t.Errorf("%d limits refused the input", refused)
	}
}

// TestBomb decodes small inputs that need much memory: a limit ends them.
func TestBomb(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	a.SetLimit(1 << 20)
	b := bytes.Repeat([]byte{0x12, 0}, 1<<16) // Empty messages.
	if err := Unmarshal(a, b, new(proto3.Tree)); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("a limit of 1 MiB and 65536 messages: %v", err)
	}
	if _, err := New[proto3.Tree](a, b); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("New: %v", err)
	}
	a.Reset(arena.Keep)
	if m, err := New[proto3.Tree](a, b[:20]); err != nil || len(m.Kids) != 10 {
		t.Errorf("afterwards: %v, %v", m, err)
	}
}

// TestChangedInput decodes an input that another goroutine changes. The result may be anything; memory stays
// intact.
func TestChangedInput(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector would report the race that this test is about")
	}
	b := randomInput(new(proto3.All), 9, 40)
	good := bytes.Clone(b)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r := rand.New(rand.NewPCG(1, 1))
		for {
			select {
			case <-stop:
				return
			default:
				i := r.IntN(len(b))
				b[i] ^= byte(1) << r.IntN(8)
				b[i] = good[i]
			}
		}
	}()
	a := arena.NewArena()
	defer a.Free()
	for range 2000 {
		m := new(proto3.All)
		_ = UnmarshalOptions{AliasInput: true}.Unmarshal(a, b, m)
		a.Reset(arena.Keep)
	}
	close(stop)
	<-stopped
}

// TestConcurrent decodes in several goroutines at once, also into one shared arena.
func TestConcurrent(t *testing.T) {
	shared := arena.NewShared()
	defer shared.Free()
	b := randomInput(new(opaque.All), 11, 40)
	want := new(opaque.All)
	if err := proto.Unmarshal(b, want); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			a := shared
			if i%2 == 0 {
				a = arena.NewArena()
				defer a.Free()
			}
			for range 20 {
				m, err := New[opaque.All](a, b)
				if err != nil || !proto.Equal(m, want) {
					t.Errorf("another message, or %v", err)
				}
			}
		})
	}
	all.Wait()
}

// TestFailedDecode decodes an input that fails, and then a good one, with the same arena and scratch memory.
func TestFailedDecode(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for seed := range uint64(30) {
		b := randomInput(new(proto2.All), seed, 30)
		bad := append(bytes.Clone(b), 0x0c)
		if err := Unmarshal(a, bad, new(proto2.All)); err == nil {
			t.Fatal("an input that is malformed at its end was decoded")
		}
		if err := same(t, b, new(proto2.All), proto.UnmarshalOptions{}); err != nil {
			t.Fatal(err)
		}
		a.Reset(arena.Keep)
	}
}

// TestErrors holds the errors against those of protobuf-go.
func TestErrors(t *testing.T) {
	for b, part := range map[string]string{"\xff": "cannot parse", "\x72\x01\xff": "UTF-8", "\x01": "cannot parse"} {
		err := Unmarshal(nil, []byte(b), new(proto3.All))
		want := proto.Unmarshal([]byte(b), new(proto3.All))
		if err == nil || want == nil || err.Error() != want.Error() || !strings.Contains(err.Error(), part) || !errors.Is(err, proto.Error) {
			t.Errorf("%x: %v; protobuf-go: %v", b, err, want)
		}
	}
	if _, err := New[proto3.All](nil, nil, UnmarshalOptions{}, UnmarshalOptions{}); err == nil {
		t.Error("two options are no error")
	}
	if err := Unmarshal(nil, nil, new(proto2.Needs)); err == nil || !strings.Contains(err.Error(), "required") {
		t.Errorf("required fields are missing: %v", err)
	}
}

// TestAliasAgain decodes one slice several times into the same message, whole and in parts, with AliasInput: unknown fields end
// in the slice where records begin, also those of another decoding. The slice stays as it is.
func TestAliasAgain(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for _, like := range every {
		for seed := range uint64(12) {
			b := randomInput(like, seed, 8)
			before := bytes.Clone(b)
			for _, in := range []*arena.Arena{a, nil} {
				got, want := like.ProtoReflect().New().Interface(), like.ProtoReflect().New().Interface()
				for n, part := range [][2]int{{0, len(b)}, {0, len(b)}, {0, len(b) / 2}, {len(b) / 2, len(b)}, {0, len(b)}} {
					o := proto.UnmarshalOptions{Merge: n > 0, AllowPartial: true, NoLazyDecoding: true}
					wantErr := o.Unmarshal(before[part[0]:part[1]], want)
					err := UnmarshalOptions{UnmarshalOptions: o, AliasInput: true}.Unmarshal(in, b[part[0]:part[1]], got)
					if (err == nil) != (wantErr == nil) {
						t.Fatalf("%T, seed %d, part %d: %v, want %v", like, seed, n, err, wantErr)
					}
					if err != nil {
						break
					}
					if !proto.Equal(got, want) {
						t.Fatalf("%T, seed %d, part %d: got %v, want %v", like, seed, n, got, want)
					}
				}
				if !bytes.Equal(b, before) {
					t.Fatalf("%T, seed %d: the input has changed", like, seed)
				}
			}
			a.Reset(arena.Keep)
		}
	}
}
