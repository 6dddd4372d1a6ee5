// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// caseV2 is a document, a variable, and what encoding/json/v2 makes of both; an error is a part of its text.
type caseV2 struct {
	doc  string
	into any
	want any // Nil if there is an error.
	err  string
}

// listV2 are the differences from version 1. v2_same_test.go compares many more documents with encoding/json/v2 itself.
func listV2() []caseV2 {
	type ignoring struct {
		A int
		B int `json:"the_b,case:ignore"`
	}
	type quotes struct {
		N *int    `json:",string"`
		F float64 `json:",string"`
	}
	type badQuotes struct {
		L []int  `json:",string"`
		S string `json:",string"`
	}
	type in struct {
		A int
		R struct{ X, Y int } `json:",embed"`
		U map[string]any     `json:",embed"`
	}
	type raw struct {
		A int
		U json.RawMessage `json:",embed"`
	}
	type format struct {
		H []byte `json:",format:hex"`
	}
	type quoted struct {
		C int `json:"'it\\'s'"`
	}
	type bytes struct{ B [2]byte }
	one := 1
	return []caseV2{
		{doc: `{"A":1,"a":2}`, into: &Other{}, want: &Other{A: 1}},
		{doc: `{"A":1}`, into: &quoted{}, err: "Go struct field C has malformed `json` tag: invalid character"},
		{doc: `{"A":1,"THE-B":2,"a":3}`, into: &ignoring{}, want: &ignoring{A: 1, B: 2}},
		{doc: `{"A":1,"A":2}`, into: &Other{}, err: `duplicate object member name "A"`},
		{doc: `{"x":{"y":1,"\u0079":2}}`, into: &Other{}, err: `duplicate object member name "y" within "/x"`},
		{doc: `{"a":1,"a":2}`, into: &map[string]int{}, err: "duplicate object member name"},
		{doc: `[{"a":[{"b":1,"b":2}]}]`, into: new(any), err: "duplicate object member name"},
		{doc: "[\"a\xff\"]", into: new([]string), err: "UTF-8"},
		{doc: "{\"x\":\"a\xff\"}", into: &Other{}, err: "UTF-8"},
		{doc: `["\ud800"]`, into: new([]string), err: "surrogate pair"},
		{doc: `["\ud83d\ude00\ufffd"]`, into: new([]string), want: &[]string{"\U0001f600\ufffd"}},
		{doc: `{"A":null}`, into: &Other{A: 1, C: 2}, want: &Other{C: 2}},
		{doc: `[1,2]`, into: &[3]int{}, err: "too few array elements"},
		{doc: `[1,2,3,4]`, into: &[3]int{}, err: "too many array elements"},
		{doc: `[{"A":1}]`, into: &[]Other{{C: 2}}, want: &[]Other{{A: 1}}},
		{doc: `{"k":{"A":1}}`, into: &map[string]Other{"k": {C: 2}, "l": {}}, want: &map[string]Other{"k": {A: 1, C: 2}, "l": {}}},
		{doc: `"AQI="`, into: new([]byte), want: &[]byte{1, 2}},
		{doc: `"AQ\nI="`, into: new([]byte), err: `illegal character '\n' at offset 2`},
		{doc: `[1,2]`, into: new([]byte), err: "JSON array into Go []uint8"},
		{doc: `{"N":"-2","F":"1.5e1"}`, into: &quotes{}, want: func() any { n := -2; return &quotes{&n, 15} }()},
		{doc: `{"N":1}`, into: &quotes{}, err: `JSON number into Go int within "/N"`},
		{doc: `{"N":"null"}`, into: &quotes{}, err: `JSON string "null" into Go int within "/N": invalid syntax`},
		{doc: `{"L":["1"]}`, into: &badQuotes{}, err: "into Go []int within \"/L\": invalid use of `string` tag option"},
		{doc: `{"S":"x"}`, into: &badQuotes{}, err: "into Go string within \"/S\": invalid use of `string` tag option"},
		{doc: `{"A":1,"X":2,"Z":[true]}`, into: &in{}, want: &in{A: 1, R: struct{ X, Y int }{X: 2}, U: map[string]any{"Z": []any{true}}}},
		{doc: `{"x":{"y": 1},"A":1,"\u0062":"\\"}`, into: &raw{U: json.RawMessage(`{"old":0}`)}, want: &raw{A: 1, U: json.RawMessage(`{"old":0,"x":{"y": 1},"\u0062":"\\"}`)}},
		{doc: `{"H":"00ff"}`, into: &format{}, err: "Go struct field H has unsupported `format` tag option"},
		{doc: `{"B":"AQI="}`, into: &bytes{}, want: &bytes{[2]byte{1, 2}}},
		{doc: `{"B":"AQ=="}`, into: &bytes{}, err: "decoded length of 1 mismatches array length of 2"},
		{doc: `{"D":5}`, into: &scalars{}, err: `into Go time.Duration within "/D": no default representation`},
		{doc: `{"I":300000000000000000000}`, into: &scalars{}, err: `JSON number 300000000000000000000 into Go int within "/I": value out of range`},
		{doc: `[1,"a",x]`, into: new([]int), err: "unmarshal JSON string into Go int"},
		{doc: `{"n":5}`, into: &map[string]any{"n": &one}, want: func() any { n := 5; return &map[string]any{"n": &n} }()},
		{doc: `{"x":5}`, into: &map[string]any{"x": "text"}, err: "unmarshal JSON number into Go"},
		{doc: `{"1":2,"01":3}`, into: &map[int]int{}, err: "01"},
		{doc: `{"0":2,"-0":3}`, into: &map[int]int{}, err: "duplicate object member name"},
		{doc: `null`, into: &loud{}, want: &loud{"<null>"}},
		{doc: `null`, into: &quiet{"old"}, want: &quiet{}},
		{doc: `5`, into: &quiet{}, err: "unmarshal JSON number into Go"},
		{doc: `"fail"`, into: &loud{}, err: "loud fails"},
		{doc: `{"A":"x"`, into: &Other{}, err: "unmarshal JSON string into Go int"},
		{doc: `{"A":1`, into: &Other{}, err: "unexpected"},
	}
}

