// SPDX-License-Identifier: Apache-2.0

package grpcarena

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// A service has a unary method and a stream, in the test's own code.
type service struct {
	call   func(ctx context.Context, text string) (*wrapperspb.StringValue, error)
	stream func(s grpc.ServerStream) error
}

var description = grpc.ServiceDesc{
	ServiceName: "test.Service",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(srv any, ctx context.Context, decode func(any) error, in grpc.UnaryServerInterceptor) (any, error) {
		m := new(wrapperspb.StringValue)
		if err := decode(m); err != nil {
			return nil, err
		}
		handle := func(ctx context.Context, m any) (any, error) {
			return srv.(*service).call(ctx, m.(*wrapperspb.StringValue).Value)
		}
		if in == nil {
			return handle(ctx, m)
		}
		return in(ctx, m, &grpc.UnaryServerInfo{Server: srv, FullMethod: "/test.Service/Call"}, handle)
	}}},
	Streams: []grpc.StreamDesc{
		{StreamName: "Stream", ClientStreams: true, ServerStreams: true, Handler: handleStream},
		{StreamName: "Watch", ServerStreams: true, Handler: handleStream},
	},
}

func handleStream(srv any, s grpc.ServerStream) error { return srv.(*service).stream(s) }

// A witness tells the test when the Handler has seen the end of a call.
type witness struct {
	stats.Handler
	ended chan bool
}

func (w witness) HandleRPC(ctx context.Context, e stats.RPCStats) {
	w.Handler.HandleRPC(ctx, e)
	if _, ok := e.(*stats.End); ok {
		w.ended <- true
	}
}

// connect starts a server on the loopback device with the Handler, and a client. The function waits
// for the end of a call on the server.
func connect(t *testing.T, h stats.Handler, s *service, more ...grpc.ServerOption) (*grpc.ClientConn, func()) {
	return connectBy(t, func(r grpc.ServiceRegistrar) grpc.ServiceRegistrar { return r }, h, s, more...)
}

// connectBy is connect with a registrar for the service.
func connectBy(t *testing.T, by func(grpc.ServiceRegistrar) grpc.ServiceRegistrar, h stats.Handler, s *service, more ...grpc.ServerOption) (*grpc.ClientConn, func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := witness{h, make(chan bool, 1000)} // More than the calls of a test.
	server := grpc.NewServer(append(more, grpc.StatsHandler(w))...)
	by(server).RegisterService(&description, s)
	go server.Serve(l)
	// The oldest gRPC that the module supports has no NewClient.
	client, err := grpc.Dial(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Stop()
	})
	return client, func() { <-w.ended }
}

func call(ctx context.Context, c *grpc.ClientConn, text string, o ...grpc.CallOption) (string, error) {
	var reply wrapperspb.StringValue
	err := c.Invoke(ctx, "/test.Service/Call", wrapperspb.String(text), &reply, o...)
	return reply.Value, err
}

// A tenant is an arena in use. It holds it, so that the collector does not take it.
type tenant struct {
	a  *arena.Arena
	id uint64
}

func tenantOf(a *arena.Arena) tenant { return tenant{a, a.ID()} }

// over says whether the arena was given back. Any goroutine may ask.
func (t tenant) over() bool {
	inUse := slices.ContainsFunc(arena.List(), func(i arena.Info) bool { return i.ID == t.id })
	runtime.KeepAlive(t.a)
	return !inUse
}

// owns says whether values lie in arenas at all, which they do not with the kill switch.
func owns() bool {
	a := arena.NewArena()
	defer a.Free()
	return a.Owns(arena.String(a, "x"))
}

// reply is a message in the arena, with a text in the arena.
func reply(a *arena.Arena, parts ...string) *wrapperspb.StringValue {
	m := arena.New[wrapperspb.StringValue](a)
	m.Value = arena.Concat(a, parts...)
	return m
}

// TestEndsWithCall: the reply lies in the arena, which ends after it. All kinds of options.
func TestEndsWithCall(t *testing.T) {
	for _, o := range []Options{{}, {Reuse: true}, {Shared: true}, {Pool: &arena.Pool{NoReuse: true}}} {
		arenas := make(chan tenant, 1)
		client, wait := connect(t, Handler(o), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
			a := arena.FromContext(ctx)
			r := reply(a, "hello ", text)
			if a == nil || a.Owns(r) != owns() {
				t.Error("the value does not lie in the call's arena")
			}
			arenas <- tenantOf(a)
			return r, nil
		}})
		for range 10 {
			if got, err := call(t.Context(), client, "world"); got != "hello world" || err != nil {
				t.Errorf("%+v: %q, %v", o, got, err)
			}
			if wait(); !(<-arenas).over() {
				t.Errorf("%+v: the arena did not end with its call", o)
			}
		}
	}
}

