// SPDX-License-Identifier: Apache-2.0

package grpcarena

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/arena"
)

// UnaryClientInterceptor returns an interceptor for clients, which decodes the reply of a call into the arena
// that the option [ReplyInto] names. The parameter into is arenaproto.Into. Calls without the option are not changed.
//
//	conn, err := grpc.NewClient(target, grpc.WithChainUnaryInterceptor(..., grpcarena.UnaryClientInterceptor(arenaproto.Into)))
//	reply, err := pb.NewOrdersClient(conn).Get(ctx, request, grpcarena.ReplyInto(a))
//
// The interceptor does not use the arena in the call's context: programs make several calls at once with one
// context, and an arena serves one goroutine at a time. It should be the last one of its
// chain, because those behind it see the message that into returns instead of the reply. It
// panics if into is nil. What [Registrar] says of codecs and AliasInput holds here, too.
func UnaryClientInterceptor(into func(a *arena.Arena, m proto.Message) proto.Message) grpc.UnaryClientInterceptor {
	f := checkedInto("UnaryClientInterceptor", into)
	return func(ctx context.Context, method string, request, reply any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
		if a, ok := replyArena(o); ok {
			reply = f.target(a, reply)
		}
		return invoke(ctx, method, request, reply, c, o...)
	}
}

// StreamClientInterceptor is [UnaryClientInterceptor] for streams. All messages that the client receives
// on a stream with the option [ReplyInto] are decoded into its arena. The program may reset the arena
// between two messages.
func StreamClientInterceptor(into func(a *arena.Arena, m proto.Message) proto.Message) grpc.StreamClientInterceptor {
	f := checkedInto("StreamClientInterceptor", into)
	return func(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, open grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
		s, err := open(ctx, d, c, method, o...)
		if a, ok := replyArena(o); ok && err == nil {
			s = &clientStream{s, f, a}
		}
		return s, err
	}
}

func checkedInto(op string, f into) into {
	if f == nil {
		panic(errors.New("grpcarena: " + op + " of nil: it takes arenaproto.Into"))
	}
	return f
}

// ReplyInto is an option of a client's call: the reply is decoded into a, which the program frees when it
// needs the reply no longer. A nil arena means the Go heap. The option needs [UnaryClientInterceptor] or
// [StreamClientInterceptor], and has no effect without. The arena must not be used meanwhile.
func ReplyInto(a *arena.Arena) grpc.CallOption { return replyOption{arena: a} }

type replyOption struct {
	grpc.EmptyCallOption
	arena *arena.Arena
}

// replyArena is the arena of the last option ReplyInto.
func replyArena(options []grpc.CallOption) (a *arena.Arena, found bool) {
	for _, o := range options {
		if r, ok := o.(replyOption); ok {
			a, found = r.arena, true
		}
	}
	return a, found
}

// A clientStream decodes what it receives into an arena.
type clientStream struct {
	grpc.ClientStream
	into  into
	arena *arena.Arena
}

// RecvMsg receives a message.
func (s *clientStream) RecvMsg(m any) error {
	return s.ClientStream.RecvMsg(s.into.target(s.arena, m))
}
