// SPDX-License-Identifier: Apache-2.0

package arenajson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/offheap"
)

// lineStreams are streams of lines, some of which are no single value.
func lineStreams() []string {
	const one, two = `{"I":1,"S":"a\nb"}`, `{"I":2,"S":"c"}`
	long := `{"S":"` + strings.Repeat("long ", 30_000) + `"}`
	many := strings.Repeat(one+"\n", 4000)
	return []string{
		"1\r\n2\r\n", "1 \t\r\n2\n\n\n 3", "\n\n1\n", one + "\n" + two, one + "\r\n" + two + "\r\n",
		one + two + "\n" + one + "\n", one + " " + two + "\n" + two + "\n", "{\n\"I\":1}\n" + two + "\n", "{\"I\"\n:1}{\n}\n" + one,
		one + "\n{\"S\":\"a\nb\"}\n" + two, one + "\n{\"I\" 2}\n" + two, one + "\n" + `{"I":}` + "\n", one + "\n" + `{"I":`, one + "\n{", one + "\n}\n" + two, one + "}\n" + two,
		one + ",\n" + two, one + " , \n" + two, ",\n1", "1,,\n2", one + " x\n" + two, one + "\n" + `{"I":"x"}` + "\n" + two, one + "\n" + `{"I8":300} {"I":5}` + "\n" + two,
		"12\n", "12\n3", "tru\ne", "true\nfalse\nnull\n", "-\n1", "1\x00\n2", "1 \x00\n2", "\"a\"\n\"b\n", "\"a\" \"b\"\n\"c\"\n", "[1,\n2]\n[3]\n[",
		long + "\n" + two + "\n" + long + "\n" + long, two + "\n" + long + " " + two + "\n" + two, long[:len(long)-2] + "\n",
		many, many + "{", many + one[:9] + "\n" + many, strings.Repeat("{\n}\n", mostMisses+3) + many, strings.Repeat("1 2\n", mostMisses-1) + many + strings.Repeat("1 2\n", mostMisses+1) + many,
		strings.Repeat("x\n", 3), strings.Repeat(one+" ", 3000) + "\n" + two, `{"T":"2020-01-02T03:04:05Z","R":[1, 2]}` + "\n" + one,
	}
}

// framed are the values of a stream as Each finds them if no line counts.
func framed[T any](r io.Reader, o Options) (values []*T, errs []error) {
	s := &stream{r: r, misses: mostMisses}
	goes := true
	for goes {
		if _, ok := s.peek(); !ok {
			if s.err != io.EOF {
				values, errs = append(values, nil), append(errs, s.err)
			}
			break
		}
		goes = turn(nil, arena.Checkpoint{}, s, copied([]Options{o}), func(v *T, err error) bool {
			values, errs = append(values, v), append(errs, err)
			return true
		})
	}
	return values, errs
}

// TestLines wants the same values and errors from a stream that is read by lines as from one that is read by brackets and quotes, with all options.
func TestLines(t *testing.T) {
	for _, doc := range slices.Concat(streams(), lineStreams(), []string{"{\"T\":\"no time\"}\n{\"I\":1}\n"}) {
		for name, reader := range readers {
			if name == "bytes" && len(doc) > 10_000 {
				continue
			}
			sameLines[scalars](t, name, doc, reader, Options{})
			if name != "whole" || len(doc) > 10_000 {
				continue
			}
			for _, o := range []Options{{V2: true}, {DisallowUnknownFields: true}, {MaxDepth: 1}, {UseNumber: true, AliasInput: true}, {ValuesForAny: true}} {
				sameLines[scalars](t, name, doc, reader, o)
			}
			sameLines[any](t, name, doc, reader, Options{})
			sameLines[tagged](t, name, doc, reader, Options{})
			sameLines[map[string]*loud](t, name, doc, reader, Options{})
		}
	}
}

func sameLines[T any](t *testing.T, name, doc string, reader func(string) io.Reader, o Options) {
	t.Helper()
	want, wantErrs := framed[T](reader(doc), o)
	for _, a := range []*arena.Arena{arena.NewArena(), nil} {
		n := 0
		for v, err := range Each[T](a, reader(doc), o) {
			if n == len(want) {
				t.Fatalf("%s, %.80q, %+v: more than %d values: %v, %v", name, doc, o, n, v, err)
			}
			if d := errorsDiffer(err, wantErrs[n]); d != "" {
				t.Fatalf("%s, %.80q, %+v, value %d: %s", name, doc, o, n, d)
			}
			if !o.ValuesForAny && !reflect.DeepEqual(v, want[n]) {
				t.Fatalf("%s, %.80q, %+v, value %d: %s, want %s", name, doc, o, n, dump(v), dump(want[n]))
			}
			n++
		}
		if n != len(want) {
			t.Fatalf("%s, %.80q, %+v: %d values, want %d", name, doc, o, n, len(want))
		}
		a.Free()
	}
}

// tallied counts the calls of its method.
type tallied struct{ text string }

var tally int

func (c *tallied) UnmarshalJSON(b []byte) error {
	tally++
	if c.text = string(b); c.text == `"bad"` {
		return errors.New("bad")
	}
	return nil
}