// TestManyCalls: each reply has its own text, also in memory that another call used.
func TestManyCalls(t *testing.T) {
	pool := &arena.Pool{Arenas: 2, Bytes: 1 << 20}
	client, _ := connect(t, Handler(Options{Pool: pool, Reuse: true}), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
		a := arena.FromContext(ctx)
		var parts []string
		for i := range 100 {
			parts = arena.Append(a, parts, arena.Concat(a, text, fmt.Sprint(i), " "))
		}
		return reply(a, parts...), nil
	}})
	var clients sync.WaitGroup
	for g := range 8 {
		clients.Go(func() {
			for i := range 50 {
				text := fmt.Sprintf("%d-%d-", g, i)
				got, err := call(t.Context(), client, text)
				if f := strings.Fields(got); err != nil || len(f) != 100 || f[0] != text+"0" || f[99] != text+"99" {
					t.Errorf("%s was answered with %.80q, %v", text, got, err)
				}
			}
		})
	}
	clients.Wait()
}

// TestStream: a stream has one arena, which ends with it.
func TestStream(t *testing.T) {
	arenas := make(chan tenant, 1)
	client, wait := connect(t, Handler(Options{Reuse: true}), &service{stream: func(s grpc.ServerStream) error {
		a := arena.FromContext(s.Context())
		arenas <- tenantOf(a)
		for {
			var m wrapperspb.StringValue
			if err := s.RecvMsg(&m); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := s.SendMsg(reply(a, "got ", m.Value)); err != nil {
				return err
			}
		}
	}})
	s, err := client.NewStream(t.Context(), &description.Streams[0], "/test.Service/Stream")
	if err != nil {
		t.Fatal(err)
	}
	var a tenant
	for i := range 3 {
		var got wrapperspb.StringValue
		if err := errors.Join(s.SendMsg(wrapperspb.String(fmt.Sprint(i))), s.RecvMsg(&got)); err != nil || got.Value != fmt.Sprint("got ", i) {
			t.Fatalf("%q, %v", got.Value, err)
		}
		if i == 0 {
			a = <-arenas
		}
		if a.over() {
			t.Fatal("the arena ended before the stream")
		}
	}
	s.CloseSend()
	if err := s.RecvMsg(new(wrapperspb.StringValue)); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v", err)
	}
	if wait(); !a.over() {
		t.Error("the arena did not end with its stream")
	}
}

// TestMetadata: gRPC encodes metadata and the message of a status after the call.
func TestMetadata(t *testing.T) {
	if !owns() {
		t.Skip("values do not lie in arenas with the kill switch")
	}
	for name, send := range map[string]func(ctx context.Context, text string) error{
		"header": func(ctx context.Context, text string) error {
			return grpc.SetHeader(ctx, metadata.Pairs("x-text", text))
		},
		"sent": func(ctx context.Context, text string) error {
			return grpc.SendHeader(ctx, metadata.Pairs("x-text", text))
		},
		"trailer": func(ctx context.Context, text string) error {
			return grpc.SetTrailer(ctx, metadata.Pairs("x-text", text))
		},
		"status": func(_ context.Context, text string) error { return status.Error(codes.NotFound, text) },
	} {
		for where, want := range map[string]bool{"arena": false, "heap": true} {
			arenas := make(chan tenant, 1)
			client, wait := connect(t, Handler(Options{}), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
				a := arena.FromContext(ctx)
				arenas <- tenantOf(a)
				text = strings.Clone(text)
				if where == "arena" {
					text = arena.String(a, text)
				}
				return reply(a, "x"), send(ctx, text)
			}})
			var header, trailer metadata.MD
			_, err := call(t.Context(), client, "a-text", grpc.Header(&header), grpc.Trailer(&trailer))
			if got := fmt.Sprint(header["x-text"], trailer["x-text"], err); !strings.Contains(got, "a-text") {
				t.Errorf("%s in the %s: %s arrived", name, where, got)
			}
			wait()
			if got := (<-arenas).over(); got != want {
				t.Errorf("%s in the %s: the arena ended: %v", name, where, got)
			}
		}
	}
}

