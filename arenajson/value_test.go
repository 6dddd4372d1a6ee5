// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// TestParse parses all documents, and compares the trees with what encoding/json decodes into an any.
func TestParse(t *testing.T) {
	for _, doc := range documents {
		var want any
		wantErr := json.Unmarshal([]byte(doc), &want)
		if _, ok := wantErr.(*json.UnmarshalTypeError); ok { // A number out of range; a Value keeps it as it is written.
			continue
		}
		for _, w := range ways {
			var a *arena.Arena
			if !w.heap {
				a = arena.NewArena()
			}
			v, err := Parse(a, []byte(doc), w.opts)
			if d := errorsDiffer(err, wantErr); d != "" {
				t.Errorf("%s: %.80q: %s", w.name, doc, d)
				continue
			}
			if err != nil {
				if v != (Value{}) {
					t.Errorf("%s: %.80q: a value and %v", w.name, doc, err)
				}
				continue
			}
			if got := v.Any(); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %.80q:\n got %v\nwant %v", w.name, doc, got, want)
			}
			if again, err := Parse(a, v.AppendJSON(nil)); err != nil || !reflect.DeepEqual(again.Any(), want) {
				t.Errorf("%s: %.80q: as JSON again %s, %v", w.name, doc, v, err)
			}
			a.Free()
		}
	}
}

// TestValue asks a tree for its parts.
func TestValue(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	v, err := Parse(a, []byte(`{"name":"n\u00e4me","list":[1,-2.5,"x",[true,false,null]],"o":{"b":1,"a":2,"b":3},"big":18446744073709551615,"far":1e999}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Get("name").Text(); got != "näme" {
		t.Errorf("name is %q", got)
	}
	if n, err := v.Get("list", 0).Int(); n != 1 || err != nil {
		t.Errorf("list[0] is %d, %v", n, err)
	}
	if f, err := v.Get("list", 1).Float(); f != -2.5 || err != nil {
		t.Errorf("list[1] is %v, %v", f, err)
	}
	if _, err := v.Get("list", 1).Int(); err == nil {
		t.Error("-2.5 is an integer")
	}
	if u, err := v.Get("big").Uint(); u != 1<<64-1 || err != nil {
		t.Errorf("big is %d, %v", u, err)
	}
	if _, err := v.Get("far").Float(); err == nil {
		t.Error("1e999 is in range")
	}
	if n := v.Get("far").Number(); n != "1e999" {
		t.Errorf("far is written %q", n)
	}
	if !v.Get("list", 3, 0).Bool() || v.Get("list", 3, 1).Bool() || v.Get("list", 3, 2).Kind() != Null {
		t.Errorf("list[3] is %s", v.Get("list", 3))
	}
	for _, path := range [][]any{{"no"}, {"list", 4}, {"list", -1}, {"name", "x"}, {"o", 0}, {"no", "no", 1}} {
		if got := v.Get(path...); got != (Value{}) || got.Kind() != None || got.Len() != 0 || got.Text() != "" {
			t.Errorf("%v is %s", path, got)
		}
	}
	if n, _ := v.Get("o", "b").Int(); n != 3 {
		t.Errorf("of two members of a name, the last one counts: %d", n)
	}
	var names []string
	for name := range v.Get("o").Members() {
		names = append(names, name)
	}
	if !slices.Equal(names, []string{"b", "a", "b"}) {
		t.Errorf("members %v", names)
	}
	if n := len(maps.Collect(v.Get("list").Elements())); n != 4 {
		t.Errorf("%d elements", n)
	}
	if got := v.String(); got != `{"name":"näme","list":[1,-2.5,"x",[true,false,null]],"o":{"b":1,"a":2,"b":3},"big":18446744073709551615,"far":1e999}` {
		t.Errorf("as JSON: %s", got)
	}
	if m, err := As[map[string]int](a, v.Get("o")); err != nil || (*m)["b"] != 3 {
		t.Errorf("As: %v, %v", m, err)
	}
	if b, err := json.Marshal(map[string]any{"v": v.Get("list", 3)}); err != nil || string(b) != `{"v":[true,false,null]}` {
		t.Errorf("Marshal: %s, %v", b, err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a float in a path does not panic")
			}
		}()
		v.Get(1.5)
	}()
}

// TestAppendText holds our strings against those of encoding/json without its escapes for web pages.
func TestAppendText(t *testing.T) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\b\f\x00\x1f\x7f", "ä日\U0001f600", "\xff\xc3(", "\u2028<>&"} {
		var back string
		if err := json.Unmarshal(appendText(nil, s), &back); err != nil || back != string([]rune(s)) {
			t.Errorf("%q is %s: back %q, %v", s, appendText(nil, s), back, err)
		}
	}
}
