package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"net"

	"github.com/freehold-go/freehold/adapters/grpcarena"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/benchmarks/protobuf"
)

func TestMain(m *testing.M) {
	runChild()
	if os.Getenv("CALLS_TEST_MISUSE") != "" {
		misuse()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestCompare runs each server once.
func TestCompare(t *testing.T) {
	var out strings.Builder
	if err := compare(&out, 2, 5, 1); err != nil || strings.Count(out.String(), "\n") != len(ways) {
		t.Errorf("%v\n%s", err, &out)
	}
}

// A witness compares the request with what the client sends, and looks where it lies.
type witness struct {
	collector.UnimplementedTraceServiceServer
	want    *collector.ExportTraceServiceRequest
	inArena bool
}

func (w witness) Export(ctx context.Context, q *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	a := arena.FromContext(ctx)
	span := q.ResourceSpans[0].ScopeSpans[0].Spans[0]
	if !proto.Equal(q, w.want) || a == nil || a.Owns(span) != w.inArena || a.Owns(span.Name) != w.inArena || a.Owns(span.Attributes[0].Value.Value) != w.inArena {
		return nil, errors.New("the request is not the client's, or not where it should lie")
	}
	// The reply points into the request.
	return &collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{ErrorMessage: span.Name}}, nil
}

// TestArenaproto runs grpcarena and arenaproto together: a request on the Go heap, one in the call's arena, and one that the
// arena's limit refuses.
func TestArenaproto(t *testing.T) {
	request := &collector.ExportTraceServiceRequest{ResourceSpans: protobuf.Traces(20).ResourceSpans}
	for _, o := range []grpcarena.Options{{}, {Reuse: true}, {Limit: 4 << 10}} {
		server := newServer(witness{want: request, inArena: o.Reuse}, o)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go server.Serve(l)
		defer server.Stop()
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		client := collector.NewTraceServiceClient(conn)
		for range 10 {
			reply, err := client.Export(t.Context(), request)
			switch {
			case o.Limit > 0 && (status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "limit")):
				t.Errorf("beyond the limit: %v", err)
			case o.Limit == 0 && (err != nil || reply.PartialSuccess.ErrorMessage != request.ResourceSpans[0].ScopeSpans[0].Spans[0].Name):
				t.Errorf("%+v: %v, %v", o, reply, err)
			}
		}
	}
}
