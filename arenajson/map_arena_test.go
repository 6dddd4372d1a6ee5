// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// mapped are variables of a struct with arena.Maps, and of one with Go maps in their place. Both have the same name, which errors show.
func mapped(a *arena.Arena, filled bool) (ours, plain any) {
	ours, plain = newMapped(a, filled), newPlain(filled)
	return ours, plain
}

func newMapped(a *arena.Arena, filled bool) any {
	type object struct {
		S  *arena.Map[string, string]
		I  *arena.Map[int8, []int] `json:"i"`
		U  *arena.Map[uint8, bool]
		X  *arena.Map[string, any]
		N  *arena.Map[string, *arena.Map[string, int]]
		T  *arena.Map[netip.Addr, int]
		K  *arena.Map[textKey, *int]
		Q  *arena.Map[tone, int]
		V  *arena.Map[named, Inner]
		F  *arena.Map[float64, int]
		C  *arena.Map[any, int]
		J  *arena.Map[string, mood]
		P  **arena.Map[string, int]
		L  []*arena.Map[string, bool]
		M  map[string]*arena.Map[string, bool]
		Y  any
		ID int
	}
	o := new(object)
	if filled {
		o.S, o.N = arena.NewMap[string, string](a, 0), arena.NewMap[string, *arena.Map[string, int]](a, 0)
		o.S.Set("a", "old")
		o.S.Set("old", "old")
		in := arena.NewMap[string, int](a, 0)
		in.Set("old", 1)
		o.N.Set("a", in)
		o.L = []*arena.Map[string, bool]{arena.NewMap[string, bool](a, 0), nil}
		o.L[0].Set("old", true)
	}
	return o
}

func newPlain(filled bool) any {
	type object struct {
		S  map[string]string
		I  map[int8][]int `json:"i"`
		U  map[uint8]bool
		X  map[string]any
		N  map[string]map[string]int
		T  map[netip.Addr]int
		K  map[textKey]*int
		Q  map[tone]int
		V  map[named]Inner
		F  map[float64]int
		C  map[any]int
		J  map[string]mood
		P  *map[string]int
		L  []map[string]bool
		M  map[string]map[string]bool
		Y  any
		ID int
	}
	o := new(object)
	if filled {
		o.S = map[string]string{"a": "old", "old": "old"}
		o.N = map[string]map[string]int{"a": {"old": 1}}
		o.L = []map[string]bool{{"old": true}, nil}
	}
	return o
}

// plainType is a type with Go maps in the place of arena.Maps.
func plainType(t reflect.Type) reflect.Type {
	if key, elem, ok := arenaMapOf(t); t.Kind() == reflect.Pointer && ok {
		return reflect.MapOf(key, plainType(elem))
	}
	switch t.Kind() {
	case reflect.Pointer:
		return reflect.PointerTo(plainType(t.Elem()))
	case reflect.Slice:
		return reflect.SliceOf(plainType(t.Elem()))
	case reflect.Map:
		return reflect.MapOf(t.Key(), plainType(t.Elem()))
	}
	return t
}

// plainFields are the fields of a struct, with Go maps in the place of arena.Maps.
func plainFields(object any) []any {
	v := reflect.ValueOf(object).Elem()
	all := make([]any, v.NumField())
	for i := range all {
		all[i] = plainValue(v.Field(i)).Interface()
	}
	return all
}

