// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/debugmode"
)

// TestLinearTime decodes documents with which a decoder that looks back, or ahead, at each value takes minutes.
func TestLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("large documents")
	}
	const n = 1 << 17
	a := arena.NewArena()
	defer a.Free()
	nested := func(open, inner, end string) []byte {
		return []byte(strings.Repeat(open, 9990) + inner + strings.Repeat(end, 9990))
	}
	filler := `"` + strings.Repeat("x", 1<<20) + `"`
	for name, f := range map[string]func() error{
		"objects for texts": func() error { _, err := Unmarshal[[]tone](a, []byte("["+strings.Repeat("{},", n)+"{}]")); return err },
		"numbers for texts": func() error { _, err := Unmarshal[[]*tone](a, []byte("["+strings.Repeat("1,", n)+"1]")); return err },
		"error behind a long value, deep": func() error {
			_, err := Unmarshal[row](a, nested("[", "["+strings.Repeat("[],", n)+"5]", "]"))
			return err
		},
		"error before a long value, deep": func() error {
			_, err := Unmarshal[chain](a, nested(`{"Next":`, `{"Next":5,"x":`+filler+`}`, "}"))
			return err
		},
		"maps in maps": func() error {
			doc := nested(`{"a":`, `{}`, "}")
			_, err := Unmarshal[[]tree](a, bytes.Join([][]byte{[]byte("["), bytes.Join([][]byte{doc, doc, doc, doc, doc, doc, doc, doc}, []byte(",")), []byte(",5]")}, nil))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := f().(*json.UnmarshalTypeError); !ok {
				t.Error(f())
			}
		})
	}
	for _, word := range []string{"null", "true", "0", "-1", `""`, "[]"} {
		t.Run("stream of "+word, func(t *testing.T) {
			count := 0
			for _, err := range Each[any](a, strings.NewReader(strings.Repeat(word, n/4))) {
				if err != nil {
					t.Fatal(err)
				}
				count++
			}
			if count != n/4 {
				t.Errorf("%d values", count)
			}
		})
	}
}

// TestBytesBehindLength decodes null over bytes of a slice behind its length, in memory that was used before.
func TestBytesBehindLength(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for range 3 {
		if _, err := Unmarshal[string](a, []byte(`"`+strings.Repeat("dirt", 2000)+`"`)); err != nil {
			t.Fatal(err)
		}
		a.Reset(arena.Keep)
		doc := []byte(`{"Y":"AA==","Y":[null,null,null]}`)
		var want scalars
		if err := json.Unmarshal(doc, &want); err != nil {
			t.Fatal(err)
		}
		got, err := Unmarshal[scalars](a, doc)
		if err != nil || !bytes.Equal(got.Y, want.Y) {
			t.Errorf("%v, %v, want %v", got.Y, err, want.Y)
		}
		a.Reset(arena.Keep)
	}
}

// resetter resets the arena that is being decoded into, and allocates there, although the documentation forbids it.
type resetter struct{ N int }

var resets struct {
	a    *arena.Arena
	kept []*resetter
}

func (r *resetter) UnmarshalJSON(b []byte) error {
	if resets.a == nil {
		return nil
	}
	if string(b) == "0" {
		resets.a.Reset(arena.Keep)
		resets.kept = nil
		for range 8 {
			resets.kept = append(resets.kept, arena.New[resetter](resets.a))
		}
		for i, k := range resets.kept {
			k.N = i + 1
		}
	}
	r.N = 9
	return nil
}

// TestResetWhileDecoding resets the arena in a method. No value that the method allocates after that is allocated twice.
func TestResetWhileDecoding(t *testing.T) {
	if debugmode.On() {
		t.Skip("a debug mode reports values that are written to after Reset")
	}
	a := arena.NewArena()
	defer a.Free()
	resets.a = a
	defer func() { resets.a, resets.kept = nil, nil }()
	for _, doc := range []string{`[0]`, `[1,0]`, `[1,1,0,1]`, `[1,2,3,4,0]`} {
		a.Reset(arena.Keep)
		_, _ = Unmarshal[[]resetter](a, []byte(doc)) // It may fail: the copy of the document may be overwritten.
		for range 8 {
			v := arena.New[resetter](a)
			for _, k := range resets.kept {
				if k == v {
					t.Errorf("%s: a value is allocated twice", doc)
				}
			}
		}
	}
}

