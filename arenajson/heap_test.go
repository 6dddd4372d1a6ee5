// SPDX-License-Identifier: Apache-2.0

package arenajson_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/arenajson"
	"github.com/freehold-go/freehold/httparena"
)

// shopOrder has fields of each type that docs/decoding.md names.
type shopOrder struct {
	ID    int
	Names []string
	Any   any
	Sub   *shopOrder
	Go    map[string]*shopOrder
	Map   *arena.Map[string, *shopOrder]
	Maps  *arena.Map[int, []string]
}

const orderText = `{"ID":1,"Names":["a","b\n"],"Any":{"x":[1,"y",null,true]},"Sub":{"ID":2},"Go":{"k":{"ID":3}},"Map":{"m":{"ID":4,"Map":{"n":{"ID":5}}}},"Maps":{"7":["z"]}}`

// decodings has a decoding for each row of the table in docs/decoding.md that says which function
// to take. Each returns what must be copied.
var decodings = map[string]func(t *testing.T, a *arena.Arena) any{
	"Unmarshal[T](a, data)": func(t *testing.T, a *arena.Arena) any {
		return must(arenajson.Unmarshal[shopOrder](a, []byte(orderText)))(t)
	},
	"UnmarshalInto(a, data, &v)": func(t *testing.T, a *arena.Arena) any {
		var v []shopOrder
		try(t, arenajson.UnmarshalInto(a, []byte("["+orderText+"]"), &v))
		return v
	},
	"the same with a nil arena: a few objects for each document, nothing to free": func(t *testing.T, _ *arena.Arena) any {
		return must(arenajson.Unmarshal[*shopOrder](nil, []byte(orderText)))(t)
	},
	"Each[T](a, reader)": func(t *testing.T, a *arena.Arena) any {
		for v, err := range arenajson.Each[shopOrder](a, strings.NewReader(orderText)) {
			try(t, err)
			return must(arena.Heap(v))(t) // It ends with the step.
		}
		return nil
	},
	"EachElement[T](a, reader)": func(t *testing.T, a *arena.Arena) any {
		for v, err := range arenajson.EachElement[shopOrder](a, strings.NewReader("["+orderText+"]")) {
			try(t, err)
			return must(arena.Heap(v))(t)
		}
		return nil
	},
	"Parse(a, data)": func(t *testing.T, a *arena.Arena) any { return must(arenajson.Parse(a, []byte(orderText)))(t) },
	"Pick(a, data, values, paths)": func(t *testing.T, a *arena.Arena) any {
		values := make([]arenajson.Value, 2)
		try(t, arenajson.Pick(a, []byte(orderText), values, [][]string{{"Any", "x"}, {"Map"}}))
		return values
	},
	"fields of type": func(t *testing.T, a *arena.Arena) any {
		return must(arenajson.Unmarshal[*arena.Map[string, shopOrder]](a, []byte(`{"k":`+orderText+`}`)))(t)
	},
	"the option": func(t *testing.T, a *arena.Arena) any {
		return must(arenajson.Unmarshal[shopOrder](a, []byte(orderText), arenajson.Options{ValuesForAny: true}))(t)
	},
	"NewObject(a, value)": func(t *testing.T, a *arena.Arena) any {
		b := arenajson.NewObject(a, must(arenajson.Parse(a, []byte(orderText)))(t))
		b.Set("Names", must(arenajson.ArrayValue(a, must(arenajson.StringValue(a, "new"))(t)))(t))
		return []any{must(b.Value())(t)}
	},
	"httparena.DecodeJSON[T](r)": func(t *testing.T, _ *arena.Arena) any {
		var copied any
		handler := httparena.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			copied = must(arena.Heap(must(httparena.DecodeJSON[shopOrder](r))(t)))(t) // The arena ends with the request.
		}), httparena.Options{})
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(orderText)))
		return copied
	},
	"NewDecoder(a, reader)": func(t *testing.T, a *arena.Arena) any {
		var v map[string]arenajson.Value
		try(t, arenajson.NewDecoder(a, strings.NewReader(`{"a":`+orderText+`}`), arenajson.Options{ValuesForAny: true}).Decode(&v))
		return v
	},
}

// TestHeapOfEachRow: what each function of docs/decoding.md's table returns can be copied to the Go
// heap and into another arena, and stays as it was when its arena has other values.
func TestHeapOfEachRow(t *testing.T) {
	text, err := os.ReadFile("../docs/decoding.md")
	try(t, err)
	_, table, found := strings.Cut(string(text), "| you have | take |\n|---|---|\n")
	if !found {
		t.Fatal("docs/decoding.md has no such table")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) != len(decodings) {
		t.Errorf("%d rows, %d cases", len(rows), len(decodings))
	}
	for _, row := range rows {
		take := strings.TrimSpace(strings.Split(row, "|")[2])
		decode, name := decodings[take], take
		if decode == nil {
			before, code, _ := strings.Cut(take, "`")
			if name = strings.TrimSpace(before); name == "" {
				name, _, _ = strings.Cut(code, "`")
			}
			decode = decodings[name]
		}
		if decode == nil {
			t.Errorf("no case for the row %s", row)
			continue
		}
		t.Run(name, func(t *testing.T) { testCopies(t, decode) })
	}
}

func testCopies(t *testing.T, decode func(t *testing.T, a *arena.Arena) any) {
	a, other := arena.NewArena(), arena.NewArena()
	defer a.Free()
	defer other.Free()
	v := decode(t, a)
	want := plain(t, v)
	onHeap, inArena := must(arena.Heap(v))(t), must(arena.DeepClone(other, v))(t)
	for range 3 {
		a.Reset(arena.Keep)
		if _, err := arenajson.Unmarshal[[]shopOrder](a, []byte("["+strings.Repeat(orderOfOthers+",", 20)+orderOfOthers+"]")); err != nil {
			t.Fatal(err)
		}
		if _, err := arenajson.Parse(a, []byte(orderOfOthers)); err != nil {
			t.Fatal(err)
		}
	}
	for where, got := range map[string]any{"on the heap": onHeap, "in an arena": inArena} {
		if got := plain(t, got); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", where, got, want)
		}
	}
}

// orderOfOthers has the shape of orderText and other values.
var orderOfOthers = strings.NewReplacer("1", "9", "a", "q", "y", "w", "4", "8", "5", "6", "z", "v").Replace(orderText)

// plain is what encoding/json makes of a value.
func plain(t *testing.T, v any) (out any) {
	t.Helper()
	text, err := json.Marshal(v)
	try(t, err)
	try(t, json.Unmarshal(text, &out))
	return out
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		try(t, err)
		return v
	}
}

func try(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
