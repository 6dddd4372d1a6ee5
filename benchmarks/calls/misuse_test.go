package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/freehold-go/freehold/adapters/grpcarena"
	"github.com/freehold-go/freehold/benchmarks/protobuf"
)

// names are what the handler below keeps of all requests.
var names = map[string]string{}

// A keeper puts a string of the request into a global map. It should keep strings.Clone of it.
type keeper struct {
	collector.UnimplementedTraceServiceServer
}

func (keeper) Export(_ context.Context, q *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	names["last"] = q.ResourceSpans[0].ScopeSpans[0].Spans[0].Name
	return new(collector.ExportTraceServiceResponse), nil
}

// misuse is the program that TestMisuse starts: it reads the string after the call.
func misuse() {
	server := newServer(keeper{}, grpcarena.Options{Reuse: true})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(l)
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	request := &collector.ExportTraceServiceRequest{ResourceSpans: protobuf.Traces(1).ResourceSpans}
	if _, err := collector.NewTraceServiceClient(conn).Export(context.Background(), request); err != nil {
		panic(err)
	}
	server.GracefulStop() // The arena is released when the answer is written.
	accessName(names["last"])
}

var seen byte

//go:noinline
func accessName(s string) { seen += s[0] }

// TestMisuse: guard mode reports that a string of a request is read after its call. Without a mode nothing stops the
// program.
func TestMisuse(t *testing.T) {
	for mode, want := range map[string][]string{"guard": {"freehold: use after Pool.Put:", "calls.accessName", "arenaproto.", "grpcarena."}, "": nil} {
		var b strings.Builder
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "CALLS_TEST_MISUSE=1", "FREEHOLD="+mode)
		child.Stderr = &b
		if err := child.Run(); (err != nil) != (want != nil) {
			t.Errorf("mode %q: %v\n%s", mode, err, &b)
		}
		for _, part := range want {
			if !strings.Contains(b.String(), part) {
				t.Errorf("the report does not say %q:\n%s", part, &b)
			}
		}
	}
}
