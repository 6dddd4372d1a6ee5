// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"fmt"
	"iter"
	"strconv"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Value is a part of a document: null, a bool, a number, a string, an array or an object. It takes 16 bytes. The
// zero Value is none: Get returns it for what a document does not have, and all methods take it.
//
// A Value does not change, and is valid as long as the values of the arena that it was parsed into. Numbers are kept
// as they are written until a method asks for one.
type Value struct {
	data pointer // The first byte, Value or member.
	meta uint64  // The Kind, and the length above it.
}

// A Kind is what a Value is.
type Kind uint8

// The kinds of values.
const (
	None Kind = iota // No value.
	Null
	False
	True
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"none", "null", "false", "true", "number", "string", "array", "object"}

// String is the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

const kindBits = 3

// A member is a name in an object and its value.
type member struct {
	name  string
	value Value
}

func made(k Kind, data pointer, n int) Value { return Value{data, uint64(n)<<kindBits | uint64(k)} }

// Kind is what v is.
func (v Value) Kind() Kind { return Kind(v.meta & (1<<kindBits - 1)) }

// Len is the number of an array's elements, of an object's members, or of a string's or number's bytes. It is 0 for
// other values.
func (v Value) Len() int { return int(v.meta >> kindBits) }

// text is the string, or the number as it is written.
func (v Value) text() string {
	// SAFETY: made says what data leads to.
	return unsafex.StringOf(v.data, v.Len())
}

func (v Value) elements() []Value {
	if v.Kind() != Array {
		return nil
	}
	// SAFETY: as in text.
	return unsafex.SliceOf[Value](v.data, v.Len(), v.Len())
}

func (v Value) members() []member {
	if v.Kind() != Object {
		return nil
	}
	// SAFETY: as in text.
	return unsafex.SliceOf[member](v.data, v.Len(), v.Len())
}

// Get follows a path: a string leads to the member of that name, an int to the element at that index. If a name stands
// twice in an object, the last one counts, as it does in encoding/json. Get panics if part of the path is of another
// type.
func (v Value) Get(path ...any) Value {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.member(step)
		case int:
			v = v.Index(step)
		default:
			panic(fmt.Errorf("arenajson: Get with a %T in the path: a string names a member, an int an element", step))
		}
	}
	return v
}

func (v Value) member(name string) Value {
	m := v.members()
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].name == name {
			return m[i].value
		}
	}
	return Value{}
}

// Index is the element of an array at an index, or no value.
func (v Value) Index(i int) Value {
	if e := v.elements(); uint(i) < uint(len(e)) {
		return e[i]
	}
	return Value{}
}

// Elements are those of an array, with their indexes.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		for i, e := range v.elements() {
			if !yield(i, e) {
				return
			}
		}
	}
}

// Members are those of an object, in the order of the document.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for _, m := range v.members() {
			if !yield(m.name, m.value) {
				return
			}
		}
	}
}

// Text is the string that v is, without quotes and escapes, or "" if it is none. It is valid as long as v.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	return v.text()
}

// Number is the number that v is as it is written, or "" if it is none. It is valid as long as v.
func (v Value) Number() json.Number {
	if v.Kind() != Number {
		return ""
	}
	return json.Number(v.text())
}

// Bool reports whether v is true.
func (v Value) Bool() bool { return v.Kind() == True }

// Int is the number that v is. The error says that v is no number, is not written as an integer, or does not fit.
func (v Value) Int() (int64, error) {
	if v.Kind() != Number {
		return 0, v.wrong("an integer")
	}
	return strconv.ParseInt(v.text(), 10, 64)
}

// Uint is Int for a number without a sign.
func (v Value) Uint() (uint64, error) {
	if v.Kind() != Number {
		return 0, v.wrong("an integer")
	}
	return strconv.ParseUint(v.text(), 10, 64)
}

// Float is the number that v is, rounded to the nearest float64. The error says that v is no number or that it is out of
// range.
func (v Value) Float() (float64, error) {
	if v.Kind() != Number {
		return 0, v.wrong("a number")
	}
	needPowers()
	s := scanner{data: bytesOf(v.text())}
	if f, _, ok := s.float(0); ok {
		return f, nil
	}
	return strconv.ParseFloat(v.text(), 64)
}

func (v Value) wrong(want string) error {
	return fmt.Errorf("arenajson: the value is %s: %s", article(v.Kind()), want+" was asked for")
}

func article(k Kind) string {
	switch k {
	case None:
		return "not there"
	case Array, Object:
		return "an " + k.String()
	case Number, String:
		return "a " + k.String()
	}
	return k.String()
}

// errDeepValue is the error for a Value with too many arrays and objects in each other.
var errDeepValue = fmt.Errorf("arenajson: a Value has arrays and objects nested more than %d deep; a stale Value may even contain itself: use none after its arena is reset, rewound or freed", maxDepth)

// Any is v as encoding/json decodes it into an any: nil, bool, float64, string, []any or map[string]any, on the Go heap.
// A number out of the range of float64 becomes a json.Number. Any panics as [Value.AppendJSON] does.
func (v Value) Any() any { return v.any(maxDepth) }

// any is Any for arrays and objects that are nested at most so deep.
func (v Value) any(depth int) any {
	if depth == 0 && v.Kind() >= Array {
		panic(errDeepValue)
	}
	switch v.Kind() {
	case False, True:
		return v.Kind() == True
	case Number:
		if f, err := v.Float(); err == nil {
			return f
		}
		return json.Number([]byte(v.text()))
	case String:
		return string([]byte(v.text()))
	case Array:
		out := make([]any, v.Len())
		for i, e := range v.elements() {
			out[i] = e.any(depth - 1)
		}
		return out
	case Object:
		out := make(map[string]any, v.Len())
		for _, m := range v.members() {
			out[string([]byte(m.name))] = m.value.any(depth - 1)
		}
		return out
	}
	return nil
}

// pointer is the address of a variable that is decoded into.
type pointer = unsafex.Ptr
