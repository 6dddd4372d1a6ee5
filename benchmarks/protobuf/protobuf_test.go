package protobuf

import (
	"slices"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/messages"
)

// TestInputs wants inputs of the sizes that the research measured, the same each time, and types that are decoded by plans alone.
func TestInputs(t *testing.T) {
	for name, size := range map[string]int{"proto/otlp": 52_000, "proto/span": 529, "proto/pprof": 91_000, "proto/descriptors": 70_000, "proto/struct": 2700,
		"proto/lines": 1_000_000, "proto/floats": 8_000_000, "proto/records": 800_000, "proto/updates": 2_000_000} {
		for _, task := range Tasks() {
			if task.Name != name {
				continue
			}
			r := &bench.Run{Spec: bench.Spec{N: task.Sizes[0]}}
			b, err := task.Data(r)
			if err != nil || len(b) < size*3/4 || len(b) > size*4/3 {
				t.Errorf("%s: %d bytes, want about %d; %v", name, len(b), size, err)
			}
			if name == "proto/span" && len(b) != size { // The documentation names its size.
				t.Errorf("%s: %d bytes, want %d", name, len(b), size)
			}
			m, again := task.New(), task.New()
			c, err := task.Data(r)
			if err != nil || proto.Unmarshal(b, m) != nil || proto.Unmarshal(c, again) != nil || !proto.Equal(m, again) {
				t.Errorf("%s: another message the second time; %v", name, err)
			}
			if report := arenaproto.Prepare(m); len(report.Fallbacks) != 0 && name != "proto/descriptors" { // Its options have extensions.
				t.Errorf("%s: %v", name, report)
			}
		}
	}
}

// TestWorkloads runs every contestant of every workload on few values, and compares their results.
func TestWorkloads(t *testing.T) {
	set := bench.NewSet(Workloads()...)
	for _, w := range set.Workloads() {
		var want uint64
		for _, c := range w.Contestants {
			s, err := set.Run(bench.Spec{Workload: w.Name, N: 6, Contestant: c.Name, Quick: true})
			if err != nil || len(s.Checksums) == 0 || s.Ops <= 0 {
				t.Errorf("%s, %s: %+v, %v", w.Name, c.Name, s, err)
				continue
			}
			if want == 0 {
				want = s.Checksums[0]
			}
			if s.Checksums[0] != want {
				t.Errorf("%s, %s: the checksum is %x, not %x", w.Name, c.Name, s.Checksums[0], want)
			}
		}
	}
}

// TestContestants wants the contestants that the bars and the documentation name.
func TestContestants(t *testing.T) {
	for _, task := range Tasks() {
		var names []string
		for _, c := range task.Workload().Contestants {
			names = append(names, c.Name)
		}
		want := []string{messages.Unmarshal, messages.Arena, messages.ArenaPool, messages.ArenaDrop, messages.ArenaNil}
		if task.Name == "proto/pprof" {
			want = append(want, messages.VTProto, googlePprof)
		}
		for _, l := range limits[task.Name] {
			want = append(want, l.ours, l.theirs)
		}
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%s has no contestant %s: %q", task.Name, name, names)
			}
		}
	}
}

// TestRefuses wants an error of every contestant for a message that is cut.
func TestRefuses(t *testing.T) {
	for _, task := range Tasks() {
		whole := task.Data
		task.Data = func(r *bench.Run) ([]byte, error) {
			b, err := whole(r)
			return b[:len(b)-1], err
		}
		task.Rivals = nil
		for _, c := range task.Workload().Contestants {
			r := &bench.Run{Spec: bench.Spec{N: min(task.Sizes[0], 100)}}
			c.Prepare(r)()
			if r.Err() == nil {
				t.Errorf("%s, %s: no error", task.Name, c.Name)
			}
		}
	}
}

// TestRead wants the same sum from both readers of the workload proto/read, and a sum that each field changes.
func TestRead(t *testing.T) {
	m := Traces(3)
	span := m.ResourceSpans[0].ScopeSpans[0].Spans[1]
	span.Links = append(span.Links, &trace.Span_Link{TraceId: []byte("link"), TraceState: "state", Flags: 3})
	span.Attributes = append(span.Attributes, &common.KeyValue{Key: "list", Value: &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{
		Values: []*common.AnyValue{
			{Value: &common.AnyValue_BoolValue{BoolValue: true}}, {Value: &common.AnyValue_DoubleValue{DoubleValue: 5}},
			{Value: &common.AnyValue_BytesValue{BytesValue: []byte("bytes")}}, {Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{Values: span.Attributes[:2]}}},
		},
	}}}})
	sum := readTraces(m)
	if other := readByReflection(m.ProtoReflect()); other != sum {
		t.Errorf("sum %d by fields, %d by reflection", sum, other)
	}
	for name, change := range map[string]func(){
		"a name":         func() { span.Name += "x" },
		"a time":         func() { span.EndTimeUnixNano++ },
		"a link":         func() { span.Links[0].Flags++ },
		"a status":       func() { span.Status.Code++ },
		"an attribute":   func() { span.Events[0].Attributes[0].Key += "x" },
		"a value":        func() { span.Attributes[0].Value = numberAttribute("", 77).Value },
		"a resource":     func() { m.ResourceSpans[0].SchemaUrl = "schema" },
		"a scope's name": func() { m.ResourceSpans[0].ScopeSpans[0].Scope.Name += "x" },
	} {
		change()
		now := readTraces(m)
		if now == sum || now != readByReflection(m.ProtoReflect()) {
			t.Errorf("%s changed: the sum is %d, before %d, by reflection %d", name, now, sum, readByReflection(m.ProtoReflect()))
		}
		sum = now
	}
}
