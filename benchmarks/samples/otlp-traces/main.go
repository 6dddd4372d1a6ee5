// Command otlp-traces decodes traces of OpenTelemetry with protobuf-go, each to new messages on the Go heap.
//
// After the change arenaproto decodes them into an arena that is reset after each.
package main

import (
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/benchmarks/protobuf"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

// spans keeps the compiler from dropping the work.
var spans int

func main() {
	load.Main(load.Sample{Ops: 8_000, Before: before, After: after})
}

func before() load.Op {
	return decoding(func(data []byte, m proto.Message) error { return proto.Unmarshal(data, m) })
}

func after() load.Op {
	a := arena.NewArena()
	return decoding(func(data []byte, m proto.Message) error {
		a.Reset(arena.Keep)
		return arenaproto.Unmarshal(a, data, m)
	})
}

func decoding(unmarshal func([]byte, proto.Message) error) load.Op {
	data, err := proto.Marshal(protobuf.Traces(100))
	if err != nil {
		panic(err)
	}
	return func(int) {
		var m trace.TracesData
		if err := unmarshal(data, &m); err != nil {
			panic(err)
		}
		for _, r := range m.ResourceSpans {
			for _, s := range r.ScopeSpans {
				spans += len(s.Spans)
			}
		}
	}
}