// TestLinesCallOnce: methods of the program are called once for each value, whatever else is on its line.
func TestLinesCallOnce(t *testing.T) {
	type holder struct{ A tallied }
	a := arena.NewArena()
	defer a.Free()
	for doc, want := range map[string]int{
		"{\"A\":1}\n{\"A\":2}\n": 2, "{\"A\":1} {\"A\":2}\n{\"A\":3}\n": 3, "{\"A\":1\n}\n{\"A\":2}": 2, "{\"A\":1}}\n": 1, "{\"A\":1}x\n": 1, "{\"A\":1,\n": 0, "{\"A\":1,}\n": 0, "{\"A\":\"bad\"}\n{\"A\":1}\n": 1,
	} {
		for _, o := range []Options{{}, {V2: true}} {
			tally = 0
			for range Each[holder](a, strings.NewReader(doc), o) {
			}
			if doc == "{\"A\":1,}\n" && o.V2 { // Version 2 calls it before it has seen what follows.
				want = 1
			}
			if doc == "{\"A\":1,\n" && o.V2 {
				want = 1
			}
			if tally != want {
				t.Errorf("%q, version 2 %t: %d calls, want %d", doc, o.V2, tally, want)
			}
		}
	}
}

// TestLinesDoNotWait: a value is there before its line ends. A peer may wait for an answer before it ends the line.
func TestLinesDoNotWait(t *testing.T) {
	parts := []string{"{\"I\":1}\n{\"I\":2}", "\n{\"I\":3}{\"I\":4}", " \n"}
	read := 0
	r := readFunc(func(p []byte) (int, error) {
		if read == len(parts) {
			return 0, io.EOF
		}
		read++
		return copy(p, parts[read-1]), nil
	})
	n := 0
	for v, err := range Each[scalars](nil, r) {
		n++
		if err != nil || v.I != n || read != (n+1)/2 {
			t.Errorf("value %d after %d reads: %+v, %v", n, read, v, err)
		}
	}
	if n != 4 {
		t.Errorf("%d values", n)
	}
	read = 0
	d := NewDecoder(nil, r)
	for n := range 4 {
		var v scalars
		if err := d.Decode(&v); err != nil || v.I != n+1 || read != n/2+1 {
			t.Errorf("value %d after %d reads of a Decoder: %+v, %v", n+1, read, v, err)
		}
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// TestLinesLimit: a line that the arena's limit refuses is an error, once, and a line of several values that fit is none.
func TestLinesLimit(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	a.SetLimit(16 << 10)
	short := `{"S":"` + strings.Repeat("x", 2000) + `"}`
	doc := short + "\n" + strings.Repeat(short, 20) + "\n" + short + "\n" + `{"S":"` + strings.Repeat("x", 20_000) + `"}` + "\n" + short + "\n"
	var got []string
	for v, err := range Each[scalars](a, strings.NewReader(doc)) {
		switch {
		case err == nil && len(v.S) == 2000:
			got = append(got, "ok")
		case err != nil:
			got = append(got, "error")
		}
	}
	if want := strings.Repeat("ok ", 22) + "error"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestDecoderLimit: a Decoder takes memory of the arena for one line that is no single value, at most.
func TestDecoderLimit(t *testing.T) {
	if freehold.HeapMode() || debugmode.On() {
		t.Skip("with this mode values take other memory")
	}
	a := arena.NewArena()
	defer a.Free()
	short := `{"S":"` + strings.Repeat("x", 100) + `"}`
	doc := strings.Repeat(strings.Repeat(short, 10)+"\n", 40)
	d, first := NewDecoder(a, strings.NewReader(doc)), int64(0)
	for n := range 400 {
		var v scalars
		if err := d.Decode(&v); err != nil || len(v.S) != 100 {
			t.Fatalf("value %d: %+v, %v", n, v, err)
		}
		if used := a.Stats().InUse; n == 0 {
			first = used
		} else if limit := first + int64(n)*int64(len(short)+16); used > limit {
			t.Fatalf("%d values take %d bytes, want at most %d", n+1, used, limit)
		}
	}
	a.Reset(arena.Keep)
	a.SetLimit(max(a.Stats().Held, 64<<10)) // Without reuse the arena holds nothing now.
	d.Reset(a, strings.NewReader(`{"S":"`+strings.Repeat("x", 1<<20)+"\"}\n"+short+"\n"))
	var v scalars
	if err := d.Decode(&v); !errors.Is(err, offheap.ErrLimit) || v.S != "" {
		t.Errorf("a value beyond the limit: %v", err)
	}
	if err := d.Decode(&v); err != nil || len(v.S) != 100 {
		t.Errorf("the value behind it: %+v, %v", v, err)
	}
}

// TestElementLines decodes arrays that have an element on each line.
func TestElementLines(t *testing.T) {
	a := arena.NewArena()
	defer a.Free()
	for _, doc := range []string{"[\n1,\n2 , \n3\n]\n", "[1\n,2\n,3]", "[1,\r\n2, 3\r\n]", "[\n1,2,\n3]\n\n"} {
		var got []int
		for v, err := range EachElement[int](a, strings.NewReader(doc)) {
			if err != nil {
				t.Fatalf("%q: %v", doc, err)
			}
			got = append(got, *v)
		}
		if fmt.Sprint(got) != "[1 2 3]" {
			t.Errorf("%q: %v", doc, got)
		}
	}
	for doc, want := range map[string]int64{"[\n1,\n2,\n]": 9, "[\n1,\n2\n3]": 8, "[\n1,\n,\n2]": 6, "[\n1,\n2 x\n]": 8} {
		var last error
		for _, last = range EachElement[int](a, strings.NewReader(doc)) {
		}
		if e, ok := last.(*json.SyntaxError); !ok || e.Offset != want {
			t.Errorf("%q: %v, want an error at %d", doc, last, want)
		}
	}
}