// TestV2 decodes by version 2 what version 1 understands differently.
func TestV2(t *testing.T) {
	for _, c := range listV2() {
		for _, w := range ways {
			var a *arena.Arena
			if !w.heap {
				a = arena.NewArena()
			}
			w.opts.V2 = true
			for _, again := range listV2() { // A new variable.
				if again.doc == c.doc && reflect.TypeOf(again.into) == reflect.TypeOf(c.into) {
					c.into = again.into
				}
			}
			err := UnmarshalInto(a, []byte(c.doc), c.into, w.opts)
			switch {
			case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("%s: %T from %q: error %v, want %q", w.name, c.into, c.doc, err, c.err)
			case c.want != nil && !reflect.DeepEqual(c.into, c.want):
				t.Errorf("%s: %T from %q:\n got %s\nwant %s", w.name, c.into, c.doc, dump(c.into), dump(c.want))
			}
			a.Free()
		}
	}
}

// TestV2Errors has errors of documents with options.
func TestV2Errors(t *testing.T) {
	o := Options{V2: true}
	for doc, want := range map[string]string{`[1,]`: "invalid character", `{"T":[{"I":[1,true]}]}`: `JSON boolean into Go int within "/T/0/I/1"`} {
		v, err := Unmarshal[lists](nil, []byte(doc), o)
		if doc[0] == '[' {
			_, err = Unmarshal[[]int](nil, []byte(doc), o)
		}
		if err == nil || !strings.Contains(err.Error(), want) || v != nil {
			t.Errorf("%s: %v, %v", doc, v, err)
		}
	}
	if _, err := Unmarshal[Other](nil, []byte(`{"a":1}`), Options{V2: true, DisallowUnknownFields: true}); err == nil || !strings.Contains(err.Error(), `unknown object member name "a"`) {
		t.Error(err)
	}
	if v, err := Unmarshal[[]any](nil, []byte(`[1.50]`), Options{V2: true, UseNumber: true}); err != nil || (*v)[0] != json.Number("1.50") {
		t.Error(v, err)
	}
	if _, err := Unmarshal[any](nil, []byte(`[[[1]]]`), Options{V2: true, MaxDepth: 2}); err == nil || !strings.Contains(err.Error(), "MaxDepth") {
		t.Error(err)
	}
	if _, err := Parse(nil, []byte(`{"a":{"b":1,"b":2}}`), o); err == nil || !strings.Contains(err.Error(), "duplicate object member name") {
		t.Error(err)
	}
	if v, err := Unmarshal[anys](nil, []byte(`{"X":{"b":[1]},"L":[null]}`), Options{V2: true, ValuesForAny: true}); err != nil || v.X.(Value).Get("b", 0).Number() != "1" || v.L[0].(Value).Kind() != Null {
		t.Error(v, err)
	}
	if _, err := Unmarshal[anys](nil, []byte(`{"X":{"b":1,"b":2}}`), Options{V2: true, ValuesForAny: true}); err == nil {
		t.Error("a name stands twice in a Value")
	}
	var self any
	self = &self
	if err := UnmarshalInto(nil, []byte(`1`), self, o); err == nil || !strings.Contains(err.Error(), "itself") {
		t.Error(err)
	}
}

