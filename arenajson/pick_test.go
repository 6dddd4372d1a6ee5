// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

var pickDocuments = []string{
	``, ` `, `x`, `{`, `{}`, ` { } `, `[]`, `1`, `"a"`, `null`, `{"a":1}`, `{"a":1}x`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{"a" : 1 , "b" :2}`, `{a:1}`, `{"b":tru}`, `{"b":[1,{"a":}]}`,
	`{"a":1,"a":2}`, `{"a":{"b":1},"a":{}}`, `{"a":{"b":1},"a":3}`, `{"a":{"b":1,"b":{"c":"x"}}}`, `{"a":{"b":{"c":[1,2,{"d":null}]}},"b":"\u00e7\n"}`, `{"x":{"a":1,"b":2},"b":true}`,
	`{"\u0061":1}`, `{"\u0061":1,"a":2}`, `{"a":1,"\u0061":{"b":5}}`, `{"a\"":1,"a":[]}`, "{\"\xff\":1}", "{\"\xff\":1,\"\ufffd\":2}", `{"\ud800":1}`, `{"ç":{"b":1}}`, "{\"a\":\"\xff\"}", `{"":{"":7}}`,
	"{\n  \"a\": {\n    \"b\": 1\n  },\n  \"c\": [\n  ]\n}", `{"a":"` + strings.Repeat("x", 100) + `","b":-1.5e+3}`, `[{"a":1}]`, `{"a":{"b":`, `{"a":{"b":"`, `{"a":{"b":1}`, `{"a":1 "b":2}`, "{\"a\":1,\"b\":\"\x01\"}",
	strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40), strings.Repeat(`{"a":`, 10001), strings.Repeat(`[`, 10001),
}

var pickPaths = [][][]string{
	nil, {{}}, {{"a"}}, {{"a", "b"}}, {{"a", "b", "c"}}, {{"b"}, {"a"}}, {{"a"}, {"a", "b"}}, {{"a", "b"}, {"a"}, {"a", "b"}, {}}, {{"ç", "b"}, {"a"}}, {{"\ufffd"}, {"a"}}, {{"\xff"}}, {{""}, {"", ""}}, {{`a"`}, {"a"}},
}

// samePick compares Pick with what Parse and Get say.
func samePick(t *testing.T, text string, paths [][]string, o Options) {
	t.Helper()
	a := arena.NewArena()
	defer a.Free()
	values := make([]Value, len(paths))
	for i := range values {
		values[i] = BoolValue(true)
	}
	err := Pick(a, []byte(text), values, paths, o)
	root, want := Parse(a, []byte(text), o)
	if fmt.Sprint(err) != fmt.Sprint(want) {
		t.Errorf("%.80q, %q, %+v: the error is %v, that of Parse is %v", text, paths, o, err, want)
	}
	for i, path := range paths {
		v := root.descend(path)
		if values[i].Kind() != v.Kind() || values[i].String() != v.String() {
			t.Errorf("%.80q, %+v: %q is %v, Get says %v", text, o, path, values[i], v)
		}
	}
}

func TestPick(t *testing.T) {
	many := make([][]string, 70)
	for i := range many {
		many[i] = []string{string(rune('a' + i%5)), "b"}
	}
	many[3] = nil
	for _, text := range pickDocuments {
		for _, paths := range append(pickPaths, many) {
			for _, o := range []Options{{}, {AliasInput: true}, {V2: true}, {MaxDepth: 2}} {
				samePick(t, text, paths, o)
			}
		}
	}
}

func TestPickMisuse(t *testing.T) {
	if err := Pick(nil, []byte(`{"a":1}`), make([]Value, 1), [][]string{{"a"}}, Options{}, Options{}); err == nil {
		t.Error("two Options are taken")
	}
	values := make([]Value, 1)
	if err := Pick(nil, []byte(`{"a":"x"}`), values, [][]string{{"a"}}); err != nil || values[0].Text() != "x" {
		t.Errorf("without an arena: %v, %v", values, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("fewer values than paths are taken")
		}
	}()
	Pick(nil, []byte(`{}`), values[:0], [][]string{{"a"}}) // There is room behind them.
}

func TestPickLimit(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	a.SetLimit(1)
	values := []Value{BoolValue(true)}
	if err := Pick(a, []byte(`{"a":"x"}`), values, [][]string{{"a"}}); !errors.Is(err, offheap.ErrLimit) || values[0].Kind() != None {
		t.Errorf("%v, %v", values, err)
	}
}

func FuzzPick(f *testing.F) {
	for _, text := range pickDocuments {
		if len(text) < 1000 {
			f.Add([]byte(text), "a.b", "a")
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, one, two string) {
		paths := [][]string{strings.Split(one, "."), strings.Split(two, ".")}
		for _, o := range []Options{{}, {AliasInput: true}, {V2: true}} {
			samePick(t, string(text), paths, o)
		}
	})
}

func BenchmarkPick(b *testing.B) {
	a := arena.NewArena()
	defer a.Free()
	text, values, paths := eventText(), make([]Value, 2), [][]string{{"type"}, {"time"}}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := Pick(a, text, values, paths, Options{AliasInput: true}); err != nil {
			b.Fatal(err)
		}
		a.Reset(arena.Keep)
	}
}

// eventText is an event of some 1.5 KB.
func eventText() []byte {
	var b strings.Builder
	b.WriteString(`{"id":"0f2c","type":"order","items":[`)
	for i := range 20 {
		fmt.Fprintf(&b, `{"sku":"A-%d","name":"a thing with a name","price":%d.25,"n":%d},`, 1000+i, i, i%3)
	}
	b.WriteString(`{}],"time":1700000000000}`)
	return []byte(b.String())
}
