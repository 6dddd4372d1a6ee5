// SPDX-License-Identifier: Apache-2.0

package field

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arenajson"

	"github.com/freehold-go/freehold/sink/internal/orders"
	"github.com/freehold-go/freehold/sink/internal/race"
	"github.com/freehold-go/freehold/sink/record"
)

func mustPath(t testing.TB, text string) Path {
	p, err := ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParsePath(t *testing.T) {
	for text, want := range map[string]Path{"a": {"a"}, "a.b.c": {"a", "b", "c"}, `a\.b.c\\`: {"a.b", `c\`}, "çanta": {"çanta"}} {
		if got := mustPath(t, text); !reflect.DeepEqual(got, want) || got.Name() != want[len(want)-1] {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", ".", "a.", ".a", "a..b", `a\`, `a\n`} {
		if p, err := ParsePath(text); err == nil {
			t.Errorf("%q is %q, want an error", text, p)
		}
	}
}

var found = []struct {
	value, path, want string // Want is a kind and a text.
}{
	{`{"a":1}`, "a", "number 1"}, {`{"a":1.50e+3}`, "a", "number 1.50e+3"}, {` { "a" : "x" } `, "a", "string x"},
	{`{"a":"\u00e7\n\""}`, "a", "string ç\n\""}, {`{"a":true}`, "a", "true "}, {`{"a":false,"b":1}`, "a", "false "}, {`{"a":null}`, "a", "null "},
	{`{"b":1}`, "a", "none "}, {`{}`, "a", "none "}, {`[1]`, "a", "none "}, {`"a"`, "a", "none "}, {`1`, "a", "none "}, {`{"A":1}`, "a", "none "},
	{`{"x":{"a":1},"a":{"x":2,"b":{"c":"y"}}}`, "a.b.c", "string y"}, {`{"a":{"b":1}}`, "a.b.c", "none "}, {`{"a":[]}`, "a.b", "none "}, {`{"a":{}}`, "a.b", "none "},
	{`{"q\"{":"}","\\":[{"a":0}],"a":1}`, "a", "number 1"}, {`{"\u0061":1}`, "a", "number 1"}, {`{"a.b":1}`, `a\.b`, "number 1"},
	{`{"a":{"b":[1,{"c":"]"}]}}`, "a", "object "}, {`{"a":[1,2]}`, "a", "array "}, {"{\n\t\"z\": [1, 2],\r\n\t\"a\": -1\n}", "a", "number -1"},
	{`{"a":""}`, "a", "string "}, {`{"":{"a":1},"b":"\\\\\\","a":5}`, "a", "number 5"},
}

func TestFind(t *testing.T) {
	for name, make := range map[string]func(Path) *Finder{
		"checked":   func(p Path) *Finder { return NewFinder(true, p) },
		"unchecked": func(p Path) *Finder { return NewFinder(false, p) },
		"root":      func(p Path) *Finder { return NewRootFinder(p) },
	} {
		for _, e := range found {
			f := make(mustPath(t, e.path))
			for range 2 { // The second time with memory that was used.
				r := &record.Record{Value: []byte(e.value)}
				got, err := f.Find(r)
				if err != nil {
					t.Errorf("%s in %s: %v", e.path, e.value, err)
					continue
				}
				v := got.Value(0)
				if text := v.Kind().String() + " " + v.Text() + string(v.Number()); text != e.want {
					t.Errorf("%s: %s of %s is %q, want %q", name, e.path, e.value, text, e.want)
				}
				if r.CheckedJSON != (name != "unchecked") {
					t.Errorf("%s: the record says %v", name, r.CheckedJSON)
				}
				if (got.Root().Kind() != arenajson.None) != (name == "root") {
					t.Errorf("%s: the root is %v", name, got.Root())
				}
				got.Release()
			}
		}
	}
}

func TestNoJSON(t *testing.T) {
	for _, value := range []string{"", "x", "{", `{"a"`, `{"a":`, `{"a":"`, `{"a":"\"`, `{a:1}`, `{"b":1 "a":1}`, `{"b":{"a":1}`, `{"b":[`, `{"b":}`, `{"a":x}`, `{"a":1x}`, `{"b":,"a":1}`, "\x00"} {
		for _, checked := range []bool{true, false} {
			f := NewFinder(checked, mustPath(t, "a"))
			_, err := f.Find(&record.Record{Value: []byte(value)})
			if bad := (*record.Bad)(nil); !errors.As(err, &bad) {
				t.Errorf("checked %v: %s gives %v, want a Bad", checked, value, err)
			}
		}
	}
	// What is behind the field is looked at by a finder that checks, and by no other.
	r := &record.Record{Value: []byte(`{"a":1,x`)}
	if _, err := NewFinder(true, mustPath(t, "a")).Find(r); err == nil || r.CheckedJSON || strings.Contains(err.Error(), "x`") {
		t.Errorf("checked: %v", err)
	}
	if _, err := NewFinder(false, mustPath(t, "a")).Find(r); err != nil {
		t.Error(err)
	}
}

func TestTombstone(t *testing.T) {
	f := NewFinder(true, mustPath(t, "a"))
	for _, value := range []string{`{"a":1}`, ""} {
		r := &record.Record{Value: []byte(value)}
		if value == "" {
			r.Value = nil
		}
		got, err := f.Find(r)
		if err != nil || (got.Value(0).Kind() != arenajson.None) != (value != "") {
			t.Errorf("%q: %v, %v", value, got, err)
		}
		got.Release()
	}
}

func TestNoAllocation(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector drops what sync.Pool keeps")
	}
	value := orders.New(1).AppendValue(nil, 1)
	for _, checked := range []bool{true, false} {
		f := NewFinder(checked, mustPath(t, "event_type"), mustPath(t, "shipping_address.City"), mustPath(t, "nothing"))
		r := &record.Record{Value: value}
		if n := testing.AllocsPerRun(1000, func() {
			got, err := f.Find(r)
			if err != nil || got.Value(0).Kind() != arenajson.String || got.Value(1).Kind() != arenajson.String {
				t.Fatal(got, err)
			}
			got.Release()
		}); n != 0 {
			t.Errorf("checked %v: %v allocations", checked, n)
		}
	}
}

// All ways agree on values that are JSON without equal names, and the unchecked one accepts no less.
func FuzzFind(f *testing.F) {
	for _, e := range found {
		f.Add([]byte(e.value), "a.b")
	}
	f.Fuzz(func(t *testing.T, value []byte, path string) {
		p, err := ParsePath(path)
		if err != nil {
			return
		}
		r := record.Record{Value: append([]byte{}, value...)}
		whole, err := NewRootFinder(p).Find(&r)
		if (err == nil) != json.Valid(value) {
			t.Fatalf("%q: %v", value, err)
		}
		picked, err3 := NewFinder(true, p).Find(&record.Record{Value: value})
		if (err == nil) != (err3 == nil) || err == nil && picked.Value(0).String() != whole.Value(0).String() {
			t.Fatalf("%q in %q: %v, %v, %v", path, value, err3, picked, whole)
		}
		near, err2 := NewFinder(false, p).Find(&r)
		if err != nil {
			return
		}
		if err2 != nil {
			t.Fatalf("%q: %v", value, err2)
		}
		if a, b := whole.Value(0), near.Value(0); a.String() != b.String() && !twice(whole.Root()) {
			t.Fatalf("%q in %q: %s and %s", path, value, a, b)
		}
	})
}

// twice reports whether an object in v has a name twice.
func twice(v arenajson.Value) bool {
	names := map[string]bool{}
	for name, m := range v.Members() {
		if names[name] || twice(m) {
			return true
		}
		names[name] = true
	}
	for _, e := range v.Elements() {
		if twice(e) {
			return true
		}
	}
	return false
}

func BenchmarkFind(b *testing.B) {
	var values [][]byte
	for i := range 200 {
		values = append(values, orders.New(1).AppendValue(nil, i))
	}
	for _, checked := range []bool{true, false} {
		b.Run(map[bool]string{true: "checked", false: "unchecked"}[checked], func(b *testing.B) {
			f, r, i := NewFinder(checked, Path{"event_type"}, Path{"timestamp"}), &record.Record{}, 0
			for b.Loop() {
				r.Value = values[i%len(values)]
				got, err := f.Find(r)
				if err != nil {
					b.Fatal(err)
				}
				got.Release()
				i++
			}
		})
	}
}