// TestMethodErrorsInStreams has methods that return errors of their own. Streams leave their offsets alone.
func TestMethodErrorsInStreams(t *testing.T) {
	doc := " 1\n \"type\"  \"syntax\" {\"A\":\"type\"} [\"type\"]\n7 "
	got, want := NewDecoder(nil, strings.NewReader(doc)), json.NewDecoder(strings.NewReader(doc))
	for i := range 7 {
		var g, w mood
		if d := errorsDiffer(got.Decode(&g), want.Decode(&w)); d != "" {
			t.Errorf("value %d: %s", i, d)
		}
		if g != w {
			t.Errorf("value %d: %v, want %v", i, g, w)
		}
	}
	calls := 0
	for _, err := range Each[counted](nil, strings.NewReader(`1 "syntax" 2`)) {
		if err != nil {
			calls++
		}
	}
	if calls != 1 || countedCalls != 2 {
		t.Errorf("%d errors, %d calls of the method", calls, countedCalls)
	}
}

type counted struct{}

var countedCalls int

func (counted) UnmarshalJSON(b []byte) error {
	countedCalls++
	if string(b) == `"syntax"` {
		return json.Unmarshal([]byte("{x"), new(int))
	}
	return nil
}

// TestTokensAndErrors mixes tokens with values that do not fit.
func TestTokensAndErrors(t *testing.T) {
	needs127(t)
	const doc = ` [ {"I":1} , {"I":"x"},5 , "y" ] {"a" : {"I":"z"} , "b":[1]} 5`
	for name, reader := range readers {
		got, want := NewDecoder(nil, reader(doc)), json.NewDecoder(reader(doc))
		for step := range 14 {
			var g, w any
			var err, wantErr error
			if step == 0 || step == 5 || step == 6 || step == 7 || step == 9 {
				g, err = got.Token()
				w, wantErr = want.Token()
			} else {
				gs, ws := new(scalars), new(scalars)
				err, wantErr = got.Decode(gs), want.Decode(ws)
				g, w = gs, ws
			}
			if d := errorsDiffer(err, wantErr); d != "" {
				t.Errorf("%s: step %d: %s", name, step, d)
			}
			if !reflect.DeepEqual(g, w) {
				t.Errorf("%s: step %d: %v, want %v", name, step, g, w)
			}
			if a, b := got.InputOffset(), want.InputOffset(); a != b {
				t.Errorf("%s: step %d: offset %d, want %d", name, step, a, b)
			}
		}
	}
}

// TestEachWithoutSpace has values without space between them, at the end of streams of all kinds.
func TestEachWithoutSpace(t *testing.T) {
	needs127(t)
	for _, doc := range []string{"truetrue", "0012", "1-2", "nullnullnul", "1true", "-", "1.5.5", "1e5e", "12x", `1"a"2`, "1:2", "truefalsenull[1]2{}", "01", "tru", "0,1"} {
		for name, end := range map[string]error{"EOF": io.EOF, "broken": errors.New("broken")} {
			reader := func() io.Reader {
				return iotest.OneByteReader(io.MultiReader(strings.NewReader(doc), iotest.ErrReader(end)))
			}
			want := json.NewDecoder(reader())
			for got, err := range Each[any](nil, reader()) {
				var w any
				wantErr := want.Decode(&w)
				if d := errorsDiffer(err, wantErr); d != "" {
					t.Errorf("%s, %s: %s", doc, name, d)
				}
				if err == nil && (got == nil || !reflect.DeepEqual(*got, w)) {
					t.Errorf("%s, %s: %v, want %v", doc, name, got, w)
				}
			}
			if err := want.Decode(new(any)); err == nil {
				t.Errorf("%s, %s: a value is missing", doc, name)
			}
		}
	}
}

// TestEachArena iterates over values in arenas of other kinds.
func TestEachArena(t *testing.T) {
	for _, shared := range []*arena.Arena{arena.NewShared(), nil, arena.NewWith(arena.Options{NoReuse: true})} {
		n := 0
		for v, err := range Each[lists](shared, strings.NewReader(everything+everything+" "+everything)) {
			if err != nil || len(v.I) != 9 {
				t.Fatal(v, err)
			}
			n++
		}
		if n != 3 {
			t.Errorf("%d values", n)
		}
		shared.Free()
	}
}

// TestDeepValue has a tree as deep as documents may be.
func TestDeepValue(t *testing.T) {
	for _, doc := range []string{strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat(`{"a":`, 9999) + "[1]" + strings.Repeat("}", 9999)} {
		v, err := Parse(nil, []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if v.String() != doc {
			t.Error("the document is another")
		}
		var want any
		if err := json.Unmarshal([]byte(doc), &want); err != nil || !reflect.DeepEqual(v.Any(), want) {
			t.Error("the value is another", err)
		}
		if _, err := As[any](nil, v); err != nil {
			t.Error(err)
		}
	}
}
