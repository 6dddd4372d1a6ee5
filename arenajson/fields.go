// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// A field is a field of a struct or of a struct embedded in it, by the rules of encoding/json.
type field struct {
	// The first eight bytes of name and quote as they stand in a document, which of them count if there are fewer, and the
	// last eight if there are more.
	begin, mask, end uint64
	name             string
	plan             *plan
	offset           uintptr // In the struct; behind hops, in what the last of them points to.
	indirect         bool    // It has hops or is quoted.
	text             bool    // It is a string, and not indirect.

	quoted bool     // Has the option string.
	hops   []hop    // Embedded pointers on the way.
	path   []string // Names of the embedded fields on the way, for errors.
}

// A hop is an embedded pointer to a struct.
type hop struct {
	offset     uintptr // In the struct that holds it.
	elem       *plan
	unexported bool // encoding/json does not put a new struct there.
}

// found is a field while the rules are applied.
type found struct {
	name   string
	tagged bool
	quoted bool
	index  []int
}

// object finds the fields that a document may name.
func (c *compiler) object(t reflect.Type) *object {
	o := &object{}
	for _, f := range fieldsOf(t) {
		o.fields = append(o.fields, c.field(t, f))
	}
	o.names = namesOf(o.fields)
	return o
}

// field is where the field f of t lies, and how it is decoded.
func (c *compiler) field(t reflect.Type, f found) field {
	out := field{name: f.name, quoted: f.quoted}
	var sf reflect.StructField
	for i, at := range f.index {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
			out.hops = append(out.hops, hop{offset: out.offset, elem: c.of(t), unexported: !sf.IsExported()})
			out.offset = 0
		}
		sf = t.Field(at)
		if i < len(f.index)-1 {
			out.path = append(out.path, sf.Name)
		}
		out.offset += sf.Offset
		t = sf.Type
	}
	switch {
	case sf.IsExported():
		out.plan = c.of(t)
	default: // An embedded struct with a name in its tag. encoding/json calls no methods of such a field.
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
			out.hops = append(out.hops, hop{offset: out.offset, elem: c.of(t), unexported: true})
			out.offset = 0
		}
		out.plan = c.plan(planKey{t, false})
	}
	out.indirect = out.quoted || out.hops != nil
	out.text = out.plan.op == opString && !out.indirect
	out.expected()
	return out
}

// expected notes how the name stands in a document.
func (f *field) expected() {
	text := []byte(f.name + `"`)
	for i := range min(len(text), 8) {
		f.begin |= uint64(text[i]) << (8 * i)
		f.mask |= 0xff << (8 * i)
	}
	if len(text) > 8 {
		f.end = word(text, len(text)-8)
	}
}

// fieldsOf are the fields of t and of the structs embedded in it, level by level: a name on a higher level
// hides the same name further down, on one level a name given by a tag hides the field's own, and two of one
// rank hide each other. They stand in the order of the struct.
func fieldsOf(t reflect.Type) []found {
	type embedded struct {
		typ   reflect.Type
		index []int
	}
	level := []embedded{{typ: t}}
	count := map[reflect.Type]int{t: 1}
	seen := make(map[reflect.Type]bool)
	var all []found
	for len(level) > 0 {
		var next []embedded
		nextCount := make(map[reflect.Type]int)
		for _, e := range level {
			if seen[e.typ] {
				continue
			}
			seen[e.typ] = true
			for i := range e.typ.NumField() {
				sf := e.typ.Field(i)
				index := append(slices.Clip(e.index), i)
				f, inner, ok := look(sf)
				switch {
				case !ok:
				case inner != nil:
					if nextCount[inner]++; nextCount[inner] == 1 {
						next = append(next, embedded{inner, index})
					}
				default:
					f.index = index
					all = append(all, f)
					if count[e.typ] > 1 { // The struct is embedded twice: its names hide each other.
						all = append(all, f)
					}
				}
			}
		}
		level, count = next, nextCount
	}
	return dominant(all)
}

// look is what a field of a struct means: a field with a name, or a struct whose fields count as those of the
// outer one, or neither.
func look(sf reflect.StructField) (f found, inner reflect.Type, ok bool) {
	if sf.Anonymous {
		t := sf.Type
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if !sf.IsExported() && t.Kind() != reflect.Struct {
			return f, nil, false
		}
	} else if !sf.IsExported() {
		return f, nil, false
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return f, nil, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = ""
	}
	t := sf.Type
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name == "" && sf.Anonymous && t.Kind() == reflect.Struct {
		return f, t, true
	}
	f = found{name: name, tagged: name != ""}
	if name == "" {
		f.name = sf.Name
	}
	if slices.Contains(strings.Split(options, ","), "string") {
		f.quoted = quotable(t.Kind())
	}
	return f, nil, true
}

// quotable reports whether the option string concerns values of a kind.
func quotable(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}

// validName reports whether a tag gives a name.
func validName(s string) bool {
	for _, c := range s {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return s != ""
}

// dominant leaves, of the fields of one name, the one that hides the others, if there is one.
func dominant(all []found) []found {
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(strings.Compare(a.name, b.name), rank(a, b), slices.Compare(a.index, b.index))
	})
	var out []found
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n].name == all[i].name {
			n++
		}
		if n == i+1 || rank(all[i], all[i+1]) != 0 {
			out = append(out, all[i])
		}
		i = n
	}
	slices.SortFunc(out, func(a, b found) int { return slices.Compare(a.index, b.index) })
	return out
}

// rank orders fields of one name: the one that is embedded less deeply first, then the tagged one.
func rank(a, b found) int {
	if c := cmp.Compare(len(a.index), len(b.index)); c != 0 || a.tagged == b.tagged {
		return c
	}
	if a.tagged {
		return -1
	}
	return 1
}
