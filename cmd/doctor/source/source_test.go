// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// patient is a limit for an empty build cache, with which the go command compiles the imports.
const patient = 8 * time.Minute

// openShop writes the module of testdata/source.txtar to a folder and opens it at the given
// functions' marks.
func openShop(t *testing.T) (*Module, func(fn, mark string) *stack.Frame) {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/source.txtar")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	lines := map[string]int{}
	profiletest.Unpack(t, archive, root)
	for _, f := range archive.Files {
		for i, line := range strings.Split(string(f.Data), "\n") {
			if _, mark, ok := strings.Cut(line, "// MARK "); ok {
				lines[mark] = i + 1
			}
		}
	}
	s, err := Open(t.Context(), Options{Root: root, Limit: patient}, []*stack.Frame{
		{Func: "main.main", File: "/build/shop/main.go", Line: 11},
		{Func: "example.com/shop/store.Bytes", File: "/build/shop/store/store.go", Line: lines["make"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Problems) > 0 {
		t.Fatal(s.Problems)
	}
	return s, func(fn, mark string) *stack.Frame {
		if lines[mark] == 0 {
			t.Fatalf("no mark %q", mark)
		}
		return &stack.Frame{Func: "example.com/shop/store." + fn, File: "/build/shop/store/store.go", Line: lines[mark]}
	}
}

func TestSource(t *testing.T) {
	s, at := openShop(t)
	for _, c := range []struct {
		fn, mark string
		how      Kind
		typ      string
	}{
		{"fresh", "new", KindNew, "example.com/shop/store.Order"},
		{"(*Store[...]).Add", "append", KindAppend, "*example.com/shop/store.Order"},
		{"(*Store[go.shape.int]).Add", "makemap", KindMap, "map[string]*example.com/shop/store.Order"},
		{"(*Store[...]).Add", "assign", KindMapAssign, "map[string]*example.com/shop/store.Order"},
		{"(*Store[...]).Add.func1", "concat", KindString, "string"},
		{"Bytes", "make", KindSlice, "byte"},
		{"(*Store[...]).Pop", "return", KindInterface, "example.com/shop/store.Order"},
		{"See", "key", KindInterface, "int"},
		{"See", "argument", KindInterface, "int"},
		{"Keep", "several", KindNew, "example.com/shop/store.Order"},
		{"Keep", "several", KindInterface, "int"},
		{"init", "initial", KindSlice, "*example.com/shop/store.Order"},
	} {
		place := at(c.fn, c.mark)
		var got []string
		found := false
		for _, m := range s.Expressions(place) {
			got = append(got, string(m.Kind)+" "+m.Type.Name)
			found = found || m.Kind == c.how && m.Type.Name == c.typ
		}
		if !found {
			t.Errorf("%s: makes %q, want %s %s", c.mark, got, c.how, c.typ)
		}
	}
}

// TestSourceOtherVersion: a line whose function is another one now says nothing about the profiled
// program.
func TestSourceOtherVersion(t *testing.T) {
	s, at := openShop(t)
	s.compare([]*stack.Frame{at("Old", "new"), at("Older", "new"), at("fresh", "new")})
	if len(s.Problems) != 1 || !strings.Contains(s.Problems[0], "is not in store.Old; the profiled program was built from another version") {
		t.Errorf("problems %q", s.Problems)
	}
	for _, fn := range []string{"Old", "(*Store[...]).fresh", "Store.Bytes", "init"} {
		place := at(fn, "new")
		if got := s.Expressions(place); got != nil {
			t.Errorf("%s: %v", fn, got)
		}
	}
}

// TestSourceSameVersion: symbols that the compiler makes are not of another version, and neither are the
// lines of a generator's input. Packages of external tests are not sought.
func TestSourceSameVersion(t *testing.T) {
	s, at := openShop(t)
	generated := at("Old", "new")
	generated.File = "/build/shop/store/store.y"
	external := &stack.Frame{Func: "example.com/shop/store_test.TestAll", File: "/build/shop/store/store_test.go", Line: 3}
	s.compare([]*stack.Frame{at("map.init.0", "initial"), at("See.fresh.func1", "new"), at("See.(*Store[...]).Add.func1", "append"), generated, external})
	if len(s.Problems) != 0 {
		t.Errorf("problems %q", s.Problems)
	}
	if got := s.patterns([]*stack.Frame{external}); len(got) != 0 {
		t.Errorf("sought: %q", got)
	}
}

func TestSourceMissing(t *testing.T) {
	if _, err := Open(t.Context(), Options{Root: t.TempDir(), Limit: patient}, nil); err == nil || !strings.Contains(err.Error(), "go.mod") {
		t.Errorf("no module: %v", err)
	}
	root := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/broken\n\ngo 1.26\n")
	write("main.go", "package main\n\nfunc main() {\n\tx := missing\n}\n")
	s, err := Open(t.Context(), Options{Root: root, Limit: patient}, []*stack.Frame{{Func: "main.main", File: "/elsewhere/main.go", Line: 4}})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(s.Problems, "\n"); !strings.Contains(text, "undefined: missing") && !strings.Contains(text, "not used: x") {
		t.Errorf("problems of source that does not build: %q", text)
	}
}

func TestDeclaredName(t *testing.T) {
	for fn, want := range map[string]string{
		"main.main":                        "main",
		"a.b/c.F.func1.2":                  "F",
		"a.b/c.(*T).M":                     "T.M",
		"a.b/c.(*T[go.shape.int]).M.func1": "T.M",
		"a.b/c.T.M-fm":                     "T.M",
		"a.b/c.F[go.shape.struct { a.b/d.X int }]":  "F",
		"a.b/c.F[...].func2":                        "F",
		"a.b/c.F.gowrap1":                           "F",
		"a.b/c.F.deferwrap2":                        "F",
		"a.b/c.glob..func1":                         "glob",
		"gopkg.in/yaml%2ev3.(*parser).parse":        "parser.parse",
		"a.b/c.Outer.Inner.func3":                   "Outer.Inner",
		"a.b/c.init.0":                              "init",
		"a.b/c.(*Tree[go.shape.*a.b/c.K,...]).Walk": "Tree.Walk",
	} {
		if got := DeclaredName(fn); got != want {
			t.Errorf("%s: %s, want %s", fn, got, want)
		}
	}
	if got := importPath("gopkg.in/yaml%2ev3.(*parser).parse"); got != "gopkg.in/yaml.v3" {
		t.Error(got)
	}
}

// TestReordered compares with every order that there is.
func TestReordered(t *testing.T) {
	sizes := types.SizesFor("gc", "amd64")
	empty := types.NewStruct(nil, nil)
	pool := []types.Type{
		types.Typ[types.Bool], types.Typ[types.Int16], types.Typ[types.Int32], types.Typ[types.Int64], types.Typ[types.String],
		types.NewPointer(empty), types.NewSlice(types.Typ[types.Int]), empty, types.NewArray(types.NewPointer(empty), 2),
		types.NewArray(types.Typ[types.Byte], 3), types.NewInterfaceType(nil, nil),
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		fields := make([]*types.Var, 1+r.IntN(5))
		for i := range fields {
			fields[i] = types.NewField(0, nil, string(rune('a'+i)), pool[r.IntN(len(pool))], false)
		}
		u := types.NewStruct(fields, nil)
		got := layoutOf(reordered(u, sizes), sizes)
		least := layoutOf(u, sizes)
		permute(fields, func(order []*types.Var) {
			l := layoutOf(types.NewStruct(append([]*types.Var(nil), order...), nil), sizes)
			if l.Size < least.Size || l.Size == least.Size && l.Pointers < least.Pointers {
				least = l
			}
		})
		if got.Size != least.Size || got.Pointers > least.Pointers {
			t.Fatalf("%v: %+v, possible is %+v", u, got, least)
		}
	}
}

func permute(list []*types.Var, do func([]*types.Var)) {
	var swap func(k int)
	swap = func(k int) {
		if k == len(list) {
			do(list)
			return
		}
		for i := k; i < len(list); i++ {
			list[k], list[i] = list[i], list[k]
			swap(k + 1)
			list[k], list[i] = list[i], list[k]
		}
	}
	swap(0)
}

func TestSizeClass(t *testing.T) {
	for _, c := range []struct {
		size     int64
		pointers bool
		want     int64
	}{{1, false, 8}, {24, false, 24}, {25, true, 32}, {65, true, 80}, {512, true, 512}, {520, true, 576}, {600, false, 640}, {0, true, 0}} {
		if got := SizeClass(c.size, c.pointers); got != c.want {
			t.Errorf("%d bytes, pointers %v: %d, want %d", c.size, c.pointers, got, c.want)
		}
	}
}
