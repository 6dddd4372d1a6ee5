// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
)

// streams are sequences of values, most of them with an error at the end.
func streams() []string {
	out := []string{
		"", " ", "1", "1 2 3", "1\n2\n3\n", "{}{}[]", `{"I":1}{"I":2}` + "\n" + `{"I":"x"} {"I":3}`, "[1,2]\n[3,[4]]", "null true false", `"a""b"`, `"a\"]}b" "c`, "12", "12 ", "-", "tru", "tru x", "truefalse", "1,2", "{", `{"a":`, `{"a":1}}`, "]", "[1}", "{]", "nul", "nulll", "\x00", "1 \x00 2", `{"a" 1} 5`,
		"{\n  \"I\": 1,\n  \"S\": \"x\"\n}\n{\n  \"I\": 2\n}", strings.Repeat(`{"I":1,"S":"a longer text, so that the buffer fills"}`+"\n", 3000), strings.Repeat(" ", 70000) + "5", `"` + strings.Repeat("x", 200000) + `" 1`,
	}
	for _, doc := range documents {
		if len(doc) < 1000 {
			out = append(out, doc+" "+doc, doc+doc)
		}
	}
	return out
}

// readers give a stream in parts.
var readers = map[string]func(string) io.Reader{
	"whole":          func(s string) io.Reader { return strings.NewReader(s) },
	"bytes":          func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) },
	"halves":         func(s string) io.Reader { return iotest.HalfReader(strings.NewReader(s)) },
	"data and error": func(s string) io.Reader { return iotest.DataErrReader(strings.NewReader(s)) },
	"broken": func(s string) io.Reader {
		return io.MultiReader(strings.NewReader(s+"\n"), iotest.ErrReader(errors.New("the line is cut")))
	},
}

// sameOffset reports whether both errors say that a stream is no JSON at the same place. How much of a character or an escape
// the text shows depends on what encoding/json had read.
func sameOffset(got, want error) bool {
	g, ok := got.(*json.SyntaxError)
	w, too := want.(*json.SyntaxError)
	return ok && too && g.Offset-w.Offset <= 4 && w.Offset-g.Offset <= 4
}

// TestDecoder decodes streams of values as json.Decoder does.
func TestDecoder(t *testing.T) {
	needs127(t)
	for _, doc := range append(streams(), lineStreams()...) {
		for name, reader := range readers {
			if name == "bytes" && len(doc) > 10000 {
				continue
			}
			for _, fill := range samples()[:3] {
				a := arena.NewArena()
				got, want := NewDecoder(a, reader(doc)), json.NewDecoder(reader(doc))
				for n := range 5000 {
					g, w := fill(), fill()
					err, wantErr := got.Decode(g), want.Decode(w)
					if d := errorsDiffer(err, wantErr); d != "" && (name != "bytes" || !sameOffset(err, wantErr)) {
						t.Fatalf("%s, %.80q, value %d: %s", name, doc, n, d)
					}
					if !reflect.DeepEqual(g, w) {
						t.Fatalf("%s, %.80q, value %d: %s, want %s", name, doc, n, dump(g), dump(w))
					}
					if got.InputOffset() != want.InputOffset() {
						t.Fatalf("%s, %.80q, value %d: offset %d, want %d", name, doc, n, got.InputOffset(), want.InputOffset())
					}
					if _, ok := wantErr.(*json.UnmarshalTypeError); wantErr != nil && !ok {
						break
					}
				}
				a.Free()
			}
		}
	}
}

// TestDecoderTokens mixes tokens with values.
func TestDecoderTokens(t *testing.T) {
	const doc = `{"list":[{"I":1},{"I":2},"x"],"n":5} [true,null] 7`
	got, want := NewDecoder(nil, strings.NewReader(doc)), json.NewDecoder(strings.NewReader(doc))
	for step := 0; ; step++ {
		if g, w := got.More(), want.More(); g != w {
			t.Fatalf("step %d: More is %t", step, g)
		}
		if step == 4 {
			var g, w scalars
			if d := errorsDiffer(got.Decode(&g), want.Decode(&w)); d != "" || !reflect.DeepEqual(g, w) {
				t.Fatalf("step %d: %v, %s", step, g, d)
			}
			continue
		}
		g, err := got.Token()
		w, wantErr := want.Token()
		if d := errorsDiffer(err, wantErr); d != "" || g != w {
			t.Fatalf("step %d: token %v, want %v: %s", step, g, w, d)
		}
		if wantErr != nil {
			return
		}
	}
}

