// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// TestRepeatedWork wants a script that is compiled for each use to be found in any library: by the
// source of the call if it is at hand, and otherwise by the stacks.
func TestRepeatedWork(t *testing.T) {
	const served = "net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve"
	const compiles = "example.com/script.parseBlock;example.com/script.Compile;example.com/script.(*VM).RunString;example.com/shop.rate;" + served
	const runs = "example.com/script.(*VM).loop;example.com/script.(*VM).run;example.com/script.(*VM).RunString;example.com/shop.rate;" + served
	for _, c := range []struct {
		name   string
		stacks []string
		found  bool
	}{
		{"compiled and run", []string{compiles, runs}, true},
		{"compiled and not run", []string{compiles, "example.com/shop.rate;" + served}, false},
		{"compiled, and run by an iterator", []string{compiles, "example.com/script.(*env).Next;example.com/shop.rate;" + served}, true},
		{"a library's patterns", []string{"regexp.compile;regexp.MatchString;example.com/script.match;example.com/script.(*VM).Eval;example.com/shop.rate;" + served, runs}, true},
		{"before main", []string{"example.com/script.Compile;example.com/shop.init.0;runtime.doInit", runs}, false},
		{"data that is parsed", []string{"example.com/script.parseBlock;example.com/script.Parse;example.com/shop.rate;" + served, runs}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			for _, s := range c.stacks {
				f.Ran(s, 50)
			}
			e := f.evidence()
			e.Main = "example.com/shop"
			found := findingOf(Diagnose(t.Context(), e), "repeated-setup")
			if (found != nil) != c.found {
				t.Fatalf("%+v", found)
			}
			if found != nil && (found.Gain.Best() < 0.4 || !strings.Contains(found.Detail, "script.Compile") && !strings.Contains(found.Detail, "has script.(*VM).Eval create regular expressions") || found.Owner.Func != "example.com/shop.rate") {
				t.Errorf("%+v", found)
			}
		})
	}
}

// TestRepeatedWorkSource wants the source of the call to decide.
func TestRepeatedWorkSource(t *testing.T) {
	const text = "package shop\n\nvar rule = \"price > 3\"\n\nfunc rate(vm *VM) {\n\tvm.RunString(rule)\n}\n\nfunc answer(vm *VM, question string) {\n\tvm.RunString(question)\n}\n\nfunc choose(vm *VM, i int) {\n\tvm.RunString(ruleOf(i))\n}\n\nvar q Query\n\n" +
		"func ask(v any) {\n\tq.Run(v)\n}\n\nfunc asked(q Query, v any) {\n\tq.Run(v)\n}\n\nvar texts []string\n\nfunc rows(n int, args ...any) {\n\tdb.Query(texts[n], args...)\n}\n"
	file := filepath.Join(t.TempDir(), "shop.go")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for fn, c := range map[string]struct {
		line  int
		call  string
		found bool
	}{
		"rate":   {6, "(*VM).RunString", true},
		"answer": {10, "(*VM).RunString", false},
		"choose": {14, "(*VM).RunString", true},
		"ask":    {20, "(*Query).Run", true},
		"asked":  {24, "(*Query).Run", false},
		"rows":   {30, "(*DB).Query", true},
	} {
		f := newFake()
		f.Ran("example.com/script.Compile;example.com/script."+c.call+";example.com/shop."+fn+";main.main", 50)
		f.Ran("example.com/script.(*VM).run;example.com/script."+c.call+";example.com/shop."+fn+";main.main", 50)
		for _, function := range f.CPU.Function {
			if function.Name == "example.com/shop."+fn {
				function.Filename = file
			}
		}
		for _, l := range f.CPU.Location {
			if l.Line[0].Function.Name == "example.com/shop."+fn {
				l.Line[0].Line = int64(c.line)
			}
		}
		e := f.evidence()
		e.Main = "example.com/shop"
		found := findingOf(Diagnose(t.Context(), e), "repeated-setup")
		if (found != nil) != c.found {
			t.Errorf("%s: %+v", fn, found)
		}
	}
}

func TestVerb(t *testing.T) {
	for fn, want := range map[string]bool{
		"example.com/script.Compile": true, "example.com/script.(*VM).compileBlock": true, "example.com/script.MustCompile": true,
		"example.com/script.(*Env).Prepare": true, "example.com/script.recompile": false, "example.com/compile.Run": false, "example.com/script.Compile[...]": true,
	} {
		if got := verb(&stack.Frame{Func: fn}, preparing); got != want {
			t.Errorf("%s: %v", fn, got)
		}
	}
}
