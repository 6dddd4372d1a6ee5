// SPDX-License-Identifier: Apache-2.0

package grpcarena

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/arena"
)

// Registrar returns a registrar for services whose requests are decoded by arenaproto. The parameter into is
// arenaproto.Into. Registrar changes one argument of a program:
//
//	pb.RegisterOrdersServer(grpcarena.Registrar(server, arenaproto.Into), &orders{})
//
// If [Handler] has Options.Reuse or Options.Limit, a request is decoded into the arena of its call. All that it leads to
// is valid as long as the arena: until the reply is written, or longer if [Keep] was called. So the reply may point into
// the request. The request itself, the struct that generated code makes, lies on the Go heap.
//
// With other options, or without a Handler, into gets a nil arena and decodes to the Go heap: a few objects for each
// request, which are valid as long as the program keeps them. The collector would get the memory of an arena without reuse
// in the same way, and such an arena costs more.
//
// The single request of a streaming call, where only the server streams, is decoded in the same way. A
// client's stream may have messages without end, so they are decoded to the Go heap unless the
// method's handler names an arena with [ReceiveInto].
//
// Some code of a server sees the message that into returns instead of the request: stats handlers in InPayload,
// the codec, and interceptors of streams in RecvMsg. It has the request's reflection and is of
// another type. Interceptors of unary calls and the method's handler see the request. The codec must be gRPC's own or
// call proto.Unmarshal. Options that make strings parts of the input (AliasInput) must not be set, because gRPC
// uses the input's memory again.
//
// If a request cannot be decoded, because it is malformed or because it exceeds the arena's limit, the call fails as
// it does without Registrar, with codes.Internal. Registrar panics if an argument is nil.
func Registrar(s grpc.ServiceRegistrar, into func(a *arena.Arena, m proto.Message) proto.Message) grpc.ServiceRegistrar {
	if s == nil || into == nil {
		panic(errors.New("grpcarena: Registrar with a nil argument: it takes the server, and arenaproto.Into"))
	}
	return registrar{s, into}
}

type registrar struct {
	grpc.ServiceRegistrar
	into into
}

// RegisterService registers a service whose methods decode into arenas.
//
// It wraps the function that a method's generated handler decodes with. Neither of the two other hooks would do:
// gRPC calls a codec without the context of the call, and calls interceptors of unary calls when the
// request has been decoded. The generated code, the codec and the interceptors stay as they are.
func (r registrar) RegisterService(d *grpc.ServiceDesc, service any) {
	c := *d
	c.Methods, c.Streams = slices.Clone(d.Methods), slices.Clone(d.Streams)
	for i := range c.Methods {
		c.Methods[i].Handler = r.into.unary(c.Methods[i].Handler)
	}
	for i := range c.Streams {
		c.Streams[i].Handler = r.into.stream(c.Streams[i].Handler, c.Streams[i].ClientStreams)
	}
	r.ServiceRegistrar.RegisterService(&c, service)
}

// An into returns a message that is decoded into an arena in place of another.
type into func(a *arena.Arena, m proto.Message) proto.Message

// target is what gRPC decodes in place of m.
func (f into) target(a *arena.Arena, m any) any {
	if p, ok := m.(proto.Message); ok {
		return f(a, p)
	}
	return m // The server has a codec of its own for it.
}

// requestArena is the arena that the request of a call is decoded into.
func requestArena(ctx context.Context) *arena.Arena {
	if t, ok := ctx.Value(tenancyKey{}).(*tenancy); ok && t.requestOnHeap {
		return nil
	}
	return arena.FromContext(ctx)
}

type unaryHandler = func(service any, ctx context.Context, decode func(any) error, in grpc.UnaryServerInterceptor) (any, error)

func (f into) unary(handle unaryHandler) unaryHandler {
	return func(service any, ctx context.Context, decode func(any) error, in grpc.UnaryServerInterceptor) (any, error) {
		a := requestArena(ctx)
		return handle(service, ctx, func(m any) error { return decode(f.target(a, m)) }, in)
	}
}

func (f into) stream(handle grpc.StreamHandler, many bool) grpc.StreamHandler {
	return func(service any, s grpc.ServerStream) error {
		r := &receiver{ServerStream: s, into: f}
		if !many {
			r.arena = requestArena(s.Context())
		}
		r.ctx = context.WithValue(s.Context(), receiverKey{}, r)
		return handle(service, r)
	}
}

// A receiver is a server's side of a stream that decodes into arenas.
type receiver struct {
	grpc.ServerStream
	into  into
	arena *arena.Arena
	ctx   context.Context
}

type receiverKey struct{}

// Context is the context of the call, with the receiver for ReceiveInto.
func (r *receiver) Context() context.Context { return r.ctx }

// RecvMsg receives a message.
func (r *receiver) RecvMsg(m any) error { return r.ServerStream.RecvMsg(r.into.target(r.arena, m)) }

// ReceiveInto makes a client's stream decode its next messages into a, in a service that was
// registered by a [Registrar]. ctx is the context of the stream. A nil arena means the Go heap, which is the default.
//
//	a := arena.NewArena()
//	defer a.Free()
//	grpcarena.ReceiveInto(stream.Context(), a)
//	for {
//		order, err := stream.Recv()
//		...
//		a.Reset(arena.Keep) // frees the order
//	}
//
// Call ReceiveInto in the goroutine that receives. A stream with few messages may use the arena of the
// call, arena.FromContext(ctx), which frees them when the call ends. In other calls ReceiveInto does nothing.
func ReceiveInto(ctx context.Context, a *arena.Arena) {
	if r, ok := ctx.Value(receiverKey{}).(*receiver); ok {
		r.arena = a
	}
}
