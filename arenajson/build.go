// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// NullValue is null.
func NullValue() Value { return Value{meta: uint64(Null)} }

// BoolValue is true or false.
func BoolValue(v bool) Value {
	if v {
		return Value{meta: uint64(True)}
	}
	return Value{meta: uint64(False)}
}

// StringValue is a string. Its text is copied to a; with a nil a it is s itself. The error wraps [offheap.ErrLimit] if a
// limit of a refuses memory, here and in the other functions that take an arena.
func StringValue(a *arena.Arena, s string) (Value, error) { return textValue(a, String, s) }

// IntValue is an integer.
func IntValue(a *arena.Arena, n int64) (Value, error) {
	return textValue(a, Number, strconv.FormatInt(n, 10))
}

// FloatValue is a number with as many digits as it needs. NaN and the infinities are errors, because JSON has no word for
// them.
func FloatValue(a *arena.Arena, f float64) (Value, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}, fmt.Errorf("arenajson: FloatValue of %v, which JSON cannot express", f)
	}
	return textValue(a, Number, strconv.FormatFloat(f, 'g', -1, 64))
}

func textValue(a *arena.Arena, k Kind, s string) (Value, error) {
	if a != nil {
		if err := arena.Try(func() { s = arena.String(a, s) }); err != nil {
			return Value{}, err
		}
	}
	return made(k, unsafex.StringData(s), len(s)), nil
}

// ArrayValue is an array of values, which are copied to a; what they lead to is not.
func ArrayValue(a *arena.Arena, elements ...Value) (Value, error) {
	all, err := arena.TryMakeSlice[Value](a, len(elements), len(elements))
	if err != nil {
		return Value{}, err
	}
	for i, e := range elements {
		all[i] = e.orNull()
	}
	return made(Array, unsafex.DataOf(all), len(all)), nil
}

// orNull is v, or null for no value: a document has a value everywhere.
func (v Value) orNull() Value {
	if v.Kind() == None {
		return NullValue()
	}
	return v
}

// An ObjectBuilder makes an object in an arena, member by member. It serves one goroutine at a time, and is valid as long
// as the arena's values: if the arena is reset, rewound or freed after a Set, every use of the builder panics. Each call
// looks for the name among all members.
type ObjectBuilder struct {
	a       *arena.Arena
	members []member
	given   bool        // Value has returned the members, which do not change any more.
	round   arena.Round // In which the builder has last allocated; zero if it has allocated nothing.
	err     error
}

// NewObject begins an object in a, or on the Go heap if a is nil. It has the members of from, if that is an object; from does
// not change. The zero Value is none.
func NewObject(a *arena.Arena, from Value) *ObjectBuilder {
	a.Round() // Panics if a was freed: the object may get no members.
	return &ObjectBuilder{a: a, members: from.members(), given: true}
}

// Set sets the member of a name to v, and keeps its place if there is one. The name is copied. No value is null.
func (b *ObjectBuilder) Set(name string, v Value) {
	b.check("Set")
	b.set(name, v)
}

func (b *ObjectBuilder) set(name string, v Value) {
	b.own(1)
	if at := b.find(name); at >= 0 && b.err == nil {
		b.members[at].value = v.orNull()
		return
	}
	b.add(name, v)
}

// add appends a member whose name is new.
func (b *ObjectBuilder) add(name string, v Value) {
	if b.err != nil {
		return
	}
	b.err = arena.Try(func() {
		b.members = arena.Append(b.a, b.members, member{arena.String(b.a, name), v.orNull()})
	})
	b.round = b.a.Round()
}

// check panics if the arena has freed the members.
func (b *ObjectBuilder) check(op string) {
	if how := b.round.Ended(); how != "" {
		panic(fmt.Errorf("arenajson: ObjectBuilder.%s after the arena of the object was %s: begin another with NewObject after each Reset and Rewind", op, how))
	}
}

// Delete removes all members of a name.
func (b *ObjectBuilder) Delete(name string) {
	b.check("Delete")
	if b.find(name) < 0 {
		return
	}
	if b.own(0); b.err != nil {
		return
	}
	kept := b.members[:0]
	for _, m := range b.members {
		if m.name != name {
			kept = append(kept, m)
		}
	}
	b.members = kept
}

// Merge sets all members of an object, as Set does. Where both have an object under a name, these are merged likewise. Other
// values, arrays too, are replaced. A value that is no object changes nothing. An object that stands in several places is
// merged in each of them.
//
// Objects that are nested more than 10000 deep are an error, which [ObjectBuilder.Value] returns.
func (b *ObjectBuilder) Merge(v Value) {
	b.check("Merge")
	b.merge(v, maxDepth)
}

// merge is Merge for objects that are nested at most so deep.
func (b *ObjectBuilder) merge(v Value, depth int) {
	if depth == 0 {
		b.err = cmp.Or(b.err, errDeepValue)
		return
	}
	for _, m := range v.members() {
		if b.err != nil {
			return
		}
		at := b.find(m.name)
		if at < 0 || b.members[at].value.Kind() != Object || m.value.Kind() != Object {
			b.set(m.name, m.value)
			continue
		}
		inner := NewObject(b.a, b.members[at].value)
		inner.merge(m.value, depth-1)
		merged, err := inner.Value()
		if err != nil {
			b.err = err
			return
		}
		b.set(m.name, merged)
	}
}

// Value is the object as it is now; the builder can go on. The error is that of the first call for which there was no memory.
func (b *ObjectBuilder) Value() (Value, error) {
	b.check("Value")
	if b.err != nil {
		return Value{}, b.err
	}
	b.given = true
	return made(Object, unsafex.DataOf(b.members), len(b.members)), nil
}

// find is the index of the last member of a name, which is the one that counts, or -1.
func (b *ObjectBuilder) find(name string) int {
	for i := len(b.members) - 1; i >= 0; i-- {
		if b.members[i].name == name {
			return i
		}
	}
	return -1
}

// own makes the members the builder's, so that they can be changed, with room for some more.
func (b *ObjectBuilder) own(more int) {
	if !b.given || b.err != nil {
		return
	}
	var own []member
	if own, b.err = arena.TryMakeSlice[member](b.a, len(b.members), len(b.members)+more); b.err == nil {
		copy(own, b.members)
		b.members, b.given = own, false
	}
	b.round = b.a.Round()
}
