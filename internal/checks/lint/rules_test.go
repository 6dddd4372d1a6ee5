// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"
	"testing"
)

// broken is an example that a rule must find fault with, or none if says is empty.
type broken struct {
	path, text, says string
}

func check(t *testing.T, rule func(*Repo) []Finding, examples []broken) {
	t.Helper()
	for _, e := range examples {
		r, err := New(map[string]string{e.path: e.text})
		if err != nil {
			t.Fatal(err)
		}
		found := rule(r)
		switch {
		case e.says == "" && len(found) > 0:
			t.Errorf("%s is in order, but: %v\n%s", e.path, found, e.text)
		case e.says != "" && (len(found) != 1 || !strings.Contains(found[0].String(), e.says)):
			t.Errorf("%s: found %v, want one with %q\n%s", e.path, found, e.says, e.text)
		}
	}
}

func TestArrowsRule(t *testing.T) {
	const lib = ModulePath
	importing := func(path, to, says string) broken {
		return broken{path, "package p\nimport _ \"" + to + "\"\n", says}
	}
	check(t, Arrows, []broken{
		importing("offheap/a.go", "os", ""),
		importing("offheap/a.go", lib, ""),
		importing("offheap/a.go", lib+"/internal/vmem", ""),
		importing("offheap/a.go", "golang.org/x/sys/unix", ""),
		importing("offheap/a.go", "golang.org/x/system", "depends on"),
		importing("offheap/a.go", "github.com/a/b", "depends on"),
		importing("offheap/a.go", lib+"/arena", "beside it"),
		importing("arena/a.go", lib+"/offheap", ""),
		importing("arena/a.go", lib+"/arena/kind", ""),
		importing("arena/a.go", lib+"/pool", "beside it"),
		importing("arena/a_test.go", lib+"/alloctest", ""),
		importing("arena/a_test.go", lib+"/cmd/bench", "nested module"),
		importing("httparena/a.go", lib+"/arena", ""),
		importing("httparena/a.go", "net/http", ""),
		importing("httparena/a.go", lib+"/arenajson", ""),
		importing("arenajson/a.go", lib+"/arena", ""),
		importing("arenajson/a.go", lib+"/gctune", "beside it"),
		importing("arenajson/a.go", lib+"/httparena", "beside it"),
		importing("httparena/a.go", "google.golang.org/grpc", "depends on"),
		importing("httparena/a.go", lib+"/adapters/grpcarena", "nested module"),
		importing("arena/a.go", lib+"/httparena", "beside it"),
		importing("adapters/grpcarena/a.go", "google.golang.org/grpc", ""),
		importing("adapters/grpcarena/a.go", lib+"/arena", ""),
		importing("adapters/grpcarena/a.go", lib+"/httparena", ""),
		importing("adapters/grpcarena/a.go", lib+"/adapters/grpcmem", "brings no other along"),
		importing("adapters/grpcarena/a_test.go", lib+"/internal/checks/testenv", "nested module never"),
		importing("a.go", lib+"/internal/machine", ""),
		importing("a.go", lib+"/offheap", "the root package"),
		importing("internal/vmem/a.go", lib+"/internal/unsafex", ""),
		importing("internal/vmem/a.go", lib, "internal packages only"),
		importing("internal/vmem/a.go", lib+"/cmd/bench", "nested module"),
		importing("alloctest/a.go", "testing", ""),
		importing("alloctest/a.go", "golang.org/x/sys/unix", "standard library alone"),
		importing("alloctest/a.go", lib+"/offheap", "standard library alone"),
		importing("alloctest/a.go", lib+"/internal/checks/trial", ""),
		importing("alloctest/a.go", lib+"/internal/checks/testenv", "for tests alone"),
		importing("internal/checks/trial/a.go", lib+"/offheap", "standard library alone"),
		importing("internal/checks/trial/a.go", "golang.org/x/sys/unix", "standard library alone"),
		importing("internal/checks/misuse/a.go", lib+"/arena", ""),
		importing("internal/checks/suite/a_test.go", lib+"/arena", ""),
		importing("internal/checks/suite/a_test.go", lib+"/internal/checks/testenv", ""),
		importing("internal/checks/suite/a_test.go", lib+"/internal/sanitize", "what users see"),
		importing("internal/vmem/a.go", lib+"/internal/checks/testenv", "for tests alone"),
		importing("internal/vmem/a_test.go", lib+"/internal/checks/testenv", ""),
		importing("examples/x/a.go", lib+"/arena", ""),
		importing("examples/x/a.go", lib+"/internal/vmem", "readers"),
		importing("examples/x/a.go", lib+"/examples/internal/cost", ""),
		importing("examples/x/a.go", "github.com/a/b", "depends on"),
		importing("examples/x/a.go", "github.com/google/pprof/profile", "depends on"),
		importing("cmd/bench/a.go", "github.com/a/b", ""),
		importing("cmd/bench/a.go", lib+"/offheap", ""),
		importing("cmd/bench/a_test.go", lib+"/internal/vmem", "nested module never"),
		importing("benchmarks/a.go", lib+"/cmd/bench", ""),
	})
}

