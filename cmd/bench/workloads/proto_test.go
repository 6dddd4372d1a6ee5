// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"math/bits"
	"reflect"
	"runtime"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/freehold-go/freehold/adapters/arenaproto"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/messages"
)

// TestProtoInputs wants inputs of the sizes that the research measured, the same each time, and types that are decoded by plans alone.
func TestProtoInputs(t *testing.T) {
	for name, size := range map[string]int{"proto/otlp": 52_000, "proto/span": 529, "proto/pprof": 91_000, "proto/descriptors": 70_000, "proto/struct": 2700,
		"proto/lines": 1_000_000, "proto/floats": 8_000_000, "proto/records": 800_000, "proto/updates": 2_000_000} {
		for _, task := range ProtoTasks() {
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

// TestProtoContestants wants the rivals that the documentation names.
func TestProtoContestants(t *testing.T) {
	for _, name := range []string{messages.Unmarshal, messages.VTProto, googlePprof, messages.Arena, messages.ArenaPool, messages.ArenaDrop, messages.ArenaNil} {
		if contestant(workload(t, "proto/pprof"), name) == nil {
			t.Errorf("proto/pprof has no %s", name)
		}
	}
	for _, task := range ProtoTasks() {
		for _, l := range protoLimits[task.Name] {
			w := workload(t, task.Name)
			if contestant(w, l.ours) == nil || contestant(w, l.theirs) == nil {
				t.Errorf("%s has a bar for contestants that it has not: %s by %s", task.Name, l.ours, l.theirs)
			}
		}
	}
}

// TestProtoRefuses wants an error of every contestant for a message that is cut.
func TestProtoRefuses(t *testing.T) {
	for _, task := range ProtoTasks() {
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

// TestProtoRead wants the same sum from both readers of the workload proto/read, and a sum that each field changes.
func TestProtoRead(t *testing.T) {
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

// TestProtoMemory bounds the memory that a message takes in an arena, as a part of the bytes that proto.Unmarshal allocates for it.
func TestProtoMemory(t *testing.T) {
	if !onFastPaths() || bits.UintSize == 32 {
		t.Skip("the detector and the modes change how much is allocated, and the bounds are for pointers of 8 bytes")
	}
	for _, task := range ProtoTasks() {
		if task.FullOnly {
			continue
		}
		b, err := task.Data(&bench.Run{Spec: bench.Spec{N: task.Sizes[0]}})
		if err != nil {
			t.Fatal(err)
		}
		heap := allocatedBy(func() { _ = proto.Unmarshal(b, task.New()) })
		aliased := 0.8
		if task.Name == "proto/descriptors" { // It has many lists of two numbers.
			aliased = 0.85
		}
		for limit, o := range map[float64]arenaproto.UnmarshalOptions{1: {}, aliased: {AliasInput: true}} {
			a := arena.NewArena()
			typ := reflect.TypeOf(task.New()).Elem()
			for range 2 { // Go maps are new in the first round.
				a.Reset(arena.Keep)
				o.Merge = true
				if err := o.Unmarshal(a, b, arena.NewOf(a, typ).(proto.Message)); err != nil {
					t.Fatal(err)
				}
			}
			ratio := float64(a.Stats().InUse) / heap
			t.Logf("%s, alias %t: %d of %.0f bytes, %.2f", task.Name, o.AliasInput, a.Stats().InUse, heap, ratio)
			if ratio > limit {
				t.Errorf("%s, alias %t: %.2f of the bytes that proto.Unmarshal allocates, want at most %.2f", task.Name, o.AliasInput, ratio, limit)
			}
			a.Free()
		}
	}
}

// allocatedBy is the bytes that f allocates in one call.
func allocatedBy(f func()) float64 {
	const calls = 4
	f()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / calls
}
