// SPDX-License-Identifier: Apache-2.0

package arenaproto

import (
	"fmt"
	"reflect"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Report says how messages of a type are decoded.
type Report struct {
	// Messages is how many types of messages are decoded into arenas: the type itself and those that
	// it leads to.
	Messages int
	// Fallbacks are the types and fields that protobuf-go decodes, to the Go heap.
	Fallbacks []Fallback
}

// A Fallback is a field, or a type with all of its fields, that protobuf-go decodes.
type Fallback struct {
	Message protoreflect.FullName
	Field   protoreflect.Name // Empty for the whole type.
	Reason  string            // It goes on behind the name: "is a MessageSet".
}

// Prepare compiles the plans for messages of m's type, which the first message would do otherwise, and reports
// what falls back to protobuf-go, and why. It takes some 30 microseconds for each field. Extensions
// fall back always, and are not in the report.
func Prepare(m proto.Message) Report {
	var r Report
	r.add(planOf(reflect.TypeOf(m)), m.ProtoReflect().Descriptor().FullName(), make(map[*plan]bool))
	return r
}

// add adds a plan and those that it leads to.
func (r *Report) add(p *plan, name protoreflect.FullName, seen map[*plan]bool) {
	if seen[p] {
		return
	}
	seen[p] = true
	if p.foreign != "" {
		r.Fallbacks = append(r.Fallbacks, Fallback{name, "", p.foreign})
		return
	}
	r.Messages++
	var last protoreflect.FieldDescriptor
	for _, f := range p.fields {
		switch {
		case f.op == opForeign:
			if f.desc != last { // A field may have a record for each of two wire types.
				r.Fallbacks = append(r.Fallbacks, Fallback{name, f.desc.Name(), f.reason})
			}
			last = f.desc
		case f.entry != nil && f.entry.value.sub != nil:
			r.add(f.entry.value.sub, f.desc.MapValue().Message().FullName(), seen)
		case f.sub != nil:
			r.add(f.sub, f.desc.Message().FullName(), seen)
		}
	}
}

// String is the report as text: a line for all, and one for each fallback.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d types of messages are decoded into arenas", r.Messages)
	for _, f := range r.Fallbacks {
		name := string(f.Message)
		if f.Field != "" {
			name += "." + string(f.Field)
		}
		fmt.Fprintf(&b, "\n%s falls back to protobuf-go: %s", name, f.Reason)
	}
	return b.String()
}