func TestUnsafePlacesRule(t *testing.T) {
	check(t, UnsafePlaces, []broken{
		{"internal/unsafex/a.go", "package p\nimport _ \"unsafe\"\n", ""},
		{"cmd/bench/bound/bound.go", "package p\nimport _ \"unsafe\"\n", ""},
		{"cmd/bench/other.go", "package p\nimport _ \"unsafe\"\n", "unsafe may not stand here"},
		{"offheap/a.go", "package p\nimport _ \"unsafe\"\n", "unsafe may not stand here"},
		{"offheap/a_test.go", "package p\nimport _ \"unsafe\"\n", ""},
		{"offheap/a.go", "package p\nimport \"C\"\n", "cgo"},
		{"benchmarks/jemalloc/a.go", "package p\nimport \"C\"\n", ""},
		{"internal/percpu/a.go", "package p\n//go:linkname pin runtime.procPin\nfunc pin() int\n", ""},
		{"internal/vmem/a.go", "package p\n//go:linkname pin runtime.procPin\nfunc pin() int\n", "linkname"},
		{"internal/percpu/a.s", "TEXT ·f(SB), 0, $0\n", "assembly"},
		{"internal/percpu/a.s", "//go:build valgrind\n\nTEXT ·f(SB), 0, $0\n", "assembly"},
		{"internal/sanitize/a.go", licence + "//go:build asan\n\npackage p\nimport \"C\"\n", ""},
		{"internal/sanitize/a.s", "//go:build valgrind && !asan\n\nTEXT ·f(SB), 0, $0\n", ""},
		{"internal/sanitize/a.s", "//go:build !asan\n\nTEXT ·f(SB), 0, $0\n", "assembly"},
		{"internal/sanitize/a.go", "//go:build asan || msan\n\npackage p\nimport \"C\"\n", ""},
		{"internal/sanitize/a.go", "//go:build asan || cgo\n\npackage p\nimport \"C\"\n", "cgo"},
		{"internal/sanitize/a.go", "package p\nimport \"C\"\n", "cgo"},
	})
}

func TestUnsafeReasonsRule(t *testing.T) {
	const head = "package p\nimport \"unsafe\"\n"
	check(t, UnsafeReasons, []broken{
		{"a.go", head + "func f(p *int) uintptr {\n\t// SAFETY: a number.\n\treturn uintptr(unsafe.Pointer(p))\n}\n", ""},
		{"a.go", head + "// f is f.\n// SAFETY: a number.\nfunc f(p *int) uintptr {\n\treturn uintptr(unsafe.Pointer(p))\n}\n", ""},
		{"a.go", head + "func f(p *int) uintptr {\n\treturn uintptr(unsafe.Pointer(p))\n}\n", "without a // SAFETY:"},
		{"a.go", head + "func f(p *int) uintptr {\n\t// SAFETY: far away.\n\n\treturn uintptr(unsafe.Pointer(p))\n}\n", "without a // SAFETY:"},
		{"a.go", head + "func f(p *int) []int { return unsafe.Slice(p, 1) }\n", "without a // SAFETY:"},
		{"a.go", head + "const n = unsafe.Sizeof(0)\n", ""},
		{"a_test.go", head + "func f(p *int) []int { return unsafe.Slice(p, 1) }\n", ""},
	})
}