// TestV2ManyNames has objects with so many members that names are found by a map, and structs with many fields.
func TestV2ManyNames(t *testing.T) {
	for _, n := range []int{15, 16, 17, 5000} {
		doc := []byte(`{"x":{`)
		for i := range n {
			doc = fmt.Appendf(doc, `"n%d":{"a":%d},`, i, i)
		}
		good := append(doc[:len(doc)-1:len(doc)-1], "}}"...)
		if _, err := Unmarshal[Other](nil, good, Options{V2: true}); err != nil {
			t.Errorf("%d names: %v", n, err)
		}
		bad := append(doc[:len(doc):len(doc)], fmt.Sprintf(`"n%d":1}}`, n/2)...)
		if _, err := Unmarshal[Other](nil, bad, Options{V2: true}); err == nil {
			t.Errorf("%d names, and one twice", n)
		}
	}
	var fields []reflect.StructField
	for i := range 300 {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[int]()})
	}
	typ := reflect.StructOf(fields)
	for _, i := range []int{0, 63, 64, 255, 256, 299} {
		v := reflect.New(typ)
		if err := UnmarshalInto(nil, fmt.Appendf(nil, `{"F%d":%d,"F1":5}`, i, i), v.Interface(), Options{V2: true}); err != nil || v.Elem().Field(i).Int() != int64(i) {
			t.Error(i, err)
		}
		if err := UnmarshalInto(nil, fmt.Appendf(nil, `{"F%d":%d,"F%d":5}`, i, i, i), v.Interface(), Options{V2: true}); err == nil {
			t.Errorf("field %d twice", i)
		}
	}
}

// TestV2Limit refuses memory at each of the first allocations.
func TestV2Limit(t *testing.T) {
	doc := []byte(`{"a":{"A":1,"x":{"y":[1,2,{"z":null}]}},"b":{"A":2,"x":"` + strings.Repeat("text", 50) + `","y":[]}}`)
	refused := 0
	for limit := int64(1); ; limit += limit/8 + 16 {
		a := arena.NewArena()
		a.SetLimit(limit)
		_, err := Unmarshal[map[string]inlineMap](a, doc, Options{V2: true})
		_, err2 := Unmarshal[map[string]unknownRaw](a, doc, Options{V2: true})
		a.Free()
		if err == nil && err2 == nil {
			break
		}
		if err != nil && !errors.Is(err, offheap.ErrLimit) || err2 != nil && !errors.Is(err2, offheap.ErrLimit) {
			t.Fatalf("with a limit of %d: %v, %v", limit, err, err2)
		}
		refused++
	}
	if refused == 0 {
		t.Error("no limit refused anything")
	}
}

// TestV2RawWithoutObject decodes a member into a json.RawMessage that holds white space alone: it is an error, and the white space goes.
func TestV2RawWithoutObject(t *testing.T) {
	v := struct {
		X json.RawMessage `json:",embed"`
	}{X: json.RawMessage("\n\r\t ")}
	if err := UnmarshalInto(nil, []byte(`{"a":1}`), &v, Options{V2: true}); err == nil || len(v.X) != 0 {
		t.Errorf("got %q, %v, want nothing and an error", v.X, err)
	}
}
