// SPDX-License-Identifier: Apache-2.0

package protobuf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Type has the tables of a message. Its methods may be called by several goroutines at once. It implements record.Schema.
type Type struct {
	set        *Set
	name       protoreflect.FullName
	known      wellKnown
	fields     []field       // in the order in which protojson writes them
	dense      []int32       // index+1 in fields by number, for small numbers
	sparse     map[int32]int // index by number, for the others
	byName     map[string]int
	oneofs     int
	required   bool // A field of the message itself is required.
	messageSet bool
}

// A field is one of a message, or the key or value of a map.
type field struct {
	number   protowire.Number
	kind     protoreflect.Kind
	wire     protowire.Type // of one value
	list     bool
	packable bool
	entry    *[2]field // of a map: key and value
	presence bool
	required bool
	utf8     bool // Text must be UTF-8 even if it is not used.
	oneof    int  // number of the oneof from 1 on, or 0
	name     string
	member   []byte // the name as a member of an object, with the colon
	message  *Type  // of a message or group
	enum     *enum
}

// An enum has the names of numbers, as JSON.
type enum struct {
	null  bool // google.protobuf.NullValue
	names map[int32][]byte
}

// FullName is the name of the message.
func (t *Type) FullName() string { return string(t.name) }

// most is the largest number whose field is found in a slice.
const most = 512

// compile makes the tables of a message and of all that its fields lead to.
func (s *Set) compile(m protoreflect.MessageDescriptor) (*Type, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.types[m.FullName()]; t != nil {
		return t, nil
	}
	// If one of the messages cannot be compiled, none is kept: another may lead to it.
	before := maps.Clone(s.types)
	t, err := s.message(m)
	if err != nil {
		s.types = before
		return nil, fmt.Errorf("protobuf: %w", err)
	}
	return t, nil
}

func (s *Set) message(m protoreflect.MessageDescriptor) (*Type, error) {
	if t := s.types[m.FullName()]; t != nil {
		return t, nil
	}
	t := &Type{set: s, name: m.FullName(), sparse: map[int32]int{}, byName: map[string]int{}}
	s.types[m.FullName()] = t
	var err error
	if t.known, err = knownType(m); err != nil {
		return nil, err
	}
	t.messageSet = isMessageSet(m)
	oneofs := map[protoreflect.FullName]int{}
	add := func(d protoreflect.FieldDescriptor) error {
		f, err := s.field(d)
		if o := d.ContainingOneof(); o != nil && !o.IsSynthetic() {
			if oneofs[o.FullName()] == 0 {
				oneofs[o.FullName()] = len(oneofs) + 1
			}
			f.oneof = oneofs[o.FullName()]
		}
		t.required = t.required || f.required
		t.fields = append(t.fields, f)
		return err
	}
	for i := range m.Fields().Len() {
		err = errors.Join(err, add(m.Fields().Get(i)))
	}
	extensions := slices.Clone(s.extensions[m.FullName()])
	slices.SortFunc(extensions, func(a, b protoreflect.ExtensionDescriptor) int { return cmp.Compare(a.FullName(), b.FullName()) })
	for _, x := range extensions {
		err = errors.Join(err, add(x))
	}
	t.oneofs = len(oneofs)
	t.index(m)
	return t, err
}

// index makes what finds fields by number and name.
func (t *Type) index(m protoreflect.MessageDescriptor) {
	for i := range t.fields {
		f := &t.fields[i]
		t.byName[f.name] = i
		if f.number > most {
			t.sparse[int32(f.number)] = i
			continue
		}
		for int(f.number) >= len(t.dense) {
			t.dense = append(t.dense, 0)
		}
		t.dense[f.number] = int32(i + 1)
	}
	// Paths may have the names of the .proto file and those of JSON. If they contradict each other, the former counts.
	for i := range m.Fields().Len() {
		if d := m.Fields().Get(i); m.Fields().ByName(protoreflect.Name(d.JSONName())) == nil {
			t.byName[d.JSONName()] = i
		}
	}
	for i := range m.Fields().Len() {
		t.byName[string(m.Fields().Get(i).Name())] = i
	}
}

// find is the index of the field with a number, or -1.
func (t *Type) find(n protowire.Number) int {
	if int(n) < len(t.dense) {
		return int(t.dense[n]) - 1
	}
	if i, ok := t.sparse[int32(n)]; ok {
		return i
	}
	return -1
}

func (s *Set) field(d protoreflect.FieldDescriptor) (field, error) {
	f := field{number: d.Number(), kind: d.Kind(), wire: wireOf(d.Kind()), list: d.IsList(), presence: d.HasPresence(), required: d.Cardinality() == protoreflect.Required, utf8: enforced(d), name: d.JSONName()}
	if s.o.ProtoNames {
		f.name = d.TextName()
	}
	f.packable = f.list && f.wire != protowire.BytesType && f.wire != protowire.StartGroupType
	name, err := json.Marshal(f.name)
	if err != nil {
		return f, err
	}
	f.member = append(name, ':')
	switch {
	case d.IsMap():
		key, keyErr := s.field(d.MapKey())
		value, valueErr := s.field(d.MapValue())
		f.entry = &[2]field{key, value}
		return f, errors.Join(keyErr, valueErr)
	case d.Message() != nil:
		f.message, err = s.message(d.Message())
	case d.Enum() != nil:
		f.enum = enumOf(d)
	}
	return f, err
}

func enumOf(d protoreflect.FieldDescriptor) *enum {
	all := d.Enum().Values()
	e := &enum{null: d.Enum().FullName() == "google.protobuf.NullValue", names: map[int32][]byte{}}
	for i := range all.Len() {
		n := all.Get(i).Number()
		if e.names[int32(n)] == nil { // Of numbers with several names the first counts.
			e.names[int32(n)] = fmt.Appendf(nil, "%q", all.ByNumber(n).Name())
		}
	}
	return e
}

// enforced is what protobuf-go holds: fields of extensions follow the syntax of their file.
func enforced(d protoreflect.FieldDescriptor) bool {
	if d.Syntax() == protoreflect.Editions {
		if f, ok := d.(interface{ EnforceUTF8() bool }); ok && !d.IsExtension() {
			return f.EnforceUTF8()
		}
	}
	return d.Syntax() == protoreflect.Proto3
}

func isMessageSet(m protoreflect.MessageDescriptor) bool {
	set, ok := m.(interface{ IsMessageSet() bool })
	return ok && set.IsMessageSet()
}

func wireOf(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}

// takes reports whether values of the field have this type on the wire. Others are unknown.
func (f *field) takes(w protowire.Type) bool {
	return w == f.wire || f.packable && w == protowire.BytesType
}