func TestNamesRule(t *testing.T) {
	check(t, Names, []broken{
		{"offheap/a.go", "package offheap\nvar usefulness, helpless, manage int\n", ""},
		{"offheap/a.go", "package offheap\ntype r struct{}\nfunc (r) Helper() {}\n", ""},
		{"offheap/a.go", "package offheap\nfunc pageHelper() {}\n", "helper"},
		{"offheap/a.go", "package offheap\ntype CacheManager struct{}\n", "manager"},
		{"offheap/a.go", "package offheap\nvar stringUtil_x int\n", "util"},
		{"offheap/page_util.go", "package offheap\n", "util"},
		{"z/a.go", "package a\n", "says nothing: z"},
		{"a.go", "package z\n", "says nothing: z"},
		{"adapters/z/a.go", "package z\n", ""},
		{"adapters/z/a.go", "package z\nfunc help_util() {}\n", "util"},
	})
}

func TestMarksRule(t *testing.T) {
	check(t, Marks, []broken{
		{"README.md", "What is to do is done. /sys/fs/cgroup, sys/work/x, https://example.com/home/x\n", ""},
		{"README.md", "a\nTO" + "DO: write\n", "README.md:2: a mark"},
		{"a.go", "package a // FIX" + "ME\n", "a mark"},
		{"x.sh", "cd /wo" + "rk/main\n", "somebody's machine"},
		{"x.sh", "cat \"/ro" + "ot/go/x\"\n", "somebody's machine"},
		{"x.sh", "/ho" + "me/ann/x\n", "somebody's machine"},
	})
}

func TestLicencesRule(t *testing.T) {
	check(t, Licences, []broken{
		{"a.go", licence + "package a\n", ""},
		{"a.go", licence + "//go:build linux\n\npackage a\n", ""},
		{"a.go", "package a\n", "sed -i"},
		{"a.go", "// SPDX-License-Identifier: MIT\n\npackage a\n", "sed -i"},
		{"a.go", "// SPDX-License-Identifier: Apache-2.0\npackage a\n", "sed -i"}, // Else it is the package's description.
		{"benchmarks/a.go", "package a\n", ""},
		{"LICENSE", "Apache License\nVersion 2.0\n", ""},
		{"LICENSE", "MIT License\n", "Apache-2.0"},
	})
}

func TestDocsRule(t *testing.T) {
	const doc = "// Package p is one sentence, v1.2 of it.\n//\n// More. Of it.\npackage p\n"
	check(t, Docs, []broken{
		{"p/doc.go", doc, ""},
		{"p/p.go", doc, "in doc.go"},
		{"internal/p/p.go", doc, ""},
		{"p/doc.go", "package p\n", "no description"},
		{"p/doc.go", "// Package p is one sentence. And one.\npackage p\n", "more than one sentence"},
		{"p/doc.go", "// Package p\npackage p\n", "full stop"},
		{"p/doc.go", doc + "func F() {}\n", "F is exported"},
		{"p/doc.go", doc + "type T[K any] struct{}\n", "T is exported"},
		{"p/doc.go", doc + "// T is.\ntype T[K any] struct{}\nfunc (*T[K]) M() {}\n", "M is exported"},
		{"p/doc.go", doc + "type t struct{}\nfunc (t) M() {}\n", ""},
		{"p/doc.go", doc + "const A = 1\n", "A is exported"},
		{"p/doc.go", doc + "// The constants.\nconst (\n\tA = 1\n\tB = 2\n)\n", ""},
		{"p/doc.go", doc + "type (\n\tT int\n)\n", "T is exported"},
		{"p/doc.go", doc + "// Both.\ntype (\n\tT int\n)\n", "T is exported"},
	})
}

