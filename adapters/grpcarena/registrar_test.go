// SPDX-License-Identifier: Apache-2.0

package grpcarena

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/runtime/protoiface"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
)

// A stand decodes a StringValue into an arena, as a message of arenaproto.Into does. This module does
// not depend on arenaproto; the module benchmarks tests both together.
type stand struct {
	protoreflect.Message
	m *wrapperspb.StringValue
	a *arena.Arena
}

func (s *stand) ProtoReflect() protoreflect.Message { return s }
func (s *stand) Reset()                             { proto.Reset(s.m) }
func (s *stand) String() string                     { return s.m.String() }
func (s *stand) ProtoMessage()                      {}

func (s *stand) ProtoMethods() *protoiface.Methods {
	return &protoiface.Methods{Unmarshal: func(in protoiface.UnmarshalInput) (out protoiface.UnmarshalOutput, err error) {
		if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(in.Buf, s.m); err != nil {
			return out, err
		}
		b, err := arena.TryMakeSlice[byte](s.a, len(s.m.Value), len(s.m.Value))
		if err != nil {
			return out, err
		}
		copy(b, s.m.Value)
		s.m.Value = arena.String(s.a, string(b))
		return protoiface.UnmarshalOutput{Flags: protoiface.UnmarshalInitialized}, nil
	}}
}

func standFor(a *arena.Arena, m proto.Message) proto.Message {
	return &stand{m.ProtoReflect(), m.(*wrapperspb.StringValue), a}
}

// byStand is the registrar under test.
func byStand(s grpc.ServiceRegistrar) grpc.ServiceRegistrar { return Registrar(s, standFor) }

// inArena reports whether requests are decoded into the arenas of their calls.
func inArena(o Options) bool { return owns() && (o.Reuse || o.Limit > 0) }

// reused reports whether the next call gets memory of a call at once.
func reused(o Options) bool { return o.Reuse && owns() && !freehold.Modes().NoReuse }

// TestRegistrar: the text of a request lies in its call's arena, or on the Go heap if the arena is not used again and has no
// limit. It is good as a part of the reply. Many clients call at once.
func TestRegistrar(t *testing.T) {
	for _, o := range []Options{{}, {Reuse: true, Pool: &arena.Pool{Arenas: 2}}, {Shared: true}, {Shared: true, Reuse: true}, {Limit: 1 << 20}} {
		arenas := make(chan tenant, 1000)
		client, wait := connectBy(t, byStand, Handler(o), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
			a := arena.FromContext(ctx)
			if a == nil || a.Owns(text) != inArena(o) {
				t.Errorf("%+v: the request lies in the call's arena: %t", o, a.Owns(text))
			}
			arenas <- tenantOf(a)
			r := arena.New[wrapperspb.StringValue](a)
			r.Value = text
			return r, nil
		}})
		var clients sync.WaitGroup
		for g := range 4 {
			clients.Go(func() {
				for i := range 10 {
					text := fmt.Sprintf("request %d of client %d", i, g)
					if got, err := call(t.Context(), client, text); got != text || err != nil {
						t.Errorf("%s was answered with %q, %v", text, got, err)
					}
				}
			})
		}
		clients.Wait()
		for range 40 {
			wait()
		}
		for range 40 {
			if !(<-arenas).over() {
				t.Errorf("%+v: an arena did not end with its call", o)
			}
		}
	}
}

// TestRegistrarWithoutHandler: a service without arenas decodes to the Go heap.
func TestRegistrarWithoutHandler(t *testing.T) {
	client, _ := connectBy(t, byStand, noHandler{}, &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
		return wrapperspb.String(fmt.Sprint(text, arena.FromContext(ctx) == nil)), nil
	}})
	if got, err := call(t.Context(), client, "no arena: "); got != "no arena: true" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestRegistrarKept: a handler keeps the text of its request, which stays what it was. With Reuse