// TestDecoderOffsets has errors, tokens, and white space that the reader gives later than what stands before it. Offsets are json.Decoder's.
func TestDecoderOffsets(t *testing.T) {
	needs127(t)
	for _, c := range []struct{ doc, steps string }{
		{"[ \t]", "tddmt"}, {"[ x", "tdd"}, {"[ 1 , x", "tddd"}, {"[1 2]", "tdd"}, {"[\n1,\n\"x\"]", "tddm"}, {"{ \"a\" : 1 }", "tdtdmt"}, {"{ }", "td"}, {"{\"a\"\n1", "ttd"},
		{"\"a\"\n 1e400 1e400 5", "dtdtd"}, {"1 \n[1e400]", "dttt"}, {"{\"a\":\n 1e400}", "tttt"}, {"1\n x", "ddm"}, {"1\n x", "ddt"}, {"1\n ", "ddmt"}, {"1 \n\"b\n\" ", "ddmtd"}, {"[1] ]", "tdtdm"},
	} {
		for name, reader := range readers {
			got, want := NewDecoder(nil, reader(c.doc)), json.NewDecoder(reader(c.doc))
			for n, step := range c.steps {
				var err, wantErr error
				var g, w any
				switch step {
				case 'd':
					var i, k int
					err, wantErr = got.Decode(&i), want.Decode(&k)
					g, w = i, k
				case 't':
					g, err = got.Token()
					w, wantErr = want.Token()
				case 'm':
					g, w = got.More(), want.More()
				}
				if d := errorsDiffer(err, wantErr); d != "" || g != w {
					t.Errorf("%s, %q, step %d: %v, want %v: %s", name, c.doc, n, g, w, d)
				}
				if got.InputOffset() != want.InputOffset() {
					t.Errorf("%s, %q, step %d: offset %d, want %d", name, c.doc, n, got.InputOffset(), want.InputOffset())
				}
				rest, _ := io.ReadAll(got.Buffered())
				if all := c.doc[got.InputOffset():] + "\n"; !strings.HasPrefix(strings.TrimLeft(all, " \t\n"), strings.TrimLeft(string(rest), " \t\n")) {
					t.Errorf("%s, %q, step %d: %q is buffered of %q", name, c.doc, n, rest, all)
				}
			}
		}
	}
}

// TestDecoderBuffered is what a Decoder has read too far.
func TestDecoderBuffered(t *testing.T) {
	d := NewDecoder(nil, strings.NewReader(`{"I":1} rest`))
	if err := d.Decode(new(scalars)); err != nil {
		t.Fatal(err)
	}
	if rest, _ := io.ReadAll(d.Buffered()); string(rest) != " rest" {
		t.Errorf("rest %q", rest)
	}
	d.Reset(nil, strings.NewReader("5 1e400"), Options{UseNumber: true})
	var x any
	for _, want := range []any{json.Number("5"), json.Number("1e400")} {
		if err := d.Decode(&x); err != nil || x != want {
			t.Errorf("%v, %v", x, err)
		}
	}
}

// TestEach is as if each value were decoded by itself, and none is kept.
func TestEach(t *testing.T) {
	needs127(t)
	for _, doc := range append(streams(), lineStreams()...) {
		for name, reader := range readers {
			if name == "bytes" && len(doc) > 10000 {
				continue
			}
			a := arena.NewArena()
			want := json.NewDecoder(reader(doc))
			for got, err := range Each[scalars](a, reader(doc)) {
				var w scalars
				from := want.InputOffset()
				rest := doc[from:]
				wantErr := want.Decode(&w)
				if e, ok := wantErr.(*json.UnmarshalTypeError); ok { // encoding/json counts from where the value begins.
					e.Offset += from + int64(len(rest)-len(strings.TrimLeft(rest, " \t\r\n")))
				}
				if d := errorsDiffer(err, wantErr); d != "" && (name != "bytes" || !sameOffset(err, wantErr)) {
					t.Fatalf("%s, %.80q: %s", name, doc, d)
				}
				if got != nil && !reflect.DeepEqual(*got, w) {
					t.Fatalf("%s, %.80q: %+v, want %+v", name, doc, got, w)
				}
			}
			if err := want.Decode(new(scalars)); err == nil {
				t.Fatalf("%s, %.80q: a value is missing", name, doc)
			}
			if used := a.Stats().InUse; used != 0 {
				t.Errorf("%s, %.80q: %d bytes in use in the end", name, doc, used)
			}
			a.Free()
		}
	}
}

