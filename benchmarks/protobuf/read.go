package protobuf

import (
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The readers of the workload proto/read. They read each field of traces: of generated messages by the fields of Go, as
// programs do, and of messages of other libraries by reflection. Both return the same sum.

// readTraces is the sum of all fields of traces.
func readTraces(result any) (sum uint64) {
	m, ok := result.(*trace.TracesData)
	if !ok {
		return readByReflection(result.(proto.Message).ProtoReflect())
	}
	for _, r := range m.ResourceSpans {
		sum += readText(r.SchemaUrl)
		if r := r.Resource; r != nil {
			sum += readAttributes(r.Attributes) + uint64(r.DroppedAttributesCount)
		}
		for _, s := range r.ScopeSpans {
			sum += readText(s.SchemaUrl)
			if s := s.Scope; s != nil {
				sum += readText(s.Name) + readText(s.Version) + readAttributes(s.Attributes) + uint64(s.DroppedAttributesCount)
			}
			for _, span := range s.Spans {
				sum += readSpan(span)
			}
		}
	}
	return sum
}

func readSpan(s *trace.Span) uint64 {
	sum := readText(s.TraceId) + readText(s.SpanId) + readText(s.ParentSpanId) + readText(s.TraceState) + readText(s.Name) + uint64(s.Flags) + uint64(s.Kind) +
		s.StartTimeUnixNano + s.EndTimeUnixNano + readAttributes(s.Attributes) +
		uint64(s.DroppedAttributesCount) + uint64(s.DroppedEventsCount) + uint64(s.DroppedLinksCount)
	for _, e := range s.Events {
		sum += e.TimeUnixNano + readText(e.Name) + readAttributes(e.Attributes) + uint64(e.DroppedAttributesCount)
	}
	for _, l := range s.Links {
		sum += readText(l.TraceId) + readText(l.SpanId) + readText(l.TraceState) + readAttributes(l.Attributes) + uint64(l.DroppedAttributesCount) + uint64(l.Flags)
	}
	if t := s.Status; t != nil {
		sum += readText(t.Message) + uint64(t.Code)
	}
	return sum
}

func readAttributes(all []*common.KeyValue) (sum uint64) {
	for _, a := range all {
		sum += readText(a.Key) + uint64(a.KeyStrindex) + readValue(a.Value)
	}
	return sum
}

func readValue(v *common.AnyValue) (sum uint64) {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return readText(v.StringValue)
	case *common.AnyValue_IntValue:
		return uint64(v.IntValue)
	case *common.AnyValue_BoolValue:
		return readBool(v.BoolValue)
	case *common.AnyValue_DoubleValue:
		return uint64(v.DoubleValue)
	case *common.AnyValue_BytesValue:
		return readText(v.BytesValue)
	case *common.AnyValue_ArrayValue:
		for _, e := range v.ArrayValue.GetValues() {
			sum += readValue(e)
		}
	case *common.AnyValue_KvlistValue:
		return readAttributes(v.KvlistValue.GetValues())
	}
	return sum
}

// readText reads a string, or bytes.
func readText[S string | []byte](s S) uint64 {
	if len(s) == 0 {
		return 0
	}
	return uint64(len(s)) + uint64(s[0])<<8 + uint64(s[len(s)-1])<<16
}

func readBool(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// A messageReader is how the messages of a type are read by reflection: the descriptors are looked up once.
type messageReader struct {
	fields []fieldReader
	oneofs []protoreflect.OneofDescriptor
	choice map[protoreflect.FieldNumber]*fieldReader // The members of oneofs.
}

type fieldReader struct {
	field   protoreflect.FieldDescriptor
	message *messageReader // If the field has messages.
}

var traceReader = newMessageReader((*trace.TracesData)(nil).ProtoReflect().Descriptor(), map[protoreflect.FullName]*messageReader{})

func newMessageReader(d protoreflect.MessageDescriptor, known map[protoreflect.FullName]*messageReader) *messageReader {
	if r := known[d.FullName()]; r != nil {
		return r
	}
	r := &messageReader{choice: map[protoreflect.FieldNumber]*fieldReader{}}
	known[d.FullName()] = r
	for i := range d.Fields().Len() {
		f := fieldReader{field: d.Fields().Get(i)}
		if m := f.field.Message(); m != nil {
			f.message = newMessageReader(m, known)
		}
		if f.field.ContainingOneof() != nil {
			r.choice[f.field.Number()] = &f
		} else {
			r.fields = append(r.fields, f)
		}
	}
	for i := range d.Oneofs().Len() {
		r.oneofs = append(r.oneofs, d.Oneofs().Get(i))
	}
	return r
}

func readByReflection(m protoreflect.Message) uint64 { return traceReader.read(m) }

func (r *messageReader) read(m protoreflect.Message) (sum uint64) {
	for i := range r.fields {
		f := &r.fields[i]
		switch {
		case f.field.IsList():
			l := m.Get(f.field).List()
			for i := range l.Len() {
				sum += f.read(l.Get(i))
			}
		case f.message == nil || m.Has(f.field):
			sum += f.read(m.Get(f.field))
		}
	}
	for _, o := range r.oneofs {
		if d := m.WhichOneof(o); d != nil {
			sum += r.choice[d.Number()].read(m.Get(d))
		}
	}
	return sum
}

func (f *fieldReader) read(v protoreflect.Value) uint64 {
	switch f.field.Kind() {
	case protoreflect.MessageKind:
		return f.message.read(v.Message())
	case protoreflect.StringKind:
		return readText(v.String())
	case protoreflect.BytesKind:
		return readText(v.Bytes())
	case protoreflect.BoolKind:
		return readBool(v.Bool())
	case protoreflect.EnumKind:
		return uint64(v.Enum())
	case protoreflect.DoubleKind:
		return uint64(v.Float())
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return uint64(v.Int())
	}
	return v.Uint()
}