// it does not, which shows that this test can tell.
func TestRegistrarKept(t *testing.T) {
	if m := freehold.Modes(); m.Guard || m.Sample != 0 {
		t.Skip("the mode overwrites such values, and makes their use fault")
	}
	for _, o := range []Options{{}, {Reuse: true, Pool: &arena.Pool{Arenas: 1}}} {
		var kept []string // Each call ends before the next one.
		client, wait := connectBy(t, byStand, Handler(o), &service{call: func(_ context.Context, text string) (*wrapperspb.StringValue, error) {
			kept = append(kept, text)
			return wrapperspb.String("ok"), nil
		}})
		for i := range 30 {
			if _, err := call(t.Context(), client, fmt.Sprintf("request %02d", i)); err != nil {
				t.Fatal(err)
			}
			wait()
		}
		foreign := 0
		for i, text := range kept {
			if text != fmt.Sprintf("request %02d", i) {
				foreign++
			}
		}
		if reused(o) != (foreign > 0) {
			t.Errorf("%+v: %d of %d texts are not what they were", o, foreign, len(kept))
		}
	}
}

// TestRegistrarKeep: a goroutine that a call leaves behind has the request as long as it likes.
func TestRegistrarKeep(t *testing.T) {
	left, results := make(chan bool), make(chan string)
	client, _ := connectBy(t, byStand, Handler(Options{Reuse: true}), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
		if text == "kept" {
			Keep(ctx)
			go func() {
				<-left
				results <- arena.Concat(arena.FromContext(ctx), text, " and used")
			}()
		}
		return wrapperspb.String("ok"), nil
	}})
	for _, text := range append([]string{"kept"}, slices.Repeat([]string{"other"}, 20)...) { // They would have the memory by now.
		if _, err := call(t.Context(), client, text); err != nil {
			t.Fatal(err)
		}
	}
	close(left)
	if got := <-results; got != "kept and used" {
		t.Errorf("the goroutine read %q", got)
	}
}

// raw is a codec of a client that sends bytes as they are.
type raw struct{}

func (raw) Name() string                       { return "proto" }
func (raw) Marshal(v any) ([]byte, error)      { return v.([]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { return proto.Unmarshal(data, v.(proto.Message)) }

// TestRegistrarErrors: calls fail as they fail without the registrar, and their arenas end.
func TestRegistrarErrors(t *testing.T) {
	good, err := proto.Marshal(wrapperspb.String(strings.Repeat("x", 100<<10)))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		request []byte
		code    codes.Code
		text    string // Of the error.
		limit   int64
	}{
		"malformed":      {[]byte{0x0a, 5, 'a'}, codes.Internal, "", 0},
		"limit exceeded": {good, codes.Internal, "limit", 64 << 10},
		"panic":          {nil, codes.Aborted, "recovered: a mistake", 0},
	} {
		if c.limit > 0 && !owns() {
			continue
		}
		arenas := make(chan tenant, 2)
		recovers := grpc.UnaryInterceptor(func(ctx context.Context, m any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (_ any, err error) {
			if _, ok := m.(*wrapperspb.StringValue); !ok {
				t.Errorf("%s: an interceptor sees a %T", name, m)
			}
			defer func() { err = status.Error(codes.Aborted, fmt.Sprint("recovered: ", recover())) }()
			return handle(ctx, m)
		})
		s := &service{call: func(context.Context, string) (*wrapperspb.StringValue, error) { panic("a mistake") }}
		ends := func(h arenaWitness) arenaWitness { h.arenas = arenas; return h }
		client, wait := connectBy(t, byStand, ends(arenaWitness{Handler: Handler(Options{Limit: c.limit})}), s, recovers)
		plain, _ := connect(t, noHandler{}, s, recovers)
		invoke := func(conn *grpc.ClientConn) error {
			return conn.Invoke(t.Context(), "/test.Service/Call", c.request, new(wrapperspb.StringValue), grpc.ForceCodec(raw{}))
		}
		err, want := invoke(client), invoke(plain)
		if status.Code(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
		if c.limit == 0 && err.Error() != want.Error() {
			t.Errorf("%s: %v; without the registrar %v", name, err, want)
		}
		if wait(); !(<-arenas).over() {
			t.Errorf("%s: the arena did not end with its call", name)
		}
	}
}

// TestRegistrarGivenUp: the client has given up, and the handler still has its request.
func TestRegistrarGivenUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	texts, arenas := make(chan string, 1), make(chan tenant, 1)
	client, wait := connectBy(t, byStand, Handler(Options{Reuse: true}), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
		cancel()
		<-ctx.Done()
		a := tenantOf(arena.FromContext(ctx))
		if a.over() {
			t.Error("the arena ended before its call")
		}
		texts <- strings.Clone(text)
		arenas <- a
		return nil, ctx.Err()
	}})
	if _, err := call(ctx, client, "late"); status.Code(err) != codes.Canceled {
		t.Errorf("%v", err)
	}
	if text := <-texts; text != "late" {
		t.Errorf("the handler read %q", text)
	}
	if wait(); !(<-arenas).over() {
		t.Error("the arena did not end with its call")
	}
}

