// SPDX-License-Identifier: Apache-2.0

package grpcmem

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// echo is a service that returns what it gets, by a call and by a stream; quit is a stream that
// ends after the first message.
var echo = grpc.ServiceDesc{
	ServiceName: "test.Echo",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		m := new(wrapperspb.BytesValue)
		return m, decode(m)
	}}},
	Streams: []grpc.StreamDesc{
		{StreamName: "Stream", ClientStreams: true, ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			for {
				m := new(wrapperspb.BytesValue)
				if err := s.RecvMsg(m); err != nil {
					if errors.Is(err, io.EOF) {
						return nil
					}
					return err
				}
				if err := s.SendMsg(m); err != nil {
					return err
				}
			}
		}},
		{StreamName: "Quit", ClientStreams: true, ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			return s.RecvMsg(new(wrapperspb.BytesValue))
		}},
	},
}

// connect starts a server on the loopback device and a client, which use the pool for what they
// receive.
func connect(t testing.TB, pool mem.BufferPool) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(experimental.BufferPool(pool), grpc.MaxRecvMsgSize(64<<20))
	server.RegisterService(&echo, nil)
	go server.Serve(l)
	client, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		experimental.WithBufferPool(pool), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Stop()
	})
	return client
}

// message is n bytes that tell which message they are from.
func message(seed, n int) *wrapperspb.BytesValue {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(seed + i*i>>3)
	}
	return wrapperspb.Bytes(b)
}

func call(ctx context.Context, c *grpc.ClientConn, m *wrapperspb.BytesValue) error {
	var got wrapperspb.BytesValue
	if err := c.Invoke(ctx, "/test.Echo/Call", m, &got); err != nil {
		return err
	}
	if !bytes.Equal(got.Value, m.Value) {
		return errors.New("what came back is not what was sent")
	}
	return nil
}

// emptied waits until the pool has all buffers back, those that gRPC dropped by way of the
// collector.
func emptied(t testing.TB, p *Pool) {
	t.Helper()
	collect(t, func() bool { return inUse(t, p) == 0 })
}

func TestCalls(t *testing.T) {
	p := newPool(t, Options{})
	client := connect(t, p)
	var callers sync.WaitGroup
	for g := range 4 {
		callers.Go(func() {
			for i, n := range []int{0, 1, 1000, 1025, 16_384, 40_000, 100_000, 1 << 20, 5 << 20} {
				if err := call(t.Context(), client, message(g+i, n)); err != nil {
					t.Errorf("%d bytes: %v", n, err)
				}
			}
		})
	}
	callers.Wait()
	emptied(t, p)
}

func TestStream(t *testing.T) {
	p := newPool(t, Options{})
	client := connect(t, p)
	s, err := client.NewStream(t.Context(), &echo.Streams[0], "/test.Echo/Stream")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		sent, got := message(i, 1+i*1000), new(wrapperspb.BytesValue)
		if err := errors.Join(s.SendMsg(sent), s.RecvMsg(got)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Value, sent.Value) {
			t.Fatalf("message %d came back as another", i)
		}
	}
	if err := errors.Join(s.CloseSend(), s.RecvMsg(new(wrapperspb.BytesValue))); err != io.EOF && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	emptied(t, p)
}

// TestUnreadMessages: gRPC drops the buffers of unread messages. The pool must free them all the
// same.
func TestUnreadMessages(t *testing.T) {
	p := newPool(t, Options{})
	client := connect(t, p)
	// gRPC works in goroutines of its own: on a slow machine it takes more rounds until something
	// has arrived when we end a stream.
	begin := time.Now()
	for round := 0; round < 20 || p.Stats().Dropped == 0 && time.Since(begin) < time.Minute; round++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		// The server stops reading after the first message, and we never read.
		for _, name := range []string{"/test.Echo/Quit", "/test.Echo/Stream"} {
			s, err := client.NewStream(ctx, &echo.Streams[0], name)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 8 {
				if s.SendMsg(message(round+i, 8000)) != nil {
					break // The server is gone, which is what we want.
				}
			}
		}
		time.Sleep(5 * time.Millisecond) // Let some of it arrive.
		cancel()
		if round >= 20 {
			runtime.GC() // To find the dropped buffers.
		}
	}
	collect(t, func() bool { return p.Stats().Dropped > 0 }) // Else gRPC drops nothing any more, and our documentation is wrong.
	// A connection keeps the last frame until the next comes.
	if err := call(t.Context(), client, message(1, 100_000)); err != nil {
		t.Errorf("a call afterwards: %v", err)
	}
	emptied(t, p)
}

// TestCallsBeyondTheLimit: a pool that may take nothing still serves.
func TestCallsBeyondTheLimit(t *testing.T) {
	p := newPool(t, Options{})
	p.purpose.SetLimit(1)
	client := connect(t, p)
	if err := call(t.Context(), client, message(1, 1<<20)); err != nil {
		t.Error(err)
	}
	if p.Stats().Refused == 0 {
		t.Error("nothing was refused")
	}
	emptied(t, p)
}