// plainValue is a copy of a value with Go maps in the place of arena.Maps, and text in that of Values.
func plainValue(v reflect.Value) reflect.Value {
	out := reflect.New(plainType(v.Type())).Elem()
	switch {
	case v.Kind() == reflect.Interface:
		if tree, ok := v.Interface().(Value); ok {
			out.Set(reflect.ValueOf(tree.String()))
		} else if !v.IsNil() {
			out.Set(plainValue(v.Elem()))
		}
	case v.Kind() == reflect.Slice && !v.IsNil():
		out.Set(reflect.MakeSlice(out.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(plainValue(v.Index(i)))
		}
	case v.Kind() == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMap(out.Type()))
		for k, e := range v.Seq2() {
			out.SetMapIndex(k, plainValue(e))
		}
	case v.Kind() == reflect.Pointer && out.Kind() == reflect.Map && !v.IsNil():
		out.Set(reflect.MakeMap(out.Type()))
		for k, e := range v.MethodByName("All").Call(nil)[0].Seq2() {
			out.SetMapIndex(k, plainValue(e))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil() && out.Type() != v.Type():
		out.Set(reflect.New(out.Type().Elem()))
		out.Elem().Set(plainValue(v.Elem()))
	case v.Kind() != reflect.Slice && v.Kind() != reflect.Map && v.Kind() != reflect.Pointer, out.Type() == v.Type():
		out.Set(v)
	}
	return out
}

// sameMaps checks that a document means the same for arena.Maps and for Go maps: by encoding/json, or for version 2 by our own decoder.
func sameMaps(t testing.TB, doc []byte) {
	t.Helper()
	if runtime.GOARCH == "wasm" {
		t.Skip("plainValue calls a method by its name: reflect keeps the address of its code in a pointer, which the collector takes for one to the heap if the heap is large")
	}
	for _, way := range []struct {
		heap, filled bool
		opts         Options
	}{{}, {filled: true}, {heap: true}, {filled: true, opts: Options{AliasInput: true}}, {opts: Options{V2: true}}, {filled: true, opts: Options{V2: true}}, {opts: Options{ValuesForAny: true}}} {
		var a *arena.Arena
		if !way.heap {
			a = arena.NewArena()
		}
		ours, plain := mapped(a, way.filled)
		err := UnmarshalInto(a, doc, ours, way.opts)
		var want error
		if way.opts.V2 || way.opts.ValuesForAny {
			want = UnmarshalInto(nil, doc, plain, way.opts)
		} else {
			want = standard(doc, plain)
		}
		if e, ok := err.(*json.UnmarshalTypeError); ok {
			copied := *e
			if copied.Type = plainType(e.Type); e.Type == reflect.TypeOf(ours).Elem() {
				copied.Type = reflect.TypeOf(plain).Elem()
			}
			err = &copied
		}
		if way.opts.V2 && err != nil && want != nil {
			err, want = nil, nil // Texts of version 2 name the types in other ways.
		}
		if d := errorsDiffer(err, want); d != "" {
			t.Errorf("%+v: %s: %s", way, doc, d)
		}
		got, wanted := plainFields(ours), plainFields(plain)
		if !reflect.DeepEqual(got, wanted) {
			t.Errorf("%+v: %s\n got %v\nwant %v", way, doc, got, wanted)
		}
		a.Free()
	}
}

var mapDocuments = []string{
	`{"S":{"a":"x","b":"y","a":"z"},"i":{"1":[1,2],"-128":null,"128":[3],"x":[4]},"U":{"255":true,"256":true},"X":{"a":{"b":[1]},"c":null,"d":1.5}}`,
	`{"N":{"a":{"b":1},"a":{"c":2},"d":null,"e":{}},"T":{"::1":1,"10.0.0.1":2},"K":{"a":1,"b":null},"Q":{"abc":1,"x":2},"V":{"a":{"A":1},"b":{"C":"x"}}}`,
	`{"S":null,"N":null,"L":null,"P":null,"M":null,"i":null}`, `{"S":{},"N":{},"L":[{},null,{"x":true}],"P":{"a":1},"M":{"a":{"b":true},"c":null}}`,
	`{"S":5}`, `{"S":"x"}`, `{"S":[1]}`, `{"S":true}`, `{"S":{"a":5,"b":"c"}}`, `{"S":{"a":5},"ID":7}`, `{"N":{"a":{"b":"x"}}}`, `{"N":{"a":5,"b":{"c":1}}}`, `{"P":5}`, `{"L":[5,{"a":1}]}`,
	`{"F":{"1":1}}`, `{"F":null}`, `{"C":{"a":1}}`, `{"T":{"x":1}}`, `{"Q":{"type":1}}`, `{"J":{"a":1,"syntax":2}}`, `{"J":{"a":"type"}}`, `{"J":{"a":"syntax"}}`,
	`{"S":{"a\u0062":"x","\ud800":"y"}}`, `{"S":{"a":"x"}`, `{"S":{"a":"x",}}`, `{"S":{"a" "x"}}`, `{"s":{"a":"x"},"S":{"b":"y"}}`, `{"Y":{"a":"new"},"S":{"c":"d"}}`, `{"Y":null}`, `{"X":{"a":1e999,"b":2}}`, `{"X":{"a":[{"x":1}],"a":{}}}`,
	`{"V":{"a":{"A":1},"a":{"C":"x"}}}`, `{"U":{"1":"x","2":true}}`, `{"i":{"1":[1],"01":[2]}}`, `{"i":{"5":[1,"x",3]}}`, `null`, `{}`, `[]`, `5`, "",
}

// TestMaps decodes into arena.Maps and compares with Go maps.
func TestMaps(t *testing.T) {
	for _, doc := range mapDocuments {
		sameMaps(t, []byte(doc))
	}
	typ := reflect.TypeOf(newPlain(false)).Elem()
	for seed := range uint64(200) {
		g := generator{rand.New(rand.NewPCG(seed, 2))}
		doc := g.document(nil, typ, 5)
		sameMaps(t, doc)
		sameMaps(t, g.damaged(doc))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// FuzzMaps does so with documents that a fuzzer finds.
func FuzzMaps(f *testing.F) {
	for i, doc := range mapDocuments {
		f.Add([]byte(doc), uint64(i))
	}
	typ := reflect.TypeOf(newPlain(false)).Elem()
	f.Fuzz(func(t *testing.T, doc []byte, seed uint64) {
		sameMaps(t, doc)
		g := generator{rand.New(rand.NewPCG(seed, 3))}
		made := g.document(nil, typ, 5)
		sameMaps(t, made)
		sameMaps(t, g.damaged(made))
	})
}

// TestMapsLarge decodes maps that grow often.
func TestMapsLarge(t *testing.T) {
	want := make(map[string]map[int]string)
	for i := range 40 {
		m := make(map[int]string)
		for k := range i * i {
			m[k*7919] = strings.Repeat("x", k%10)
		}
		want[strings.Repeat("k", i)] = m
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	a := arena.NewArena()
	defer a.Free()
	for range 3 {
		got, err := Unmarshal[*arena.Map[string, *arena.Map[int, string]]](a, text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(*got); string(again) != string(text) || err != nil {
			t.Errorf("%d bytes of %d, %v", len(again), len(text), err)
		}
		a.Reset(arena.Keep)
	}
}

type stock struct {
	Left *arena.Map[string, int]
}

// TestMapStale: a Map that was decoded panics when its arena has freed it, also if a later document has one in its place.
func TestMapStale(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	text := []byte(`{"Left":{"a":1}}`)
	decode := func() *arena.Map[string, int] {
		s, err := Unmarshal[stock](a, text)
		if err != nil {
			t.Fatal(err)
		}
		return s.Left
	}
	old := decode()
	a.Reset(arena.Keep)
	if n, _ := decode().Get("a"); n != 1 {
		t.Errorf("%d after Reset", n)
	}
	c := a.Checkpoint()
	rewound := decode()
	a.Rewind(c)
	decode()
	for name, m := range map[string]*arena.Map[string, int]{"reset": old, "rewound": rewound, "NewMap": {}} {
		for _, doc := range []string{`{"Left":{}}`, `{"Left":{"b":2}}`} {
			for _, o := range []Options{{}, {V2: true}} {
				s := stock{m}
				if text := panicOf(func() { _ = UnmarshalInto(a, []byte(doc), &s, o) }); !strings.Contains(text, name) {
					t.Errorf("%s into a Map that is to panic with %q: %q", doc, name, text)
				}
			}
		}
	}
	if text := panicOf(func() { old.Get("a") }); !strings.Contains(text, "reset") {
		t.Error(text)
	}
}

type endsRound struct{}

var resetsNow *arena.Arena

func (*endsRound) UnmarshalJSON([]byte) error {
	resetsNow.Reset(arena.Keep)
	return nil
}

// TestMapResetMeanwhile: a value's method frees the memory of the Map that it is to lie in.
func TestMapResetMeanwhile(t *testing.T) {
	resetsNow = arena.NewArena()
	defer resetsNow.Free()
	text := panicOf(func() {
		_, _ = Unmarshal[*arena.Map[string, endsRound]](resetsNow, []byte(`{"a":1,"b":2}`))
	})
	if !strings.Contains(text, "reset") {
		t.Error(text)
	}
}

// TestMapInOtherArena: a Map that is there stays one of its own arena, and its keys lie there.
func TestMapInOtherArena(t *testing.T) {
	own, a := arena.NewArena(), arena.NewArena()
	defer own.Free()
	s := stock{arena.NewMap[string, int](own, 0)}
	s.Left.Set("a", 1)
	if err := UnmarshalInto(a, []byte(`{"Left":{"b":2,"a":3}}`), &s); err != nil {
		t.Fatal(err)
	}
	a.Free()
	for key, want := range map[string]int{"a": 3, "b": 2} {
		if n, ok := s.Left.Get(key); n != want || !ok {
			t.Errorf("%s: %d, %t", key, n, ok)
		}
	}
}

// TestMapLimit: a limit ends decoding at any place, and the arena can be used afterwards.
func TestMapLimit(t *testing.T) {
	var b strings.Builder
	for i := range 2000 {
		b.WriteString(`,"` + strings.Repeat("k", i%50) + string(rune('a'+i%26)) + `":1`)
	}
	text := []byte(`{"Left":{` + b.String()[1:] + `}}`)
	failed := 0
	for limit := int64(16 << 10); limit < 1<<20; limit += 20000 {
		a := arena.NewWith(arena.Options{Limit: limit})
		if _, err := Unmarshal[stock](a, text); err != nil {
			failed++
			if !errors.Is(err, offheap.ErrLimit) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		a.Reset(arena.GiveBack)
		if s, err := Unmarshal[stock](a, []byte(`{"Left":{"a":1}}`)); err != nil || s.Left.Len() != 1 {
			t.Errorf("limit %d: afterwards %v", limit, err)
		}
		a.Free()
	}
	if failed == 0 {
		t.Error("no limit was reached")
	}
}

// A struct that embeds a *Map has its methods, but is none.
type embedsMap struct {
	*arena.Map[string, int]
	N int
}

// TestMapEmbedded decodes into it by its method UnmarshalJSON.
func TestMapEmbedded(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	e := &embedsMap{Map: arena.NewMap[string, int](a, 0)}
	if err := UnmarshalInto(a, []byte(`{"a":1}`), &e); err != nil {
		t.Fatal(err)
	}
	if n, _ := e.Get("a"); n != 1 || e.N != 0 {
		t.Errorf("%d %d", n, e.N)
	}
}
