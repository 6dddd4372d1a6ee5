// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestTraceEnvironment(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		want string
	}{
		{"without", []string{"A=b"}, "GODEBUG=gctrace=1"},
		{"empty", []string{"GODEBUG="}, "GODEBUG=gctrace=1"},
		{"set", []string{"GODEBUG=gctrace=0,madvdontneed=1"}, "GODEBUG=gctrace=0,madvdontneed=1,gctrace=1"},
		{"set twice", []string{"GODEBUG=a=b", "GODEBUG=c=d", "A=b"}, "GODEBUG=c=d,gctrace=1"},
	} {
		got := TraceEnvironment(c.env)
		if !slices.Equal(got[:len(got)-1], c.env) || got[len(got)-1] != c.want {
			t.Errorf("%s: %q, want it to end with %s", c.name, got, c.want)
		}
	}
}

// The stream comes in parts of every size.
func TestTraceFilter(t *testing.T) {
	const trace = "gc 1 @0.001s 2%: 0.1+0.2+0.3 ms clock\n"
	const text = "hello\n" + trace + "gc is a word\n\ngc 12 apples\ng\n" + trace + "half a line"
	const rest = "hello\ngc is a word\n\ngc 12 apples\ng\nhalf a line"
	for size := 1; size <= len(text); size++ {
		var passed bytes.Buffer
		f := TraceFilter{Rest: &passed}
		for part := range slices.Chunk([]byte(text), size) {
			feed(t, &f, part)
		}
		f.End()
		if string(f.Trace()) != trace+trace || passed.String() != rest || string(f.Tail()) != rest {
			t.Errorf("in parts of %d: trace %q, rest %q, of which %q", size, f.Trace(), passed.String(), f.Tail())
		}
	}
}

// What asks a question ends its line when it has the answer.
func TestTraceFilterPasses(t *testing.T) {
	var passed bytes.Buffer
	f := TraceFilter{Rest: &passed}
	feed(t, &f, []byte("password: "))
	if passed.String() != "password: " {
		t.Errorf("passed on: %q", passed.String())
	}
	feed(t, &f, []byte("gc 1 @0.001s 2%: no line of the trace\ngc 1 @"))
	if want := "password: gc 1 @0.001s 2%: no line of the trace\n"; passed.String() != want || len(f.Trace()) != 0 {
		t.Errorf("passed on: %q, trace %q", passed.String(), f.Trace())
	}
}

// TestTraceFilterBounds: the filter keeps neither many lines nor a long one, even if Rest is nil or
// fails.
func TestTraceFilterBounds(t *testing.T) {
	for _, rest := range []*failing{nil, {}} {
		var f TraceFilter
		if rest != nil {
			f.Rest = rest
		}
		for range 100_000 {
			feed(t, &f, []byte("this is a line that nobody will read\n"))
		}
		feed(t, &f, slices.Concat([]byte("gc "), bytes.Repeat([]byte("x"), 10<<20)))
		feed(t, &f, []byte("end"))
		if len(f.Tail()) != keptTail || !bytes.HasSuffix(f.Tail(), []byte("xend")) || cap(f.tail) > 16*keptTail || len(f.line) != 0 || len(f.Trace()) != 0 {
			t.Errorf("kept %d, %d and %d bytes", cap(f.tail), len(f.line), len(f.Trace()))
		}
	}
}

type failing struct{}

func (*failing) Write([]byte) (int, error) { return 0, errors.New("broken") }

func feed(t *testing.T, f *TraceFilter, b []byte) {
	t.Helper()
	if n, err := f.Write(b); n != len(b) || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

// TestTraceFilterCut: the runtime writes a line piece by piece, and the program may end meanwhile.
func TestTraceFilterCut(t *testing.T) {
	const whole = "gc 1 @0.008s 3%: 0.061+1.2+0.056 ms clock, 0.12+0.089/0.37/0.73+0.11 ms cpu, 3->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P"
	for cut := len("gc 1 @"); cut <= len(whole); cut++ {
		var f TraceFilter
		feed(t, &f, []byte(whole[:cut]))
		f.End()
		if want := cut == len(whole); (len(f.Trace()) > 0) != want || len(f.Tail()) > 0 {
			t.Errorf("%q: trace %q, rest %q", whole[:cut], f.Trace(), f.Tail())
		}
	}
}
