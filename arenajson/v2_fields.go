// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// An objectV2 is what encoding/json/v2 adds to an object.
type objectV2 struct {
	err      error          // Why no object can be decoded into the struct.
	ignoring map[string]int // The fields with case:ignore, by their folded names.
	fallback *fallback      // Where unknown members go.
}

// A fallback is a field with the option inline or unknown that takes any member: a map or a json.RawMessage.
type fallback struct {
	field
	unknown bool
	raw     bool
}

// A foundV2 is a field while the rules are applied.
type foundV2 struct {
	tagV2
	index []int
	order int // Breadth first.
}

// methodTypesV2 are the interfaces by which a type encodes or decodes itself.
var methodTypesV2 = []reflect.Type{
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextAppender](), reflect.TypeFor[encoding.TextUnmarshaler](),
}

// hasMethods reports whether values of a type, or pointers to them, encode or decode themselves.
func hasMethods(t reflect.Type) bool {
	return slices.ContainsFunc(methodTypesV2, func(m reflect.Type) bool {
		return t.Implements(m) || reflect.PointerTo(t).Implements(m)
	})
}

// pointee is what a pointer type without a name points to, or the type itself.
func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		return t.Elem()
	}
	return t
}

// object finds the fields that a document may name. quoted is the option string of a field around the struct.
func (c *compilerV2) object(t reflect.Type, quoted bool) (*object, *objectV2) {
	s := structSearch{seen: map[reflect.Type]bool{t: true}, queue: []embeddedV2{{typ: t, visit: true}}}
	for len(s.queue) > 0 {
		e := s.queue[0]
		s.queue = s.queue[1:]
		s.fieldsOf(e)
	}
	o, v2 := &object{}, &objectV2{err: s.err, ignoring: map[string]int{}}
	byOrder := dominantV2(s.fields)
	all := slices.SortedFunc(slices.Values(byOrder), func(a, b foundV2) int { return slices.Compare(a.index, b.index) })
	for _, f := range all {
		o.fields = append(o.fields, c.field(t, f, quoted))
	}
	o.names = namesOf(o.fields)
	for _, f := range byOrder {
		folded := string(foldV2(nil, []byte(f.name)))
		if _, ok := v2.ignoring[folded]; !ok && f.ignoreCase {
			v2.ignoring[folded] = slices.IndexFunc(all, func(g foundV2) bool { return g.order == f.order })
		}
	}
	if n := len(s.fallbacks); n == 1 || n > 1 && len(s.fallbacks[0].index) != len(s.fallbacks[1].index) {
		v2.fallback = c.fallback(t, s.fallbacks[0], quoted)
	}
	return o, v2
}

// embeddedV2 is a struct whose fields count as those of the outermost one.
type embeddedV2 struct {
	typ   reflect.Type
	index []int
	visit bool // Structs that are embedded in it count, too. It is false if it was seen before.
}

// A structSearch finds the fields of a struct and of those embedded in it, breadth first.
type structSearch struct {
	seen      map[reflect.Type]bool
	queue     []embeddedV2
	fields    []foundV2
	fallbacks []foundV2
	err       error
}

func (s *structSearch) fail(t reflect.Type, err error) {
	if s.err == nil && err != nil {
		s.err = fmt.Errorf("arenajson: the struct type %v: %w", t, err)
	}
}

func (s *structSearch) refuse(t reflect.Type, format string, args ...any) {
	s.fail(t, fmt.Errorf(format, args...))
}

// fieldsOf adds the fields of one struct.
func (s *structSearch) fieldsOf(e embeddedV2) {
	t := e.typ
	names, fallback := make(map[string]string), ""
	tagged, any := false, false
	for i := range t.NumField() {
		sf := t.Field(i)
		_, has := sf.Tag.Lookup("json")
		tagged = tagged || has
		tag, ignored, err := tagOf(sf)
		s.fail(t, err)
		if ignored {
			continue
		}
		any = true
		f := foundV2{tagV2: tag, index: append(slices.Clip(e.index), i)}
		if sf.Anonymous && !f.named {
			if pointee(sf.Type).Kind() != reflect.Struct {
				s.refuse(t, "the embedded field %s is no struct, so it needs a name in its tag", sf.Name)
			} else {
				f.inline = true
			}
		}
		if f.inline || f.unknown {
			if s.inlined(e, sf, f) {
				if fallback != "" {
					s.refuse(t, "the fields %s and %s both take any member; there can be one", fallback, sf.Name)
				}
				fallback = sf.Name
			}
			continue
		}
		if !s.usable(t, sf, f) {
			continue
		}
		if other, ok := names[f.name]; ok {
			s.refuse(t, "the fields %s and %s both have the name %q", other, sf.Name, f.name)
		}
		names[f.name] = sf.Name
		f.order = len(s.fields)
		s.fields = append(s.fields, f)
	}
	if t.NumField() > 0 && !tagged && !any {
		s.fail(t, errors.New("it has no exported fields"))
	}
}

