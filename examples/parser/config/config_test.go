// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/arena"
)

// TestSame parses sources both ways: the trees and the errors are the same.
func TestSame(t *testing.T) {
	deep := strings.Repeat("(", 2*maxDepth) + "1" + strings.Repeat(")", 2*maxDepth)
	for _, c := range []struct{ src, says string }{
		{string(Source(3, 20)), ""},
		{"", ""},
		{`a{} b "c" {} # the end`, ""},
		{"a { b = [] c = [1,] d = [[2], \"\\u00e4\\t\"] e { f = -!-3 % 2 } }", ""},
		{"a {", "line 1: want '}'"},
		{"a\n{ b }", "line 2: want '{'"},
		{"a { b = }", "want an expression"},
		{"a { b = (1 }", "want ')'"},
		{"a { b = [1 2] }", "want ']'"},
		{"a { b = 1.2.3 }", "a wrong number: 1.2.3"},
		{`a { b = "x`, "without its closing quote"},
		{`a { b = "x\`, "without its closing quote"},
		{`a { b = "\x" }`, "a wrong escape"},
		{"= 1", "want a block"},
		{"a { b = " + deep + " }", "expressions nest too deeply"},
		{strings.Repeat("a {", 2*maxDepth), "blocks nest too deeply"},
	} {
		src := []byte(c.src)
		want, wantErr := ParsePlain(src)
		a := arena.Cleanup(t, arena.NewArena())
		got, err := Parse(a, src)
		clear(src) // The tree has copies of its strings.
		if c.says == "" && (err != nil || wantErr != nil) {
			t.Errorf("%.80q: %v, %v", c.src, err, wantErr)
			continue
		}
		if c.says != "" {
			if err == nil || wantErr == nil || err.Error() != wantErr.Error() || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%.80q: %v, %v, want %q", c.src, err, wantErr, c.says)
			}
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%.80q: the trees differ", c.src)
		}
	}
}

// TestKept copies a block out of its arena. The copy is whole after the arena has another tree.
func TestKept(t *testing.T) {
	a := arena.Cleanup(t, arena.NewArena())
	f, err := Parse(a, Source(0, 10))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := arena.Heap(f.Blocks[7])
	if err != nil {
		t.Fatal(err)
	}
	a.Reset(arena.Keep)
	if _, err := Parse(a, Source(1, 10)); err != nil {
		t.Fatal(err)
	}
	plain, err := ParsePlain(Source(0, 10))
	if err != nil {
		t.Fatal(err)
	}
	if want := plain.Blocks[7]; !reflect.DeepEqual(kept, want) {
		t.Errorf("got %+v, want %+v", kept, want)
	}
}

func TestNumber(t *testing.T) {
	const src = `a {
		sum = 1 + 2 * 3 - 4 / 2 - 7 % 4
		logic = !(1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3) || 1 == 2 || 1 != 1
		other = -sum * 2
		loop = pool
		pool = loop
		text = "x" + 1
		missing = nothing
	}`
	a := arena.Cleanup(t, arena.NewArena())
	f, err := Parse(a, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"sum": 2, "logic": 0, "other": -4} {
		if got, err := f.Blocks[0].Number(name); err != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", name, got, err, want)
		}
	}
	for name, says := range map[string]string{"loop": "depends on itself", "text": "is no number", "missing": "there is no nothing"} {
		if _, err := f.Blocks[0].Number(name); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
	}
}

// FuzzSame compares both parsers on any source.
func FuzzSame(f *testing.F) {
	f.Add(Source(0, 1))
	f.Add([]byte(`a "b" { c = [1, -"\n"] d {} }`))
	f.Fuzz(func(t *testing.T, src []byte) {
		a := arena.NewArena()
		defer a.Free()
		want, wantErr := ParsePlain(src)
		got, err := Parse(a, src)
		if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatal("the trees differ")
		}
	})
}
