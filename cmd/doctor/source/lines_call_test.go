// SPDX-License-Identifier: Apache-2.0

package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

const callText = `package shop

import (
	"time"

	"example.com/engine/v2"
	other "example.com/set"
)

const rule = "price > 3"

var rules = []string{rule, "price < 2"}

func serve(i int, doc []byte, name string) {
	text := rules[i%len(rules)]
	run(text)                       // element
	constant := rule
	run(constant)                   // once
	line := read()
	run(line)                       // result
	engine.Do(engine.Params{Query: rule, Doc: doc}) // text
	v := engine.New(engine.Strict(true)) // made
	v.Register("a", nil)            // completes
	v.Check(doc)                    // uses
	v.Register("b", nil)            // late
	engine.Now(time.Now())          // clock
	l := engine.Match(name)         // key
	engine.Parse(doc)               // unused
	for _, d := range docs {
		doc, err = engine.Apply(doc, d) // accumulates
		next := other.Or(sum, d)    // by another
		sum = next
		img := engine.Load(d)
		img = engine.Blur(img)      // pipeline
	}
	each(func(d int) {
		sum = other.Or(sum, d)      // literal
	})
	use(l)
}
`

// TestCall asks what single calls tell, by their marks.
func TestCall(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.go")
	if err := os.WriteFile(file, []byte(callText), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mark, callee string
		want         Call
	}{
		{"element", "run", Call{Fixed: true, Table: true, Function: true}},
		{"once", "run", Call{Fixed: true, Constant: true, Text: true, Function: true}},
		{"result", "run", Call{PassesOn: true, Function: true}},
		{"text", "Do", Call{Text: true, Function: true}},
		{"made", "New", Call{Fixed: true, Constant: true, Function: true, Used: true, To: "v"}},
		{"completes", "Register", Call{Fixed: true, Constant: true, Receiver: true, Of: "v"}},
		{"uses", "Check", Call{PassesOn: true, Receiver: true, Of: "v"}},
		{"late", "Register", Call{Fixed: true, Receiver: true}},
		{"clock", "Now", Call{Fixed: true, Function: true}},
		{"key", "Match", Call{PassesOn: true, Function: true, Key: "name", Used: true, To: "l"}},
		{"unused", "Parse", Call{PassesOn: true, Function: true}},
		{"accumulates", "Apply", Call{PassesOn: true, Function: true, Used: true, To: "doc", Copies: "doc"}},
		{"by another", "Or", Call{PassesOn: true, Function: true, Used: true, To: "next", Copies: "sum"}},
		{"pipeline", "Blur", Call{PassesOn: true, Function: true, Used: true, To: "img"}},
		{"literal", "Or", Call{PassesOn: true, Function: true, Used: true, To: "sum", Copies: "sum"}},
	} {
		for i, line := range strings.Split(callText, "\n") {
			if !strings.HasSuffix(line, "// "+c.mark) {
				continue
			}
			fn := "example.com/shop.serve"
			if c.mark == "literal" {
				fn += ".func1"
			}
			got, known := NewLines("").Call(&stack.Frame{Func: fn, File: file, Line: i + 1, Package: "example.com/shop"}, c.callee)
			if !known || got != c.want {
				t.Errorf("%s: %+v, known %v; want %+v", c.mark, got, known, c.want)
			}
		}
	}
}