// TestEachElement iterates over arrays, good and bad ones.
func TestEachElement(t *testing.T) {
	for doc, want := range map[string]string{
		`[]`: "", ` [ ] `: "", `[1]`: "1 ", `[1,2,3]`: "1 2 3 ", " [ 1 ,\n2 ] \n": "1 2 ",
		`[1,"x",3]`: "1 (json: cannot unmarshal string into Go value of type int at 6) 3 ",
		``:          "(unexpected EOF) ", `[`: "(unexpected EOF) ", `[1`: "1 (unexpected EOF) ", `[1,`: "1 (unexpected EOF) ", `[1,2`: "1 2 (unexpected EOF) ",
		`5`: "(json: cannot unmarshal number into Go value of type []int at 1) ", `null`: "", `nul`: "(unexpected EOF) ", `x`: "(invalid character 'x' looking for beginning of value at 1) ", `[1 2]`: "1 (invalid character '2' after array element at 4) ", `[1,]`: "1 (invalid character ']' looking for beginning of value at 4) ",
		`[,]`: "(invalid character ',' looking for beginning of value at 2) ", `[1]2`: "1 (invalid character '2' after top-level value at 4) ", `[1}`: "1 (invalid character '}' after array element at 3) ",
		`[{"a":[1]},5]`: "(json: cannot unmarshal object into Go value of type int at 2) 5 ",
	} {
		var got strings.Builder
		a := arena.NewArena()
		for v, err := range EachElement[int](a, iotest.OneByteReader(strings.NewReader(doc))) {
			switch e := err.(type) {
			case nil:
				fmt.Fprintf(&got, "%d ", *v)
			case *json.SyntaxError:
				fmt.Fprintf(&got, "(%v at %d) ", err, e.Offset)
			case *json.UnmarshalTypeError:
				fmt.Fprintf(&got, "(%v at %d) ", err, e.Offset)
			default:
				fmt.Fprintf(&got, "(%v) ", err)
			}
		}
		if got.String() != want {
			t.Errorf("%s:\n got %s\nwant %s", doc, got.String(), want)
		}
		a.Free()
	}
}

// TestEachStops leaves the loop, and breaks off at a failing reader.
func TestEachStops(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	n := 0
	for v, err := range Each[int](a, strings.NewReader("1 2 3")) {
		if n++; err != nil || *v != n {
			t.Fatal(v, err)
		}
		if n == 2 {
			break
		}
	}
	broken := errors.New("broken")
	var errs []error
	for _, err := range Each[int](a, io.MultiReader(bytes.NewReader([]byte("1 2")), iotest.ErrReader(broken))) {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || errs[1] != broken {
		t.Errorf("errors %v", errs)
	}
}

// TestTwoOptions gives Options twice, which is an error everywhere.
func TestTwoOptions(t *testing.T) {
	o, v := []Options{{UseNumber: true}, {}}, 0
	_, unmarshal := Unmarshal[int](nil, []byte("1"), o...)
	_, parse := Parse(nil, []byte("1"), o...)
	_, as := As[int](nil, BoolValue(true), o...)
	errs := map[string]error{
		"Unmarshal": unmarshal, "Parse": parse, "As": as,
		"UnmarshalInto": UnmarshalInto(nil, []byte("1"), &v, o...),
		"Decoder":       NewDecoder(nil, strings.NewReader("1"), o...).Decode(&v),
	}
	for _, errs["Each"] = range Each[int](nil, strings.NewReader("1"), o...) {
		break
	}
	for _, errs["EachElement"] = range EachElement[int](nil, strings.NewReader("[1]"), o...) {
		break
	}
	for name, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "2 Options") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestEachForgets: the arena of a stream takes no memory for each value, neither in chunks nor for what it notes of its checkpoints.
func TestEachForgets(t *testing.T) {
	if freehold.HeapMode() || freehold.NoReuseMode() || debugmode.On() || sanitize.Race {
		t.Skip("with this mode values lie on the Go heap, or are noted one by one")
	}
	for name, each := range map[string]func(a *arena.Arena, n int) iter.Seq2[*[]string, error]{
		"Each": func(a *arena.Arena, n int) iter.Seq2[*[]string, error] {
			return Each[[]string](a, strings.NewReader(strings.Repeat(`["a","b"] `, n)))
		},
		"Each, lines": func(a *arena.Arena, n int) iter.Seq2[*[]string, error] {
			return Each[[]string](a, strings.NewReader(strings.Repeat("[\"a\",\"b\"]\n", n)))
		},
		"EachElement": func(a *arena.Arena, n int) iter.Seq2[*[]string, error] {
			return EachElement[[]string](a, strings.NewReader("["+strings.Repeat(`["a","b"],`, n)+"[]]"))
		},
	} {
		a := arena.NewArena()
		var last uint64
		number := 0
		for _, err := range each(a, 20_000) {
			if err != nil {
				t.Fatal(err)
			}
			if number++; number == 1000 || number == 20_000 {
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				if taken := m.TotalAlloc - last; last != 0 && taken > 1<<20 {
					t.Errorf("%s takes %d bytes for 19000 values", name, taken)
				}
				last = m.TotalAlloc
			}
		}
		if held := a.Stats().Held; held > 64<<10 {
			t.Errorf("%s holds %d bytes", name, held)
		}
		a.Free()
	}
}

// TestEachBehindNumber: a stream notes how long the value behind a number is, if no space is between
// them. If it finds that value by its line, the note says nothing about the next value.
func TestEachBehindNumber(t *testing.T) {
	r := io.MultiReader(strings.NewReader("1nul"), strings.NewReader("l\n"), strings.NewReader("[][5] 6"))
	var got []any
	for v, err := range Each[any](nil, r) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, *v)
	}
	if s := fmt.Sprint(got); s != "[1 <nil> [] [5] 6]" {
		t.Error(s)
	}
}
