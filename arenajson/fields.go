// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A field is a field of a struct or of a struct embedded in it.
type field struct {
	// The first eight bytes of name and quote as they stand in a document, which of them count if there are fewer, and the
	// last eight if there are more.
	begin, mask, end uint64
	name             string
	plan             *plan
	offset           uintptr // In the struct; behind hops, in what the last of them points to.
	indirect         bool    // It has hops.
	text             bool    // It is a string, and not indirect.

	folds    bool  // Names in another case are the field's, too.
	skipping bool  // So are names with other dashes and underscores.
	order    int   // Breadth first: the first field counts for a name in another case.
	hops     []hop // Embedded pointers on the way.
}

// A hop is an embedded pointer to a struct.
type hop struct {
	offset     uintptr // In the struct that holds it.
	elem       *plan
	unexported bool // encoding/json does not put a new struct there.
}

// A fallback is a field with the option embed that takes any member: a map or a json.RawMessage.
type fallback struct {
	field
	raw bool
}

// A badType is a struct type with a mistake in a tag or a field.
type badType struct {
	typ reflect.Type
	err error
}

// found is a field while the rules are applied.
type found struct {
	tag
	index []int
	order int // Breadth first.
}

// methodTypes are the interfaces by which a type encodes or decodes itself.
var methodTypes = append(methodTypesFrom,
	reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.Unmarshaler](),
	reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextAppender](), reflect.TypeFor[encoding.TextUnmarshaler]())

var isZeroType = reflect.TypeFor[interface{ IsZero() bool }]()

