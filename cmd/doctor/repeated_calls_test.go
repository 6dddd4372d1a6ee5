// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"slices"
	"strings"
	"testing"
)

const repeatedText = `package shop

import "example.com/engine"

const rule = "price > 3"

var rules = []string{rule, "price < 2"}

func byTable(i int) {
	text := rules[i%len(rules)]
	vm.Run(text) // table
}

func byConstant() {
	text := rule
	vm.Run(text) // constant
}

func ask(doc []byte) {
	engine.Do(engine.Params{Query: rule, Doc: doc}) // ask
}

func read(doc []byte) {
	tree, err := engine.Parse(doc) // read
	use(tree, err)
}

func serve(doc []byte) {
	v := engine.New(engine.Strict(true)) // new
	v.Register("a", "b")                 // register
	v.Check(doc)                         // check
}

func policy() *engine.Policy {
	return engine.Default() // default
}

func clean(doc []byte) {
	p := policy() // policy
	p.Check(doc)
}

func token() {
	id := engine.NewID() // id
	use(id)
}

func choose(name string) {
	l := engine.Match(name) // match
	use(l)
}

func lookUp(id string) {
	l := engine.Match(id) // unknown
	use(l)
}
`

// TestRepeatedCalls wants work with equal input to be found by the source of the call, one finding
// for each preparation, with the cost of all that is below the call.
func TestRepeatedCalls(t *testing.T) {
	const in, served = "example.com/shop.", ";example.com/shop.handle;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve"
	const eng = "example.com/engine."
	for _, c := range []struct {
		name   string
		stacks []string // each takes a tenth of the CPU
		owner  string   // mark, "" if nothing is to be found
		gain   float64
		text   string
	}{
		{"an element of a table", []string{eng + "Compile;" + eng + "(*VM).Run;" + in + "byTable#table"}, "table", 0.1, "Prepare the input of engine.(*VM).Run once"},
		{"a constant", []string{eng + "Compile;" + eng + "(*VM).Run;" + in + "byConstant#constant"}, "constant", 0.1, "Prepare"},
		{"lines of the library", []string{eng + "f;" + eng + "Compile;" + eng + "(*VM).Run;" + in + "byTable#table", eng + "g;" + eng + "compileAll;" + eng + "(*VM).Run;" + in + "byTable#table",
			eng + "Parse;" + eng + "(*VM).Run;" + in + "byTable#table"}, "table", 0.3, "Prepare"},
		{"parse and validate of a constant text", []string{eng + "Parse;" + eng + "Do;" + in + "ask#ask", eng + "ValidateDocument;" + eng + "Do;" + in + "ask#ask", eng + "resolve;" + eng + "Do;" + in + "ask#ask"}, "ask", 0.2, "Prepare the input of engine.Do"},
		{"data that is parsed", []string{eng + "lex;" + eng + "Parse;" + in + "read#read", eng + "lex;" + eng + "Parse;" + in + "read#read"}, "", 0, ""},
		{"a value made anew", []string{eng + "register;" + eng + "(*V).Register;" + in + "serve#register", eng + "New;" + in + "serve#new", eng + "check;" + eng + "(*V).Check;" + in + "serve#check"}, "register", 0.2, "Make v once, with engine.New"},
		{"a cache that is always empty", []string{eng + "walk;" + eng + "(*V).cachedFields;" + eng + "(*V).Check;" + in + "serve#check", eng + "check;" + eng + "(*V).Check;" + in + "serve#check"}, "check", 0.1, "Make v once"},
		{"a function that only makes it", []string{eng + "build;" + eng + "Default;" + in + "policy#default;" + in + "clean#policy"}, "policy", 0.1, "Call shop.policy once"},
		{"another result each time", []string{"crypto/rand.Read;" + eng + "NewID;" + in + "token#id"}, "", 0, ""},
		{"a key", []string{eng + "glob;" + eng + "Match;" + in + "choose#match", eng + "glob;" + eng + "Match;" + in + "choose#match"}, "match", 0.2, "in a map by name"},
		{"no key", []string{eng + "glob;" + eng + "Match;" + in + "lookUp#unknown", eng + "glob;" + eng + "Match;" + in + "lookUp#unknown"}, "", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := sourced(t, repeatedText, func(f *fake) {
				for _, s := range c.stacks {
					f.Ran(s+served, 10)
				}
				f.Ran("example.com/shop.work;main.main", 100-10*int64(len(c.stacks)))
			})
			var found []Finding
			for _, f := range Diagnose(t.Context(), e).Findings {
				if f.ID == "repeated-setup" {
					found = append(found, f)
				}
			}
			if c.owner == "" {
				if len(found) > 0 {
					t.Errorf("found %+v", found)
				}
				return
			}
			if len(found) != 1 {
				t.Fatalf("%d findings: %+v", len(found), found)
			}
			f, line := found[0], slices.IndexFunc(strings.Split(repeatedText, "\n"), func(l string) bool { return strings.HasSuffix(l, "// "+c.owner) })+1
			if math.Abs(f.Gain.SameGOGC-c.gain) > 1e-9 || f.Owner.Line != line || !strings.Contains(f.Remedy.Text, c.text) {
				t.Errorf("%.3f at line %d, want %.3f at %d: %s", f.Gain.SameGOGC, f.Owner.Line, c.gain, line, f.Remedy.Text)
			}
			if first, _, _ := strings.Cut(f.Remedy.Text, ". "); len(first) > 150 {
				t.Errorf("%d letters: %s", len(first), first)
			}
		})
	}
}
