// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

const linesText = `package shop

import "time"

type point struct{ x, y float64 }

type order struct {
	at    time.Duration
	lines []point
}

type pair[T any] struct{ a, b T }

var pattern = "^a+$"

func (s *server) read(names []string, n int) (out []byte, err error) {
	plain := make([]point, n)       // plain
	orders := make([]order, n)      // orders
	boxed := new(order)             // boxed
	both := []any{new(point), new(order)} // both
	pairs := new(pair[int])         // pairs
	for _, name := range names {
		out = append(out, name...)  // grows
		use(compile(pattern), compile(name)) // fixed
		s.orders <- &order{}        // sends
		func() {
			use(plain, orders, boxed, both, pairs) // literal
		}()
	}
	return out, nil // after
}

func handle(w writer) error {
	each(func(i int) []point { return make([]point, i) }) // inline
	go func() {
		for {
			use(new(point)) // loop
		}
	}()
	use(compile(w)) // varies
	var mine, theirs, given any
	decode(w, &mine) // mine
	use(mine)
	decode(w, &theirs) // theirs
	w.program.Eval(theirs)
	filter := w.filter
	decode(w, &given) // given
	filter(given)
	rows(texts[1], w...) // spread
	w.ask(1)             // receiver of the call
	pattern.ask(1)       // fixed receiver
	text := "a"
	each(func(i int) []point {
		use(compile(text)) // captured
		for _, p := range patterns {
			use(compile(p)) // ranged
		}
		use(compile(patterns[i%2], i)) // mixed
		return use(compile(patterns[i%2])) // indexed
	})
	return nil
}

func (s *server) node() *node {
	n := s.free
	if n == nil {
		n = &node{} // spare
	}
	m := &node{next: n} // always new
	decode(s, &request) // field
	s.program.Eval(*request.input)
	return m
}

func (s *server) totals(doc any) {
	decode(s, &doc) // read
	s.program.Eval(doc["amount"])
}
`

// TestLines asks about single lines, by their marks.
func TestLines(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "shop.go")
	if err := os.WriteFile(file, []byte(linesText), 0o666); err != nil {
		t.Fatal(err)
	}
	at := func(fn, mark string) *stack.Frame {
		for i, line := range strings.Split(linesText, "\n") {
			if strings.HasSuffix(line, "// "+mark) {
				return &stack.Frame{Func: "example.com/shop." + fn, File: file, Line: i + 1, Package: "example.com/shop"}
			}
		}
		t.Fatalf("no line is marked %s", mark)
		return nil
	}
	const read, handle = "(*server).read", "handle"
	ask := map[string]func(l *Lines, f *stack.Frame) (yes, known bool){
		"pointer-free":    (*Lines).PointerFree,
		"in a loop":       func(l *Lines, f *stack.Frame) (bool, bool) { n, known := l.Loops(f); return n > 0, known },
		"returns nothing": (*Lines).ReturnsNothing,
		"sends": func(l *Lines, f *stack.Frame) (bool, bool) {
			fate, known := l.Fate(f, "", Fate{}, false)
			return fate.Kept, known
		},
		"spare":          func(l *Lines, f *stack.Frame) (bool, bool) { return l.Spare(f), true },
		"passes on":      func(l *Lines, f *stack.Frame) (bool, bool) { c, _ := l.Call(f, "compile"); return c.PassesOn, true },
		"passes result":  func(l *Lines, f *stack.Frame) (bool, bool) { return l.PassesResult(f, "decode"), true },
		"fixed rows":     func(l *Lines, f *stack.Frame) (bool, bool) { c, known := l.Call(f, "rows"); return c.Fixed, known },
		"fixed receiver": func(l *Lines, f *stack.Frame) (bool, bool) { c, _ := l.Call(f, "ask"); return c.Receiver, true },
		"fixed":          func(l *Lines, f *stack.Frame) (bool, bool) { c, known := l.Call(f, "compile"); return c.Fixed, known },
	}
	for _, c := range []struct {
		question, fn, mark string
		yes, known         bool
	}{
		{"pointer-free", read, "plain", true, true},
		{"pointer-free", read, "orders", false, true},
		{"pointer-free", read, "boxed", false, true},
		{"pointer-free", read, "both", false, false},
		{"pointer-free", read, "pairs", false, false},
		{"pointer-free", read, "grows", true, true},
		{"pointer-free", read, "after", false, false},
		{"pointer-free", "other", "plain", false, false}, // another version of the file
		{"in a loop", read, "grows", true, true},
		{"in a loop", read, "after", false, true},
		{"in a loop", read + ".func1", "literal", false, true}, // The loop is around the literal, not in it.
		{"in a loop", handle + ".func2", "loop", true, true},
		{"sends", read, "sends", true, true},
		{"sends", read, "grows", false, true}, // It is returned.
		{"returns nothing", read, "grows", false, true},
		{"returns nothing", handle, "varies", true, true},
		{"returns nothing", handle + ".func1", "inline", false, true},
		{"returns nothing", handle + ".func2", "loop", true, true},
		{"fixed", read, "fixed", true, true},
		{"fixed", handle, "varies", false, true},
		{"fixed", handle + ".func3", "captured", true, true},
		{"fixed", handle + ".func3", "ranged", true, true},
		{"fixed", handle + ".func3", "mixed", false, true},
		{"fixed", handle + ".func3", "indexed", true, true},
		{"fixed", read, "grows", false, false},
		{"spare", "(*server).node", "spare", true, true},
		{"spare", "(*server).node", "always new", false, true},
		{"passes result", "(*server).node", "field", true, true},
		{"passes result", "(*server).totals", "read", false, true},
		{"fixed rows", handle, "spread", true, true},
		{"fixed receiver", handle, "receiver of the call", false, true},
		{"fixed receiver", handle, "fixed receiver", true, true},
		{"passes result", handle, "mine", false, true},
		{"passes result", handle, "theirs", true, true},
		{"passes result", handle, "given", true, true},
		{"passes on", handle, "varies", true, true},
		{"passes on", handle + ".func3", "captured", false, true},
		{"passes on", handle + ".func3", "indexed", false, true},
	} {
		t.Run(c.question+" "+c.mark, func(t *testing.T) {
			yes, known := ask[c.question](NewLines(""), at(c.fn, c.mark))
			if yes != c.yes || known != c.known {
				t.Errorf("%v, known %v; want %v, %v", yes, known, c.yes, c.known)
			}
		})
	}
	// The program was built elsewhere.
	elsewhere := at(read, "plain")
	elsewhere.File = "/build/shop.go"
	if yes, known := NewLines(dir).PointerFree(elsewhere); !yes || !known {
		t.Errorf("below the root: %v, known %v", yes, known)
	}
	if _, known := NewLines("").PointerFree(elsewhere); known {
		t.Error("a file that is not there is known")
	}
}
