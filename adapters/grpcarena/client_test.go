// SPDX-License-Identifier: Apache-2.0

package grpcarena

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/freehold-go/freehold/arena"
)

// noHandler is a stats.Handler without effect, for servers without arenas.
type noHandler struct{}

func (noHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (noHandler) HandleRPC(context.Context, stats.RPCStats)                         {}
func (noHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (noHandler) HandleConn(context.Context, stats.ConnStats)                       {}

// An arenaWitness tells the test which arena a call has.
type arenaWitness struct {
	stats.Handler
	arenas chan tenant
}

func (w arenaWitness) TagRPC(ctx context.Context, i *stats.RPCTagInfo) context.Context {
	ctx = w.Handler.TagRPC(ctx, i)
	w.arenas <- tenantOf(arena.FromContext(ctx))
	return ctx
}

// TestReplyInto: replies lie in the arena that a call names, and on the Go heap if it names none.
func TestReplyInto(t *testing.T) {
	server, _ := connect(t, Handler(Options{}), &service{
		call: func(_ context.Context, text string) (*wrapperspb.StringValue, error) {
			return wrapperspb.String(text), nil
		},
		stream: func(s grpc.ServerStream) error {
			for i := range 3 {
				if err := s.SendMsg(wrapperspb.String(fmt.Sprint("message ", i))); err != nil {
					return err
				}
			}
			return nil
		},
	})
	client, err := grpc.Dial(server.Target(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(UnaryClientInterceptor(standFor)), grpc.WithStreamInterceptor(StreamClientInterceptor(standFor)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	a := arena.NewArena()
	defer a.Free()
	ctx := arena.NewContext(t.Context(), a) // Not the arena of the replies.
	for _, c := range []struct {
		options []grpc.CallOption
		want    bool
	}{{nil, false}, {[]grpc.CallOption{ReplyInto(a)}, owns()}, {[]grpc.CallOption{ReplyInto(a), ReplyInto(nil)}, false}} {
		if got, err := call(ctx, client, "text", c.options...); err != nil || got != "text" || a.Owns(got) != c.want {
			t.Errorf("%d options: %q, %v; in the arena: %v", len(c.options), got, err, a.Owns(got))
		}
		s, err := client.NewStream(ctx, &description.Streams[0], "/test.Service/Stream", c.options...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			var m wrapperspb.StringValue
			if err := s.RecvMsg(&m); err != nil || m.Value != fmt.Sprint("message ", i) || a.Owns(m.Value) != c.want {
				t.Errorf("%d options: %q, %v; in the arena: %v", len(c.options), m.Value, err, a.Owns(m.Value))
			}
			a.Reset(arena.Keep)
		}
		if err := s.RecvMsg(new(wrapperspb.StringValue)); err == nil {
			t.Error("the stream has no end")
		}
	}
}