// TestRegistrarStream: messages of a client's stream lie on the Go heap, or where the handler says.
func TestRegistrarStream(t *testing.T) {
	client, wait := connectBy(t, byStand, Handler(Options{Reuse: true}), &service{stream: func(s grpc.ServerStream) error {
		a := arena.NewArena()
		defer a.Free()
		of := arena.FromContext(s.Context())
		for i := 0; ; i++ {
			switch i {
			case 1:
				ReceiveInto(s.Context(), a)
			case 3:
				ReceiveInto(s.Context(), of)
			}
			var m wrapperspb.StringValue
			if err := s.RecvMsg(&m); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := s.SendMsg(wrapperspb.String(fmt.Sprint(m.Value, a.Owns(m.Value), of.Owns(m.Value)))); err != nil {
				return err
			}
			a.Reset(arena.Keep)
		}
	}})
	s, err := client.NewStream(t.Context(), &description.Streams[0], "/test.Service/Stream")
	if err != nil {
		t.Fatal(err)
	}
	for i, where := range []string{"false false", "true false", "true false", "false true"} {
		if !owns() {
			where = "false false"
		}
		var got wrapperspb.StringValue
		text := fmt.Sprint("message ", i, " ")
		if err := errors.Join(s.SendMsg(wrapperspb.String(text)), s.RecvMsg(&got)); err != nil || got.Value != text+where {
			t.Fatalf("%q, %v; want %s", got.Value, err, where)
		}
	}
	s.CloseSend()
	if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v", err)
	}
	wait()
	ReceiveInto(t.Context(), nil) // No stream: nothing happens.
}

// TestRegistrarWatch: the single request of a stream lies in the call's arena.
func TestRegistrarWatch(t *testing.T) {
	client, wait := connectBy(t, byStand, Handler(Options{Reuse: true}), &service{stream: func(s grpc.ServerStream) error {
		var m wrapperspb.StringValue
		if err := s.RecvMsg(&m); err != nil {
			return err
		}
		if arena.FromContext(s.Context()).Owns(m.Value) != owns() {
			t.Error("the request does not lie in the call's arena")
		}
		return s.SendMsg(&m)
	}})
	s, err := client.NewStream(t.Context(), &description.Streams[1], "/test.Service/Watch")
	if err != nil {
		t.Fatal(err)
	}
	var got wrapperspb.StringValue
	if err := errors.Join(s.SendMsg(wrapperspb.String("text")), s.CloseSend(), s.RecvMsg(&got)); err != nil || got.Value != "text" {
		t.Errorf("%q, %v", got.Value, err)
	}
	if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v", err)
	}
	wait()
}

// TestRegistrarOtherCodec: messages that are none of protobuf go through as they are.
func TestRegistrarOtherCodec(t *testing.T) {
	if m := new(int); into(standFor).target(nil, m) != any(m) {
		t.Error("the message is another one")
	}
}

func TestRegistrarBadArguments(t *testing.T) {
	for name, f := range map[string]func(){
		"Registrar with a nil argument":  func() { Registrar(grpc.NewServer(), nil) },
		"UnaryClientInterceptor of nil":  func() { UnaryClientInterceptor(nil) },
		"StreamClientInterceptor of nil": func() { StreamClientInterceptor(nil) },
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, "grpcarena: "+name) {
					t.Errorf("%s: %v", name, v)
				}
			}()
			f()
		}()
	}
}