// usable reports whether a field that is not inlined can be decoded into.
func (s *structSearch) usable(t reflect.Type, sf reflect.StructField, f foundV2) bool {
	if sf.IsExported() {
		return true
	}
	in := pointee(sf.Type)
	if !sf.Anonymous || in.Kind() != reflect.Struct {
		s.refuse(t, "the field %s is not exported", sf.Name)
		return false
	}
	if hasMethods(in) || f.omitzero && hasIsZero(in) {
		s.refuse(t, "the field %s is not exported, so its methods cannot be called", sf.Name)
		return false
	}
	return true
}

func hasIsZero(t reflect.Type) bool {
	type isZero interface{ IsZero() bool }
	return reflect.PointerTo(t).Implements(reflect.TypeFor[isZero]())
}

// inlined adds a field with the option inline or unknown, or an embedded struct. It reports whether it takes any member.
func (s *structSearch) inlined(e embeddedV2, sf reflect.StructField, f foundV2) bool {
	t := e.typ
	plain := tagV2{name: f.name, inline: f.inline, unknown: f.unknown}
	if f.tagV2 != plain {
		s.refuse(t, "the field %s has another option or a name beside inline or unknown", sf.Name)
		if f.named {
			return false
		}
		f.tagV2 = plain
	}
	if f.inline && f.unknown {
		s.refuse(t, "the field %s has both inline and unknown", sf.Name)
		f.inline = false
	}
	in := pointee(sf.Type)
	if in != rawType && hasMethods(in) {
		s.refuse(t, "the field %s is inlined, and its type %v encodes or decodes itself", sf.Name, in)
	}
	switch {
	case in.Kind() == reflect.Struct && f.unknown:
		s.refuse(t, "the field %s with the option unknown is a struct; it must be a map with string keys or a json.RawMessage", sf.Name)
	case in.Kind() == reflect.Struct:
		if e.visit {
			s.queue = append(s.queue, embeddedV2{in, f.index, !s.seen[in]})
		}
		s.seen[in] = true
	case !sf.IsExported():
		s.refuse(t, "the inlined field %s is not exported", sf.Name)
	case in == rawType:
		s.fallbacks = append(s.fallbacks, f)
		return true
	case in.Kind() != reflect.Map || in.Key().Kind() != reflect.String:
		s.refuse(t, "the inlined field %s is a %v; it must be a struct, a map with string keys or a json.RawMessage", sf.Name, in)
	case hasMethods(in.Key()):
		s.refuse(t, "the inlined field %s is a map whose keys encode or decode themselves", sf.Name)
	default:
		s.fallbacks = append(s.fallbacks, f)
		return true
	}
	return false
}

// dominantV2 leaves, of the fields of one name, the one that hides the others, if there is one. The order is breadth first.
func dominantV2(all []foundV2) []foundV2 {
	rank := func(a, b foundV2) int {
		return cmp.Or(cmp.Compare(len(a.index), len(b.index)), cmp.Compare(btoi(b.named), btoi(a.named)))
	}
	slices.SortStableFunc(all, func(a, b foundV2) int { return cmp.Or(strings.Compare(a.name, b.name), rank(a, b)) })
	var out []foundV2
	for i, n := 0, 0; i < len(all); i = n {
		for n = i + 1; n < len(all) && all[n].name == all[i].name; n++ {
		}
		if n == i+1 || rank(all[i], all[i+1]) != 0 {
			out = append(out, all[i])
		}
	}
	slices.SortFunc(out, func(a, b foundV2) int { return cmp.Compare(a.order, b.order) })
	return out
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// place is where the field with an index lies in t.
func (c *compilerV2) place(t reflect.Type, index []int) (f field, typ reflect.Type) {
	exported := true
	for i, at := range index {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
			f.hops = append(f.hops, hop{offset: f.offset, elem: c.plan(keyV2{typ: t}), unexported: !exported})
			f.offset = 0
		}
		sf := t.Field(at)
		exported = sf.IsExported()
		if i < len(index)-1 {
			f.path = append(f.path, sf.Name)
		}
		f.offset += sf.Offset
		t = sf.Type
	}
	if t.Kind() == reflect.Pointer && !exported { // An embedded pointer with a name in its tag, which cannot be set.
		t = t.Elem()
		f.hops = append(f.hops, hop{offset: f.offset, elem: c.plan(keyV2{typ: t}), unexported: true})
		f.offset = 0
	}
	f.indirect = f.hops != nil
	return f, t
}

func (c *compilerV2) field(t reflect.Type, found foundV2, quoted bool) field {
	f, typ := c.place(t, found.index)
	f.name = found.name
	f.plan = c.plan(keyV2{typ, quoted || found.stringNumber, found.format})
	f.expected()
	if strings.ContainsFunc(f.name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }) {
		f.begin, f.mask = 1, 0 // Documents write the name with escapes.
	}
	return f
}

func (c *compilerV2) fallback(t reflect.Type, found foundV2, quoted bool) *fallback {
	f, typ := c.place(t, found.index)
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
		f.hops = append(f.hops, hop{offset: f.offset, elem: c.plan(keyV2{typ: typ})})
		f.offset = 0
	}
	f.plan = c.plan(keyV2{typ: typ, quoted: quoted})
	return &fallback{field: f, unknown: found.unknown, raw: typ == rawType}
}