// hasMethods reports whether values of a type, or pointers to them, encode or decode themselves.
func hasMethods(t reflect.Type) bool {
	return slices.ContainsFunc(methodTypes, func(m reflect.Type) bool {
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

// object finds the fields that a document may name.
func (c *compiler) object(t reflect.Type, r rules) *object {
	s := structSearch{seen: map[reflect.Type]bool{t: true}, queue: []embedded{{typ: t, visit: true}}}
	for len(s.queue) > 0 {
		e := s.queue[0]
		s.queue = s.queue[1:]
		e.names = make(map[string]string)
		s.fieldsOf(&e)
	}
	o := &object{refused: s.format}
	if s.bad != nil && r&goesOn == 0 {
		o.refused = s.bad
	}
	for _, f := range dominant(s.fields) {
		o.fields = append(o.fields, c.field(t, f, r))
	}
	o.names = namesOf(o.fields)
	if n := len(s.fallbacks); n == 1 || n > 1 && len(s.fallbacks[0].index) != len(s.fallbacks[1].index) {
		o.fallback = c.fallback(t, s.fallbacks[0], r)
	}
	return o
}

// embedded is a struct whose fields count as those of the outermost one.
type embedded struct {
	typ      reflect.Type
	index    []int
	visit    bool              // Structs that are embedded in it count, too. It is false if it was seen before.
	names    map[string]string // The fields by the names that documents have for them.
	fallback string            // The field that takes any member.
}

// A structSearch finds the fields of a struct and of those embedded in it, breadth first.
type structSearch struct {
	seen      map[reflect.Type]bool
	queue     []embedded
	fields    []found
	fallbacks []found
	bad       *badType // The first mistake. Version 1 overlooks it.
	format    *badType // The first field with the option format, which is not supported any more.
}

func (s *structSearch) fail(t reflect.Type, err error) {
	if s.bad == nil && err != nil {
		s.bad = &badType{t, err}
	}
}

func (s *structSearch) refuse(t reflect.Type, format string, args ...any) {
	s.fail(t, fmt.Errorf(format, args...))
}

// fieldsOf adds the fields of one struct.
func (s *structSearch) fieldsOf(e *embedded) {
	t := e.typ
	hasTag, any := false, false
	for i := range t.NumField() {
		sf := t.Field(i)
		_, has := sf.Tag.Lookup("json")
		hasTag = hasTag || has
		tag, ignored, err := tagOf(sf)
		s.fail(t, err)
		if ignored {
			continue
		}
		any = true
		f := found{tag: tag, index: append(slices.Clip(e.index), i)}
		if sf.Anonymous && !f.named {
			if pointee(sf.Type).Kind() != reflect.Struct {
				s.refuse(t, "embedded Go struct field %s of non-struct type must be explicitly given a JSON name", sf.Name)
			} else {
				f.embed = true
			}
		}
		if !f.embed || s.embeds(e, sf, &f) {
			s.member(e, sf, f)
		}
	}
	if t.NumField() > 0 && !hasTag && !any {
		s.fail(t, errors.New("Go struct has no exported fields"))
	}
}

// member adds a field for one member, if it can be decoded into.
func (s *structSearch) member(e *embedded, sf reflect.StructField, f found) {
	t := e.typ
	if !sf.IsExported() {
		in := pointee(sf.Type)
		switch {
		case !sf.Anonymous || in.Kind() != reflect.Struct:
			s.refuse(t, "Go struct field %s is not exported", sf.Name)
			return
		case hasMethods(in) || f.omitzero && reflect.PointerTo(in).Implements(isZeroType):
			s.refuse(t, "Go struct field %s is not exported for method calls", sf.Name)
			return
		}
	}
	if other, ok := e.names[f.name]; ok {
		s.refuse(t, "Go struct fields %s and %s conflict over JSON object name %q", other, sf.Name, f.name)
	}
	e.names[f.name] = sf.Name
	f.order = len(s.fields)
	s.fields = append(s.fields, f)
	if f.format != "" && s.format == nil {
		s.format = &badType{t, fmt.Errorf("Go struct field %s has unsupported `format` tag option", sf.Name)}
	}
}

// embeds adds a field with the option embed, or an embedded struct. It reports whether the field is one for a single member in truth.
func (s *structSearch) embeds(e *embedded, sf reflect.StructField, f *found) bool {
	t := e.typ
	if plain := (tag{name: f.name, embed: true}); f.tag != plain {
		s.refuse(t, "Go struct field %s cannot have any options other than `embed` specified", sf.Name)
		if f.named {
			return true
		}
		f.tag = plain
	}
	in := pointee(sf.Type)
	if in != rawType && hasMethods(in) {
		s.refuse(t, "embedded Go struct field %s of type %s must not implement marshal or unmarshal methods", sf.Name, in)
	}
	switch {
	case in.Kind() == reflect.Struct:
		if e.visit {
			s.queue = append(s.queue, embedded{typ: in, index: f.index, visit: !s.seen[in]})
		}
		s.seen[in] = true
		return false
	case !sf.IsExported():
		s.refuse(t, "embedded Go struct field %s is not exported", sf.Name)
		return false
	case in == rawType:
	case in.Kind() != reflect.Map || in.Key().Kind() != reflect.String:
		s.refuse(t, "embedded Go struct field %s of type %s must be a Go struct, Go map of string key, or jsontext.Value", sf.Name, in)
		return true
	case hasMethods(in.Key()):
		s.refuse(t, "embedded map field %s of type %s must have a string key that does not implement marshal or unmarshal methods", sf.Name, in)
		return true
	}
	if e.fallback != "" {
		s.refuse(t, "embedded Go struct fields %s and %s cannot both be a Go map or jsontext.Value", e.fallback, sf.Name)
	}
	e.fallback = sf.Name
	s.fallbacks = append(s.fallbacks, *f)
	return false
}

// dominant leaves, of the fields of one name, the one that hides the others, if there is one: the one that is embedded less deeply,
// or else the one whose name its tag gives. The fields stand in the order of the struct then.
func dominant(all []found) []found {
	rank := func(a, b found) int {
		switch c := cmp.Compare(len(a.index), len(b.index)); {
		case c != 0 || a.named == b.named:
			return c
		case a.named:
			return -1
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Or(strings.Compare(a.name, b.name), rank(a, b)) })
	var out []found
	for i, n := 0, 0; i < len(all); i = n {
		for n = i + 1; n < len(all) && all[n].name == all[i].name; n++ {
		}
		if n == i+1 || rank(all[i], all[i+1]) != 0 {
			out = append(out, all[i])
		}
	}
	slices.SortFunc(out, func(a, b found) int { return slices.Compare(a.index, b.index) })
	return out
}

// place is where the field with an index lies in t.
func (c *compiler) place(t reflect.Type, index []int, r rules) (f field, typ reflect.Type) {
	exported := true
	for _, at := range index {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
			f.hops = append(f.hops, hop{offset: f.offset, elem: c.plan(t, r), unexported: !exported})
			f.offset = 0
		}
		sf := t.Field(at)
		exported = sf.IsExported()
		f.offset += sf.Offset
		t = sf.Type
	}
	if t.Kind() == reflect.Pointer && !exported { // An embedded pointer with a name in its tag, which cannot be set.
		t = t.Elem()
		f.hops = append(f.hops, hop{offset: f.offset, elem: c.plan(t, r), unexported: true})
		f.offset = 0
	}
	f.indirect = f.hops != nil
	return f, t
}

// field is where a field lies, and how it is decoded.
func (c *compiler) field(t reflect.Type, found found, r rules) field {
	f, typ := c.place(t, found.index, r)
	f.name, f.order = found.name, found.order
	f.folds = r&anyCase != 0 && found.casing != strictCase
	f.skipping = r&anyCase == 0 && found.casing == ignoreCase
	if found.quoted {
		r |= stringTag
	}
	f.plan = c.plan(typ, r)
	f.text = f.plan.op == opString && !f.indirect
	f.expected()
	return f
}

// expected notes how the name stands in a document.
func (f *field) expected() {
	if strings.ContainsFunc(f.name, func(r rune) bool { return r < ' ' }) {
		f.begin = 1 // With escapes: mask is 0, so that no text begins so.
		return
	}
	text := []byte(f.name + `"`)
	for i := range min(len(text), 8) {
		f.begin |= uint64(text[i]) << (8 * i)
		f.mask |= 0xff << (8 * i)
	}
	if len(text) > 8 {
		f.end = word(text, len(text)-8)
	}
}

func (c *compiler) fallback(t reflect.Type, found found, r rules) *fallback {
	f, typ := c.place(t, found.index, r)
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
		f.hops = append(f.hops, hop{offset: f.offset, elem: c.plan(typ, r)})
		f.offset = 0
	}
	f.plan = c.plan(typ, r)
	return &fallback{field: f, raw: typ == rawType}
}

// names finds the field of a struct by a name in a document: the field with exactly that name or else the first
// one whose name differs in upper and lower case only. Its table is open; the hash of a name does not depend
// on the case of its letters, so that all candidates for a name stand behind each other.
type names struct {
	slots    []nameSlot // A power of two, at least a quarter of them empty.
	shift    int
	skipping map[string]int // The fields that skip dashes and underscores, by names without, or ambiguous.
}

const ambiguous = -2

type nameSlot struct {
	hash  uint64
	field int32 // Its index, counted from 1; 0 if the slot is empty.
}

func namesOf(fields []field) names {
	size := 1 << bits.Len(uint(len(fields)*4/3))
	n := names{slots: make([]nameSlot, size), shift: 64 - bits.Len(uint(size-1))}
	for i := range fields {
		h := foldedHash([]byte(fields[i].name))
		at := n.first(h)
		for n.slots[at].field != 0 {
			at = (at + 1) % size
		}
		n.slots[at] = nameSlot{h, int32(i + 1)}
		if !fields[i].skipping {
			continue
		}
		if n.skipping == nil {
			n.skipping = make(map[string]int)
		}
		short := string(shortened(nil, []byte(fields[i].name)))
		if _, ok := n.skipping[short]; ok {
			n.skipping[short] = ambiguous
		} else {
			n.skipping[short] = i
		}
	}
	return n
}

// first is where the search for a hash begins.
func (n *names) first(hash uint64) int {
	if n.shift == 64 {
		return 0
	}
	return int(hash >> n.shift)
}

// find is the index of the field for a name, or -1, or ambiguous.
func (n *names) find(fields []field, name []byte) int {
	hash, folded := foldedHash(name), -1
	for at := n.first(hash); ; at = (at + 1) & (len(n.slots) - 1) {
		s := &n.slots[at]
		if s.field == 0 {
			if n.skipping != nil {
				if same, ok := n.skipping[string(shortened(nil, name))]; ok {
					return same
				}
			}
			return folded
		}
		if s.hash != hash {
			continue
		}
		i := int(s.field - 1)
		if fields[i].name == string(name) {
			return i
		}
		if fields[i].folds && (folded < 0 || fields[i].order < fields[folded].order) && equalFold(fields[i].name, name) {
			folded = i
		}
	}
}

const hashFactor = 0x9e3779b97f4a7c15 // 2^64 by the golden ratio.

// foldedHash is a hash of name that is equal for names that equalFold finds equal.
func foldedHash(name []byte) uint64 {
	h, i := uint64(len(name)), 0
	var high uint64
	for ; i+8 <= len(name); i += 8 {
		w := word(name, i)
		high |= w
		h = (bits.RotateLeft64(h, 29) ^ upper(w)) * hashFactor
	}
	var last uint64
	for j := i; j < len(name); j++ {
		last = last<<8 | uint64(name[j])
	}
	if (high|last)&highs != 0 {
		return foldedHash(fold(name))
	}
	h = (bits.RotateLeft64(h, 29) ^ upper(last)) * hashFactor
	return h ^ h>>32
}

// upper is w, bytes of ASCII, with small letters made large ones.
func upper(w uint64) uint64 {
	low := w &^ highs
	small := (low + (0x80-'a')*ones) &^ (low + (0x7f-'z')*ones) & highs
	return w - small>>2
}

// fold is name in ASCII if it can be: every letter is replaced by the smallest that differs from it in case
// only, which is the large letter for those of ASCII. Other letters become numbers, in ASCII too, so that
// foldedHash ends.
func fold(name []byte) []byte {
	var out []byte
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRune(name[i:])
		i += size
		r = smallest(r)
		for ; r >= utf8.RuneSelf; r >>= 6 {
			out = append(out, byte(r&0x3f))
		}
		out = append(out, byte(r))
	}
	return out
}

// shortened appends a name without its dashes and underscores, and with each letter replaced by the smallest one that differs from it
// in case only.
func shortened(out, name []byte) []byte {
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRune(name[i:])
		if i += n; r != '_' && r != '-' {
			out = utf8.AppendRune(out, smallest(r))
		}
	}
	return out
}

// smallest is the smallest of the letters that differ from r in case only.
func smallest(r rune) rune {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' {
			r -= 'a' - 'A'
		}
		return r
	}
	for {
		next := unicode.SimpleFold(r)
		if next <= r {
			return next
		}
		r = next
	}
}

// equalFold reports whether the name of a field and one in a document differ in case only. Invalid bytes are equal
// to each other, as in encoding/json.
func equalFold(field string, name []byte) bool {
	i, j := 0, 0
	for i < len(field) && j < len(name) {
		a, b := rune(field[i]), rune(name[j])
		n, m := 1, 1
		if a >= utf8.RuneSelf {
			a, n = utf8.DecodeRuneInString(field[i:])
		}
		if b >= utf8.RuneSelf {
			b, m = utf8.DecodeRune(name[j:])
		}
		if a != b && smallest(a) != smallest(b) {
			return false
		}
		i, j = i+n, j+m
	}
	return i == len(field) && j == len(name)
}
