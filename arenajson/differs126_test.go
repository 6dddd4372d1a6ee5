// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// A difference is a document that encoding/json of Go 1.26 decodes in another way than Go 1.27. docs/decoding.md has a table of them.
type difference struct {
	doc  string
	into func() any
	want any    // The variable, or nil if the error alone differs.
	err  string // Of Go 1.27.
}

// failsOnce has a method that fails.
type failsOnce struct{ N int }

func (f *failsOnce) UnmarshalJSON([]byte) error { return errFails }

type failing1 string

func (f failing1) Error() string { return string(f) }

const errFails = failing1("it fails")

func differences() []difference {
	type fails struct {
		A failsOnce
		B int
	}
	type deep struct{ A struct{ B []struct{ C int } } }
	type embeds struct {
		A int
		M map[string]int `json:",embed"`
	}
	type strict struct {
		A int `json:",case:strict"`
	}
	type number struct {
		N json.Number `json:",string"`
	}
	type quoted struct {
		I int   `json:",string"`
		P *bool `json:",string"`
	}
	type pointed *failsOnce
	return []difference{
		{`{"1.5":1}`, func() any { return new(map[float64]int) }, &map[float64]int{1.5: 1}, ""},
		{`{"a":1}`, func() any { return new(map[any]int) }, &map[any]int{"a": 1}, ""},
		{`{"A":"bad","B":1}`, func() any { return new(fails) }, &fails{B: 1}, "it fails"},
		{`{"A":1,"x":2}`, func() any { return new(embeds) }, &embeds{1, map[string]int{"x": 2}}, ""},
		{`{"a":1}`, func() any { return new(strict) }, &strict{}, ""},
		{`{"N":12}`, func() any { return new(number) }, &number{}, "json: cannot unmarshal number into Go value of type json.Number"},
		{`1e400`, func() any { return new(any) }, func() any { var v any = 0.0; return &v }(), "json: cannot unmarshal number 1e400 into Go value of type float64"},
		{`{"A":{"B":[{},{"C":"x"}]}}`, func() any { return new(deep) }, nil, "json: cannot unmarshal string into Go struct field deep.A.B.1.C of type int"},
		{`{"I":5}`, func() any { return new(quoted) }, nil, "json: cannot unmarshal number into Go struct field quoted.I of type int"},
		{`{"P":"x"}`, func() any { return new(quoted) }, nil, `json: cannot unmarshal string "x" into Go struct field quoted.P of type bool`},
		{`5`, func() any { return new(time.Time) }, nil, "json: cannot unmarshal number into Go value of type time.Time"},
		{`5`, func() any { return new(pointed) }, nil, "it fails"},
		{`[5,"x"]`, func() any { return &[]*tone{} }, nil, "json: cannot unmarshal number into .0 of type arenajson.tone"},
	}
}

// TestDiffersFrom126: all builds decode as Go 1.27 does, where encoding/json itself is compared, and Go 1.26 differs.
func TestDiffersFrom126(t *testing.T) {
	for i, c := range differences() {
		got, std := c.into(), c.into()
		err, stdErr := UnmarshalInto(nil, []byte(c.doc), got), json.Unmarshal([]byte(c.doc), std)
		text := ""
		if e, ok := err.(*json.UnmarshalTypeError); ok {
			copied := json.UnmarshalTypeError{Value: e.Value, Type: e.Type, Offset: e.Offset, Struct: e.Struct, Field: e.Field}
			text = copied.Error() // Without the cause, which Go 1.26 has no place for.
		} else if err != nil {
			text = err.Error()
		}
		if c.want != nil && !reflect.DeepEqual(got, c.want) || text != c.err && standardIs127 || (err == nil) != (c.err == "") {
			t.Errorf("%d: %s: %s, %v, want %v, %s", i, c.doc, dump(got), err, c.want, c.err)
		}
		if same := errorsDiffer(err, stdErr) == "" && equal(got, std); same != standardIs127 {
			t.Errorf("%d: %s: encoding/json has %s, %v, we %s, %v", i, c.doc, dump(std), stdErr, dump(got), err)
		}
	}
}
