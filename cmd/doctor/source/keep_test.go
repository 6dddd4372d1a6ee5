// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// twoPackages is a module whose package main imports a package.
var twoPackages = map[string]string{
	"go.mod":       "module example.com/two\n\ngo 1.25\n",
	"main.go":      "package main\n\nimport \"example.com/two/leaf\"\n\nvar kept *leaf.Pair\n\nfunc main() {\n\tkept = leaf.New()\n}\n",
	"leaf/leaf.go": "package leaf\n\ntype Pair struct {\n\tA bool\n\tB int64\n\tC bool\n}\n\n//go:noinline\nfunc New() *Pair {\n\treturn &Pair{}\n}\n",
}

var (
	inMain = &stack.Frame{Func: "main.main", File: "/build/main.go", Line: 8}
	inLeaf = &stack.Frame{Func: "example.com/two/leaf.New", File: "/build/leaf/leaf.go", Line: 11}
)

// answers are those to all questions about both packages.
type answers struct {
	Made     []Expression
	Struct   Expression
	Problems []string
}

func ask(t *testing.T, root, cache string) answers {
	t.Helper()
	s, err := Open(t.Context(), Options{Root: root, Cache: cache, Limit: patient}, []*stack.Frame{inMain, inLeaf})
	if err != nil {
		t.Fatal(err)
	}
	var a answers
	a.Made = append(s.Expressions(inLeaf), s.Expressions(inMain)...)
	a.Struct, _ = s.StructAt(inLeaf, func(Kind, Layout) bool { return true })
	a.Problems = s.Problems
	return a
}

func unpackTwo(t *testing.T) (root, cache string) {
	t.Helper()
	t.Setenv("GOWORK", "off")
	root, cache = t.TempDir(), filepath.Join(t.TempDir(), "cache")
	writeFiles(t, root, twoPackages)
	return root, cache
}

// TestKept: answers from the cache are those of the source, and nothing is read for them. Of an
// edited package everything is read again, and of the packages that import it.
func TestKept(t *testing.T) {
	root, cache := unpackTwo(t)
	want := ask(t, root, "")
	if want.Struct.Type.Struct == nil || want.Struct.Type.Struct.To.Size != 16 || want.Problems != nil {
		t.Fatalf("answers without a cache: %+v", want)
	}
	first := ask(t, root, cache)
	files := filesIn(t, cache)
	if len(files) != 2 { // types of two packages
		t.Errorf("files %v", files)
	}
	second := ask(t, root, cache)
	if !reflect.DeepEqual(first, want) || !reflect.DeepEqual(second, want) {
		t.Errorf("without a cache %+v\nfirst %+v\nthen %+v", want, first, second)
	}
	expect := func(n int, what string) {
		t.Helper()
		before := files
		files = filesIn(t, cache)
		if got := written(before, files); got != n {
			t.Errorf("%s: %d files were written, want %d", what, got, n)
		}
	}
	expect(0, "the same again")
	writeFiles(t, root, map[string]string{"main.go": twoPackages["main.go"] + "\n// edited\n"})
	ask(t, root, cache)
	expect(1, "main is edited")
	writeFiles(t, root, map[string]string{"leaf/leaf.go": strings.Replace(twoPackages["leaf/leaf.go"], "int64", "[2]int64", 1)})
	if a := ask(t, root, cache); a.Struct.Type.Struct.To.Size != 24 {
		t.Errorf("the edited struct is %+v", a.Struct.Type.Struct)
	}
	expect(2, "leaf is edited")
	t.Setenv("GOFLAGS", "-tags=more")
	ask(t, root, cache)
	expect(2, "other build tags")
}

// A package with an error is read each time: the error may have a cause outside of its files.
func TestKeptNot(t *testing.T) {
	root, cache := unpackTwo(t)
	writeFiles(t, root, map[string]string{"main.go": twoPackages["main.go"] + "\nvar x = missing\n"})
	for range 2 {
		if a := ask(t, root, cache); len(a.Problems) == 0 {
			t.Error("no problem")
		}
	}
	if names := namesIn(t, cache); len(names) != 1 { // leaf's
		t.Errorf("files %q", names)
	}
}

// TestLimit: what takes too long is one problem of the report.
func TestLimit(t *testing.T) {
	root, cache := unpackTwo(t)
	frames := []*stack.Frame{inMain, inLeaf}
	s, err := Open(t.Context(), Options{Root: root, Cache: cache, Limit: 1}, frames)
	if err != nil || len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "reading the types took longer than 1ns, so those of all packages are missing") {
		t.Fatalf("problems %q, %v", s.Problems, err)
	}
}

// TestInterrupted: a diagnosis that is interrupted reads no further, and keeps nothing of it.
func TestInterrupted(t *testing.T) {
	root, cache := unpackTwo(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Open(ctx, Options{Root: root, Cache: cache, Limit: patient}, []*stack.Frame{inMain, inLeaf})
	if err != nil {
		t.Fatal(err)
	}
	files := filesIn(t, cache)
	cancel()
	if got := s.Expressions(inLeaf); len(got) == 0 || len(s.Problems) > 0 || written(files, filesIn(t, cache)) > 0 {
		t.Errorf("%v, problems %q", got, s.Problems)
	}
	if _, err := Open(ctx, Options{Root: root, Limit: patient}, []*stack.Frame{inMain}); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("error %v", err)
	}
}

// TestKeyFiles: a key stands for the contents of all files of a module that is no dependency from
// the cache of modules.
func TestKeyFiles(t *testing.T) {
	root, _ := unpackTwo(t)
	keys := func() map[string]string {
		l, err := list(t.Context(), offline(t.Context(), root), []string{"."})
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]string{}
		for path, p := range l.packages {
			if !p.Standard {
				m[path] = l.key(p)
			}
		}
		return m
	}
	before := keys()
	if len(before) != 2 || before["example.com/two"] == "" || before["example.com/two"] == before["example.com/two/leaf"] {
		t.Fatalf("keys %q", before)
	}
	if again := keys(); !reflect.DeepEqual(again, before) {
		t.Errorf("keys %q, then %q", before, again)
	}
	for _, edit := range []func(){
		func() { t.Setenv("GOARCH", "arm64") },
		func() { t.Setenv("GOFLAGS", "-tags=other") },
		func() { writeFiles(t, root, map[string]string{"leaf/more.go": "package leaf\n"}) },
		func() { writeFiles(t, root, map[string]string{"go.mod": "module example.com/two\n\ngo 1.24\n"}) },
	} {
		edit()
		after := keys()
		for path, key := range after {
			if key == "" || key == before[path] {
				t.Errorf("%s still has the key %q", path, key)
			}
		}
		before = after
	}
	if err := os.Remove(filepath.Join(root, "leaf/leaf.go")); err != nil {
		t.Fatal(err)
	}
	if key := keys()["example.com/two/leaf"]; key == before["example.com/two/leaf"] {
		t.Error("a removed file counts")
	}
}
