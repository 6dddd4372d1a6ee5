package protobuf

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/freehold-go/freehold/cmd/bench"
)

// encoded is the Data of a task whose message of size n is made.
func encoded(newMessage func(n int) proto.Message) func(r *bench.Run) ([]byte, error) {
	return func(r *bench.Run) ([]byte, error) {
		return proto.MarshalOptions{Deterministic: true}.Marshal(newMessage(r.N))
	}
}

func newSeed() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func textAttribute(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func numberAttribute(key string, value int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}}
}

// newSpan is the span of an HTTP request, with eight attributes and an event. The seventh has 529 bytes.
func newSpan(r *rand.Rand, i int) *trace.Span {
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:8], r.Uint64())
	binary.LittleEndian.PutUint64(id[8:], r.Uint64())
	start := 1_700_000_000_000_000_000 + uint64(i)*1000
	path := fmt.Sprintf("/api/v1/orders/%d", i)
	return &trace.Span{
		TraceId: id[:], SpanId: id[:8], ParentSpanId: id[8:], Name: "GET " + path, Kind: trace.Span_SPAN_KIND_SERVER,
		StartTimeUnixNano: start, EndTimeUnixNano: start + 500_000, Flags: 256,
		Attributes: []*common.KeyValue{
			textAttribute("http.request.method", "GET"), textAttribute("url.path", path), numberAttribute("http.response.status_code", 200),
			textAttribute("server.address", "orders.internal.example.com"), numberAttribute("server.port", 8443),
			textAttribute("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"), textAttribute("network.protocol.version", "2"),
			numberAttribute("http.response.body.size", r.Int64N(100_000)),
		},
		Events: []*trace.Span_Event{{TimeUnixNano: start + 250_000, Name: "db.query", Attributes: []*common.KeyValue{
			textAttribute("db.statement", "SELECT id, total, paid FROM orders WHERE id = ? LIMIT 1"), numberAttribute("db.rows", r.Int64N(10)),
		}}},
		Status: &trace.Status{Code: trace.Status_STATUS_CODE_OK},
	}
}

// Traces is what a service exports: n spans of one scope, about 520 bytes each.
func Traces(n int) *trace.TracesData {
	r, spans := newSeed(), make([]*trace.Span, n)
	for i := range spans {
		spans[i] = newSpan(r, i)
	}
	return &trace.TracesData{ResourceSpans: []*trace.ResourceSpans{{
		Resource: &resource.Resource{Attributes: []*common.KeyValue{
			textAttribute("service.name", "orders"), textAttribute("service.version", "1.2.3"), textAttribute("host.name", "node-17"),
		}},
		ScopeSpans: []*trace.ScopeSpans{{
			Scope: &common.InstrumentationScope{Name: "go.opentelemetry.io/contrib/otelhttp", Version: "0.50.0"}, Spans: spans,
		}},
	}}}
}

// cpuProfile is a CPU profile: stacks of 10 to 40 locations, which are lines of half as many functions.
func cpuProfile(samples int) *googlev1.Profile {
	r := newSeed()
	p := &googlev1.Profile{StringTable: []string{""}, TimeNanos: 1_700_000_000_000_000_000, DurationNanos: 10e9, Period: 10e6}
	text := func(s string) int64 {
		p.StringTable = append(p.StringTable, s)
		return int64(len(p.StringTable) - 1)
	}
	cpu, nanoseconds := text("cpu"), text("nanoseconds")
	p.PeriodType = &googlev1.ValueType{Type: cpu, Unit: nanoseconds}
	p.SampleType = []*googlev1.ValueType{{Type: text("samples"), Unit: text("count")}, p.PeriodType}
	p.Mapping = []*googlev1.Mapping{{Id: 1, MemoryStart: 0x400000, MemoryLimit: 0x1a00000, Filename: text("/usr/bin/orders"), HasFunctions: true}}
	for i := range uint64(samples) {
		name := text(fmt.Sprintf("example.com/orders/internal/part%d.(*Handler%d).serve%d", i%7, i%31, i))
		p.Function = append(p.Function, &googlev1.Function{Id: i + 1, Name: name, SystemName: name, Filename: text(fmt.Sprintf("/src/orders/internal/part%d/file%d.go", i%7, i)), StartLine: r.Int64N(2000)})
	}
	for i := range uint64(2 * samples) {
		p.Location = append(p.Location, &googlev1.Location{Id: i + 1, MappingId: 1, Address: 0x400000 + r.Uint64N(0x1600000),
			Line: []*googlev1.Line{{FunctionId: i/2 + 1, Line: r.Int64N(2000)}}})
	}
	for range samples {
		stack := make([]uint64, 10+r.IntN(31))
		for i := range stack {
			stack[i] = 1 + r.Uint64N(uint64(len(p.Location)))
		}
		count := 1 + r.Int64N(20)
		p.Sample = append(p.Sample, &googlev1.Sample{LocationId: stack, Value: []int64{count, count * 10e6}})
	}
	return p
}

// describedFiles are .proto files that the program contains.
var describedFiles = []protoreflect.FileDescriptor{
	descriptorpb.File_google_protobuf_descriptor_proto, trace.File_opentelemetry_proto_trace_v1_trace_proto,
	common.File_opentelemetry_proto_common_v1_common_proto, resource.File_opentelemetry_proto_resource_v1_resource_proto,
	structpb.File_google_protobuf_struct_proto, googlev1.File_google_v1_profile_proto,
}

// descriptors are those of n files, with positions and comments in the source as a compiler notes them.
func descriptors(n int) *descriptorpb.FileDescriptorSet {
	r, set := newSeed(), new(descriptorpb.FileDescriptorSet)
	for i := range n {
		f := protodesc.ToFileDescriptorProto(describedFiles[i%len(describedFiles)])
		f.SourceCodeInfo = new(descriptorpb.SourceCodeInfo)
		for k, m := range f.MessageType {
			for at, field := range m.Field {
				path, line := []int32{4, int32(k), 2, int32(at)}, r.Int32N(1000)
				f.SourceCodeInfo.Location = append(f.SourceCodeInfo.Location, &descriptorpb.SourceCodeInfo_Location{
					Path: path, Span: []int32{line, 2, 40 + r.Int32N(40)},
					LeadingComments: proto.String(" The field " + field.GetName() + " of the message " + m.GetName() + " has a comment.\n It has two lines.\n"),
				})
				for _, part := range []int32{4, 5, 1, 3} { // label, type, name and number
					f.SourceCodeInfo.Location = append(f.SourceCodeInfo.Location, &descriptorpb.SourceCodeInfo_Location{
						Path: append(path[:4:4], part), Span: []int32{line, 4, 10 + r.Int32N(20)},
					})
				}
			}
		}
		set.File = append(set.File, f)
	}
	return set
}

// nestedStruct has n keys: half of them lists of maps, the others text.
func nestedStruct(n int) *structpb.Struct {
	fields := map[string]*structpb.Value{}
	for i := range n / 2 {
		list := new(structpb.ListValue)
		for k := range 5 {
			list.Values = append(list.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
				"id": structpb.NewNumberValue(float64(i * k)), "name": structpb.NewStringValue(fmt.Sprintf("item-%d-%d", i, k)), "ok": structpb.NewBoolValue(k%2 == 0),
			}}))
		}
		fields[fmt.Sprintf("list%d", i)] = structpb.NewListValue(list)
		fields[fmt.Sprintf("text%d", i)] = structpb.NewStringValue("some text here")
	}
	return &structpb.Struct{Fields: fields}
}
