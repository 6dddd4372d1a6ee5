package protobuf

import (
	"errors"
	"fmt"

	"github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/messages"
)

const googlePprof = "google/pprof"

// Tasks are the tasks of the workloads.
func Tasks() []messages.Task {
	tasks := []messages.Task{
		{
			Name: "proto/otlp", Doc: "Decode OpenTelemetry traces of n spans, and keep the four latest.", Size: "spans", Sizes: []int{100},
			New: func() proto.Message { return new(trace.TracesData) }, Decode: messages.Decode[trace.TracesData], Data: encoded(func(n int) proto.Message { return Traces(n) }),
		}, {
			Name: "proto/read", Doc: "Decode OpenTelemetry traces of n spans, read every field, and keep the four latest.", Size: "spans", Sizes: []int{100}, FullOnly: true, Read: readTraces,
			New: func() proto.Message { return new(trace.TracesData) }, Decode: messages.Decode[trace.TracesData], Data: encoded(func(n int) proto.Message { return Traces(n) }),
		}, {
			Name: "proto/span", Doc: "Decode one span of OpenTelemetry, as services do with small messages, and keep the four latest.", Size: "spans", Sizes: []int{1},
			New: func() proto.Message { return new(trace.Span) }, Decode: messages.Decode[trace.Span], Data: encoded(func(int) proto.Message { return newSpan(newSeed(), 7) }),
		}, {
			Name: "proto/pprof", Doc: "Decode a CPU profile in pprof's format with n samples, and keep the four latest.", Size: "samples", Sizes: []int{430},
			New: func() proto.Message { return new(googlev1.Profile) }, Decode: messages.Decode[googlev1.Profile], Data: encoded(func(n int) proto.Message { return cpuProfile(n) }),
		}, {
			Name: "proto/descriptors", Doc: "Decode the descriptors of n .proto files, which have optional fields of proto2, and keep the four latest.", Size: "files", Sizes: []int{6},
			New: func() proto.Message { return new(descriptorpb.FileDescriptorSet) }, Decode: messages.Decode[descriptorpb.FileDescriptorSet], Data: encoded(func(n int) proto.Message { return descriptors(n) }),
		}, {
			Name: "proto/struct", Doc: "Decode a google.protobuf.Struct of nested maps with n keys, and keep the four latest.", Size: "keys", Sizes: []int{16},
			New: func() proto.Message { return new(structpb.Struct) }, Decode: messages.Decode[structpb.Struct], Data: encoded(func(n int) proto.Message { return nestedStruct(n) }),
		},
	}
	tasks = append(tasks, shapeTasks()...)
	for i := range tasks {
		t := &tasks[i]
		t.Bars = bars(t.Name)
		if t.Name == "proto/pprof" {
			t.Rivals = []bench.Contestant{t.Contestant(googlePprof, "ParseUncompressed, into its own types", func(*bench.Run) messages.Decoder {
				return func(_ int, b []byte) (any, error) { return profile.ParseUncompressed(b) }
			}, sameProfile)}
		}
	}
	return tasks
}

// Workloads returns the workloads: "proto/otlp" and so on.
func Workloads() (all []bench.Workload) {
	for _, t := range Tasks() {
		all = append(all, t.Workload())
	}
	return all
}

// sameProfile compares what google/pprof decoded with the input.
func sameProfile(result any, b []byte) error {
	p, m := result.(*profile.Profile), new(googlev1.Profile)
	if err := proto.Unmarshal(b, m); err != nil {
		return err
	}
	if len(p.Sample) != len(m.Sample) || len(p.Location) != len(m.Location) || len(p.Function) != len(m.Function) {
		return fmt.Errorf("%s decoded %d samples, %d locations and %d functions", googlePprof, len(p.Sample), len(p.Location), len(p.Function))
	}
	for i, s := range p.Sample {
		if want := m.Sample[i]; s.Value[1] != want.Value[1] || len(s.Location) != len(want.LocationId) || s.Location[0].ID != want.LocationId[0] {
			return errors.New(googlePprof + " decoded another sample")
		}
	}
	for i, f := range p.Function {
		if f.Name != m.StringTable[m.Function[i].Name] {
			return errors.New(googlePprof + " decoded another name")
		}
	}
	return nil
}

// limits are those of the bars: a contestant's CPU time by that of another one.
var limits = map[string][]struct {
	ours, theirs string
	limit        float64
}{
	"proto/otlp": {
		{messages.Arena, messages.Unmarshal, 0.10}, {messages.ArenaNil, messages.Unmarshal, 0.60},
	},
	"proto/span": {
		{messages.Arena, messages.Unmarshal, 0.17}, {messages.ArenaBatch, messages.Unmarshal, 0.09}, {messages.ArenaPool, messages.Unmarshal, 0.30},
		{messages.ArenaNil, messages.Unmarshal, 0.60},
	},
	"proto/pprof": {
		{messages.Arena, messages.Unmarshal, 0.19}, {messages.Arena, googlePprof, 0.20}, {messages.ArenaNil, messages.Unmarshal, 0.60},
	},
	"proto/descriptors": {{messages.Arena, messages.Unmarshal, 0.14}, {messages.ArenaNil, messages.Unmarshal, 0.70}},
	"proto/struct":      {{messages.Arena, messages.Unmarshal, 0.14}, {messages.ArenaNil, messages.Unmarshal, 1}},
	"proto/lines":       {{messages.Arena, messages.Unmarshal, 0.30}, {messages.ArenaNil, messages.Unmarshal, 1}},
	"proto/floats":      {{messages.Arena, messages.Unmarshal, 0.22}, {messages.ArenaNil, messages.Unmarshal, 1}},
	"proto/records":     {{messages.Arena, messages.Unmarshal, 0.23}, {messages.ArenaNil, messages.Unmarshal, 0.60}},
	"proto/updates":     {{messages.Arena, messages.Unmarshal, 0.33}, {messages.ArenaNil, messages.Unmarshal, 1}},
}

func bars(workload string) (list []bench.Bar) {
	for _, l := range limits[workload] {
		list = append(list, bench.AtMost(fmt.Sprintf("%s, %s by %s", workload, l.ours, l.theirs), l.limit, bench.TimeRatio(workload, 0, l.ours, l.theirs)))
	}
	return list
}
