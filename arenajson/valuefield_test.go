// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// valued has Values in all places that a type can have.
type valued struct {
	ID    int
	V     Value
	P     *Value
	L     []Value
	A     [2]Value
	M     map[string]Value
	N     *arena.Map[string, Value]
	Inner struct{ V Value }
	X     any
}

// valuedDocument has a value of each kind in each of the places.
func valuedDocuments() (docs []string) {
	for _, v := range []string{`{"a":[1,{"b":null}],"c":"d\u00e9"}`, `[1,"x",[],{}]`, `"text \" \ud83d\ude00"`, `-12.50e+3`, `true`, `false`, `null`, `{}`, `[]`, `""`} {
		docs = append(docs, strings.ReplaceAll(`{"ID":7,"V":#,"P":#,"L":[#,#,null],"A":[#,#],"M":{"k":#,"l":#},"N":{"k":#},"Inner":{"V":#}}`, "#", v))
	}
	return docs
}

// written is what the Values are as JSON.
func (v *valued) written(t *testing.T) string {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestValueFields decodes parts of documents into fields of type Value, by both versions, from bytes and from streams, and encodes them again.
func TestValueFields(t *testing.T) {
	for _, doc := range valuedDocuments() {
		var plain map[string]any
		if err := json.Unmarshal([]byte(doc), &plain); err != nil {
			t.Fatal(err)
		}
		for _, w := range ways {
			for _, v2 := range []bool{false, true} {
				var a *arena.Arena
				if !w.heap {
					a = arena.NewArena()
				}
				w.opts.V2 = v2
				v, err := Unmarshal[valued](a, []byte(doc), w.opts)
				if err != nil || v.ID != 7 || v.V.Kind() == None || v.L[2].Kind() != Null || v.Inner.V.Kind() != v.A[1].Kind() {
					t.Fatalf("%s, %t: %s: %+v, %v", w.name, v2, doc, v, err)
				}
				if n, ok := v.N.Get("k"); !ok || n.String() != v.V.String() || v.M["l"].String() != v.V.String() || v.V.Kind() != Null && v.P.String() != v.V.String() {
					t.Errorf("%s, %t: %s: %v, %v, %v", w.name, v2, doc, n, v.M, v.P)
				}
				text := v.written(t)
				var again map[string]any
				if err := json.Unmarshal([]byte(text), &again); err != nil || !equalJSON(plain, again) {
					t.Errorf("%s, %t: %s became %s, %v", w.name, v2, doc, text, err)
				}
				back, err := Unmarshal[valued](a, []byte(text), w.opts)
				if err != nil || back.written(t) != text {
					t.Errorf("%s, %t: %s came back as %+v, %v", w.name, v2, text, back, err)
				}
				for v, err := range Each[valued](a, strings.NewReader(doc+"\n"+doc), w.opts) {
					if err != nil || v.written(t) != text {
						t.Errorf("%s, %t: Each of %s: %+v, %v", w.name, v2, doc, v, err)
					}
				}
				var decoded valued
				if err := NewDecoder(a, strings.NewReader(doc), w.opts).Decode(&decoded); err != nil || decoded.written(t) != text {
					t.Errorf("%s, %t: a Decoder of %s: %+v, %v", w.name, v2, doc, decoded, err)
				}
				a.Free()
			}
		}
	}
}

// equalJSON compares what encoding/json makes of a document with what it makes of another one that lacks no member but null.
func equalJSON(plain, again map[string]any) bool {
	for name, v := range plain {
		a, _ := json.Marshal(v)
		b, _ := json.Marshal(again[name])
		if string(a) != string(b) {
			return false
		}
	}
	return true
}

// TestValueByStandard: encoding/json decodes into a Value, on the Go heap, what Value.MarshalJSON has written.
func TestValueByStandard(t *testing.T) {
	for _, doc := range valuedDocuments() {
		type standard struct {
			ID    int
			V     Value
			L     []Value
			M     map[string]Value
			Inner struct{ V Value }
		}
		var v, again standard
		if err := json.Unmarshal([]byte(doc), &v); err != nil || v.V.Kind() == None {
			t.Fatalf("%s: %+v, %v", doc, v, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil || again.V.String() != v.V.String() || again.M["k"].String() != v.V.String() || again.L[0].String() != v.V.String() {
			t.Errorf("%s: %+v, %v", text, again, err)
		}
	}
	old, _ := Parse(nil, []byte(`"old"`))
	if err := old.UnmarshalJSON([]byte(`{"a":`)); err == nil || old.Text() != "old" {
		t.Errorf("%v, %v", old, err)
	}
}

// TestValueFieldsRefuse: version 2 refuses in a Value what it refuses elsewhere, and limits hold.
func TestValueFieldsRefuse(t *testing.T) {
	for _, doc := range []string{`{"V":{"a":1,"a":2}}`, `{"L":["\ud800"]}`, "{\"M\":{\"k\":[\"\xff\"]}}"} {
		if _, err := Unmarshal[valued](nil, []byte(doc), Options{V2: true}); err == nil {
			t.Errorf("%s: no error", doc)
		}
		if _, err := Unmarshal[valued](nil, []byte(doc)); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
	a := arena.NewArena()
	defer a.Free()
	a.SetLimit(1 << 16)
	if _, err := Unmarshal[valued](a, []byte(`{"V":[`+strings.Repeat("{},", 1<<14)+`0]}`)); err == nil {
		t.Error("a limit refuses nothing")
	}
}