// TestKept: a value that code keeps stays what it was, whatever calls follow. With Reuse it does
// not, which shows that this test can tell.
func TestKept(t *testing.T) {
	for _, o := range []Options{{}, {Shared: true}, {Reuse: true, Pool: &arena.Pool{Arenas: 1}}} {
		var kept []string
		h := Handler(o)
		for i := range 100 { // In turn, in this goroutine.
			ctx := h.TagRPC(t.Context(), &stats.RPCTagInfo{})
			kept = append(kept, arena.Concat(arena.FromContext(ctx), fmt.Sprintf("call-%04d", i), " is over"))
			h.HandleRPC(ctx, &stats.End{})
		}
		if m := freehold.Modes(); m.Guard || m.Sample != 0 {
			continue // The mode overwrites it, and makes its use fault.
		}
		foreign := 0
		for i, s := range kept {
			if s != fmt.Sprintf("call-%04d is over", i) {
				foreign++
			}
		}
		if want := o.Reuse && owns() && !freehold.Modes().NoReuse; want != (foreign > 0) {
			t.Errorf("%+v: %d of %d values are not what they were", o, foreign, len(kept))
		}
	}
}

func TestLimit(t *testing.T) {
	client, _ := connect(t, Handler(Options{Limit: 1 << 20}), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
		_, err := arena.TryMakeSlice[byte](arena.FromContext(ctx), 2<<20, 2<<20)
		return wrapperspb.String(fmt.Sprint(errors.Is(err, offheap.ErrLimit))), nil
	}})
	if got, err := call(t.Context(), client, ""); got != "true" || err != nil {
		t.Errorf("beyond the limit: ErrLimit %s, %v", got, err)
	}
}

func TestShared(t *testing.T) {
	client, _ := connect(t, Handler(Options{Shared: true}), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
		a := arena.FromContext(ctx)
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for i := range 1000 {
					*arena.New[int](a) = i
				}
			})
		}
		workers.Wait()
		return reply(a, text), nil
	}})
	if got, err := call(t.Context(), client, "shared"); got != "shared" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPanic: the arena of a call ends although its handler panics.
func TestPanic(t *testing.T) {
	arenas := make(chan tenant, 1)
	recovers := grpc.UnaryInterceptor(func(ctx context.Context, m any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (_ any, err error) {
		arenas <- tenantOf(arena.FromContext(ctx)) // Interceptors have the arena, too.
		defer func() { err = status.Error(codes.Internal, fmt.Sprint("recovered: ", recover())) }()
		return handle(ctx, m)
	})
	client, wait := connect(t, Handler(Options{}), &service{call: func(context.Context, string) (*wrapperspb.StringValue, error) {
		panic("a mistake")
	}}, recovers)
	if _, err := call(t.Context(), client, ""); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "recovered: a mistake") {
		t.Errorf("%v", err)
	}
	if wait(); !(<-arenas).over() {
		t.Error("the arena did not end with its call")
	}
}

// TestKeep: a goroutine that a call leaves behind.
func TestKeep(t *testing.T) {
	left, results := make(chan bool), make(chan string)
	client, _ := connect(t, Handler(Options{Reuse: true}), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
		a := arena.FromContext(ctx)
		if text == "other" {
			return reply(a, text), nil
		}
		v := arena.Concat(a, "kept for ", text)
		Keep(ctx)
		Keep(ctx) // Twice is as good.
		go func() {
			<-left
			results <- arena.Concat(a, v, " and used")
		}()
		return wrapperspb.String(text), nil
	}})
	for _, text := range append([]string{"a"}, slices.Repeat([]string{"other"}, 20)...) { // They would have the memory by now.
		if got, err := call(t.Context(), client, text); got != text || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	close(left)
	if got := <-results; got != "kept for a and used" {
		t.Errorf("the goroutine read %q", got)
	}
}

func TestKeepTooLate(t *testing.T) {
	h := Handler(Options{})
	ctx := h.TagRPC(t.Context(), &stats.RPCTagInfo{})
	h.HandleRPC(ctx, &stats.End{})
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "before the handler returns") {
			t.Errorf("Keep after the call: %v", err)
		}
	}()
	Keep(t.Context()) // No arena: nothing happens.
	Keep(ctx)
}

// TestOnClient: by mistake the handler is a client's. Its calls go through, and each arena ends.
func TestOnClient(t *testing.T) {
	client, _ := connect(t, Handler(Options{}), &service{call: func(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
		return reply(arena.FromContext(ctx), text), nil
	}})
	other, err := grpc.Dial(client.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(Handler(Options{Reuse: true})))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for i := range 100 {
		if got, err := call(t.Context(), other, fmt.Sprint(i)); got != fmt.Sprint(i) || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestBadArguments(t *testing.T) {
	for name, o := range map[string]Options{
		"negative limit":            {Limit: -1},
		"a Pool that reuses memory": {Pool: new(arena.Pool)},
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, "grpcarena: Handler") || !strings.Contains(v, name) {
					t.Errorf("%s: %v", name, v)
				}
			}()
			Handler(o)
		}()
	}
}