func TestLengthsRule(t *testing.T) {
	long := "package p\nfunc f() {\n" + strings.Repeat("\tg()\n", maxFunction-1) + "}\n" // one line too many
	check(t, Lengths, []broken{
		{"a.go", long, "f has 121 lines"},
		{"a_test.go", long, "f has 121 lines"},
		{"a.go", strings.Replace(long, "\tg()\n", "", 1), ""},
		{"a.go", "package p\n" + strings.Repeat("// x\n", maxFile), "the file has 1001 lines"},
		{"a.go", licence + "package p\n" + strings.Repeat("// x\n", maxFile-1), ""},
		{"a.go", "// Code generated by x. DO NOT EDIT.\n" + long, ""},
	})
}

func TestDependenciesGolden(t *testing.T) {
	r, err := New(map[string]string{
		"go.mod":     "module m\n\nrequire b.c/d v1.0.0 // indirect\nrequire (\n\ta.b/c v2.0.0\n)\nreplace x => y\n",
		"cmd/go.mod": "module m/cmd\nrequire m v0.1.0\n",

		"benchmarks/foreign/programs/p/go.mod": "module p\nrequire a.b/c v2.0.0\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := Dependencies(r)
	if want := "a.b/c v2.0.0\nb.c/d v1.0.0 (indirect)\n"; got["go.mod"] != want {
		t.Errorf("library: %q, want %q", got["go.mod"], want)
	}
	if want := "m\n"; got["cmd/go.mod"] != want {
		t.Errorf("cmd: %q, want %q", got["cmd/go.mod"], want)
	}
	if len(got) != 2 {
		t.Errorf("%d lists, want none for a program of other people", len(got))
	}
}

func TestModulesRule(t *testing.T) {
	const work = "go 1.26\nreplace " + ModulePath + " v0.2.0 => ./\n"
	for _, c := range []struct{ path, mod, says string }{
		{"cmd/go.mod", "module m\nrequire " + ModulePath + " v0.2.0\n", ""},
		{"cmd/go.mod", "module m\nrequire (\n\t" + ModulePath + " v0.1.0\n)\n", "v0.1.0"},
		{"cmd/go.mod", "module m\nreplace x => ../\n", "replace"},
		{"benchmarks/go.mod", "module m\nreplace x => ../\n", ""},
		{"adapters/a/go.mod", "module m\ngo 1.26.0\n", ""},
		{"adapters/a/go.mod", "module m\ngo 1.27.0\n", "the library's Go 1.26.0"},
	} {
		r, err := New(map[string]string{"go.work": work, "go.mod": "module l\ngo 1.26.0\n", c.path: c.mod})
		if err != nil {
			t.Fatal(err)
		}
		found := Modules(r)
		if c.says == "" && len(found) > 0 || c.says != "" && (len(found) != 1 || !strings.Contains(found[0].Text, c.says)) {
			t.Errorf("%s: found %v, want %q\n%s", c.path, found, c.says, c.mod)
		}
	}
}

func TestAssumptionsRule(t *testing.T) {
	for _, c := range []struct{ design, code, test, says string }{
		{"| GC-1 | x |\n", "package p // see GC-1\n", "package p // GC-1\n", ""},
		{"no list\n", "package p // see GC-1\n", "package p\n", "not on the list"},
		{"| GC-1 | x |\n", "package p // see GC-1\n", "package p\n", "cited by no test"},
	} {
		r, err := New(map[string]string{"DESIGN.md": c.design, "p/a.go": c.code, "p/a_test.go": c.test})
		if err != nil {
			t.Fatal(err)
		}
		found := Assumptions(r)
		if c.says == "" && len(found) > 0 || c.says != "" && (len(found) != 1 || !strings.Contains(found[0].Text, c.says)) {
			t.Errorf("found %v, want %q", found, c.says)
		}
	}
}

func TestAPIGolden(t *testing.T) {
	r, err := New(map[string]string{
		"p/a.go": "// Package p is p.\npackage p\n// F is.\nfunc F(n int) []byte { return nil }\nfunc g() {}\n" +
			"// T is.\ntype T struct {\n\tA int // a\n\tb int\n}\n// M is.\nfunc (t *T) M() {}\ntype u struct{}\nfunc (u) N() {}\n" +
			"// Err is.\nvar Err, err = f(\"x\"), 2\n// The constants.\nconst (\n\tA = iota\n\tb\n\tC\n)\n",
		"p/a_windows.go": "package p\nfunc OnlyThere() {}\n",
		"p/a_linux.go":   "package p\nfunc Here() {}\n",
		"p/b.go":         "//go:build cgo && linux\n\npackage p\nfunc WithCgo() {}\n",
		"p/c.go":         "//go:build !windows\n\npackage p\nfunc AlsoHere() {}\n",
		"p/a_test.go":    "package p\nfunc InTest() {}\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := API(r, "p")
	if err != nil {
		t.Fatal(err)
	}
	const want = `const (
	A = iota

	C
)
func (t *T) M()
func AlsoHere()
func F(n int) []byte
func Here()
type T struct {
	A int
	// contains filtered or unexported fields
}
var Err
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTwinsRule(t *testing.T) {
	const head = "package offheap\nfunc must(err error) { if err != nil { panic(err) } }\n"
	check(t, Twins, []broken{
		{"offheap/a.go", head + "func New() { must(nil) }\n", "TryNew"},
		{"offheap/a.go", head + "func New() { slow() }\nfunc slow() { must(nil) }\n", "New panics"},
		{"offheap/a.go", head + "func New() { slow[int]() }\nfunc slow[T any]() { must(nil) }\n", "New panics"},
		{"offheap/a.go", head + "type h struct{}\nfunc (h) slow() { must(nil) }\nfunc New() { var x h; x.slow() }\n", "New panics"},
		{"offheap/a.go", head + "func New() { must(nil) }\nfunc TryNew() error { return nil }\n", ""},
		{"offheap/a.go", head + "func New() { must(nil) }\nfunc TryNew() {}\n", "New panics"},
		{"offheap/a.go", head + "func Make() error { must(nil); return nil }\nfunc Other() { _ = Make() }\n", ""},
		{"offheap/a.go", head + "type T[E any] struct{}\nfunc (t *T[E]) New() { must(nil) }\nfunc TryNew() error { return nil }\n", "T.TryNew"},
		{"offheap/a.go", head + "type T[E any] struct{}\nfunc (t *T[E]) New() { must(nil) }\nfunc (t T[E]) TryNew() error { return nil }\n", ""},
		{"offheap/a.go", head + "type t struct{}\nfunc (t) New() { must(nil) }\nfunc put() { must(nil) }\nfunc Delete() {}\n", ""},
		{"offheap/a.go", head + "func Grow() { must(nil) }\nfunc Try(f func()) error { return nil }\n", ""},
		{"offheap/a.go", head + "func Grow() { must(nil) }\nfunc TryGrow() error { return nil }\n", "TryGrow has the twin"},
		{"offheap/a.go", head + "type T struct{}\nfunc (T) TryGrow() error { return nil }\n", "T.TryGrow has the twin"},
		{"arena/a.go", strings.Replace(head, "offheap", "arena", 1) + "func New() { must(nil) }\n", "TryNew"},
		{"arena/a.go", strings.Replace(head, "offheap", "arena", 1) + "func Realloc() { must(nil) }\n", ""},
		{"arena/a.go", strings.Replace(head, "offheap", "arena", 1) + "func TryRealloc() error { return nil }\n", "TryRealloc has the twin"},
		{"other/a.go", "package other\nfunc must(err error) {}\nfunc New() { must(nil) }\n", ""},
	})
}

func TestTypeParamsRule(t *testing.T) {
	const head = "package arena\n"
	check(t, TypeParams, []broken{
		{"arena/a.go", head + "type Typed[T any] struct{ b *int }\n", "type parameter T"},
		{"arena/a.go", head + "type Map[K comparable, V any] struct{ key K }\n", "type parameter V"},
		{"arena/a.go", head + "type Map[K, V any] struct{ list map[K][]*V }\n", ""},
		{"arena/a.go", head + "type Typed[T any] struct{ _ [0]*T; b *int }\n", ""},
		{"arena/a.go", head + "type typed[T any] struct{ b *int }\n", ""},
		{"arena/a_test.go", head + "type Typed[T any] struct{ b *int }\n", ""},
		{"gctune/a.go", "package gctune\ntype Typed[T any] struct{ b *int }\n", ""},
	})
}
