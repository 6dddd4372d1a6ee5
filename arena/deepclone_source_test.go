// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// This test writes programs with named types, which package reflect cannot make: recursive types,
// embedded fields, methods, unexported fields, instances of generic types, and types of one layout,
// by which conversions lead to the same variables and maps. Each program builds values of its types
// on the heap and in package-level variables, clones them to an arena and back, and compares the
// copies with package samegraph, which knows the package-level variables.

// A goType is a type of the program. name is as the program writes it.
type goType struct {
	name   string
	kind   byte    // i int, s string, b bool, p pointer, l slice, a array, m map, e any, f an interface with methods, n struct, u atomic.Pointer
	elem   *goType // Of p, l, a, m, u.
	key    *goType
	length int
	fields []goField
	twin   *goType // Of n: a type with the same fields and no methods, if there is one.
	under  string  // Of m, if it has a name: what it is derived from.
}

type goField struct {
	name string
	typ  *goType
}

// A place is an expression of the program that can be assigned to.
type goPlace struct {
	path string
	typ  *goType
}

type programmer struct {
	*rand.Rand
	strings.Builder
	named   []*goType
	maps    []*goType
	places  []goPlace
	globals []string // Package-level variables.
	counter int
}

var (
	goInt    = &goType{name: "int", kind: 'i'}
	goString = &goType{name: "string", kind: 's'}
	goBool   = &goType{name: "bool", kind: 'b'}
	goAny    = &goType{name: "any", kind: 'e'}
	goShape  = &goType{name: "shape", kind: 'f'}
	goBytes  = &goType{name: "[]byte", kind: 'l', elem: &goType{name: "byte", kind: 'c'}}
)

func (p *programmer) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// typ is a random type. Structs by value are among the first below of the named ones.
func (p *programmer) typ(depth, below int) *goType {
	plain := []*goType{goInt, goInt, goString, goBool, goAny, goShape, goBytes}
	if depth == 0 {
		return plain[p.IntN(len(plain))]
	}
	anyNamed := p.named[p.IntN(len(p.named))]
	if p.IntN(4) == 0 {
		anyNamed = anyNamed.twin
	}
	switch p.IntN(9) {
	case 0:
		return &goType{name: "*" + anyNamed.name, kind: 'p', elem: anyNamed}
	case 1:
		e := p.typ(depth-1, below)
		return &goType{name: "*" + e.name, kind: 'p', elem: e}
	case 2:
		return &goType{name: "[]" + anyNamed.name, kind: 'l', elem: anyNamed}
	case 3:
		e := p.typ(depth-1, below)
		return &goType{name: "[]" + e.name, kind: 'l', elem: e}
	case 4:
		e, n := p.typ(depth-1, below), p.IntN(7)
		return &goType{name: fmt.Sprintf("[%d]%s", n, e.name), kind: 'a', elem: e, length: n}
	case 5:
		k := []*goType{goInt, goString, {name: "*int", kind: 'p', elem: goInt}}[p.IntN(3)]
		e := p.typ(depth-1, below)
		m := &goType{name: "map[" + k.name + "]" + e.name, kind: 'm', key: k, elem: e}
		if p.IntN(3) == 0 {
			m.name, m.under = fmt.Sprintf("m%d", len(p.maps)), m.name
			p.maps = append(p.maps, m)
		}
		return m
	case 6:
		return &goType{name: "atomic.Pointer[" + anyNamed.name + "]", kind: 'u', elem: anyNamed}
	case 7:
		if below > 0 {
			return p.named[p.IntN(below)]
		}
	case 8:
		e := p.typ(depth-1, below)
		return &goType{name: "box[" + e.name + "]", kind: 'n', fields: []goField{{"value", e}, {"all", &goType{name: "[2]" + e.name, kind: 'a', elem: e, length: 2}}}}
	}
	return plain[p.IntN(len(plain))]
}

// declare writes n named types.
func (p *programmer) declare(n int) {
	p.line("type shape interface{ id() int }\ntype box[T any] struct { value T; all [2]T }\n")
	for i := range n {
		twin := &goType{name: fmt.Sprintf("u%d", i), kind: 'n'}
		p.named = append(p.named, &goType{name: fmt.Sprintf("t%d", i), kind: 'n', twin: twin})
	}
	for i, t := range p.named {
		p.line("type %s struct {", t.name)
		for f := range 1 + p.IntN(6) {
			field := goField{[]string{"F", "f"}[p.IntN(2)] + fmt.Sprint(f), p.typ(2, i)}
			if f == 0 && i > 0 && p.IntN(3) == 0 { // Embedded.
				field = goField{"", p.named[p.IntN(i)]}
				if p.IntN(2) == 0 {
					field.typ = &goType{name: "*" + field.typ.name, kind: 'p', elem: field.typ}
				}
			}
			p.line("\t%s %s", field.name, field.typ.name)
			if field.name == "" {
				field.name = strings.TrimPrefix(field.typ.name, "*")
			}
			t.fields = append(t.fields, field)
		}
		p.line("}\nfunc (*%s) id() int { return %d }\ntype %s %s\n", t.name, i, t.twin.name, t.name)
		t.twin.fields = t.fields
	}
	for _, m := range p.maps {
		p.line("type %s %s", m.name, m.under)
	}
}

// addPlace notes a place and its parts.
func (p *programmer) addPlace(path string, t *goType) {
	const most = 400
	if len(p.places) > most {
		return
	}
	p.places = append(p.places, goPlace{path, t})
	switch t.kind {
	case 'i': // Numbers differ, so that map keys can be told apart.
		p.counter++
		p.line("\t%s = %d", path, p.counter)
	case 'n':
		for _, f := range t.fields {
			p.addPlace(path+"."+f.name, f.typ)
		}
		if t.twin != nil && p.IntN(4) == 0 {
			p.addPlace(fmt.Sprintf("(*(*%s)(&%s))", t.twin.name, path), t.twin)
		}
	case 'a':
		for i := range t.length {
			p.addPlace(fmt.Sprintf("%s[%d]", path, i), t.elem)
		}
	}
}

// place is the path of a random place of type t, "" if there is none.
func (p *programmer) place(t string) string {
	var found []string
	for _, x := range p.places {
		if x.typ.name == t {
			found = append(found, x.path)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[p.IntN(len(found))]
}

// value is an expression of type t.
func (p *programmer) value(t *goType, depth int) string {
	switch t.kind {
	case 'i':
		p.counter++
		return fmt.Sprint(p.counter)
	case 'c':
		return fmt.Sprint(p.IntN(256))
	case 'b':
		return fmt.Sprint(p.IntN(2) == 0)
	case 's':
		low := p.IntN(20)
		return fmt.Sprintf("text[%d:%d]", low, low+p.IntN(20-low+1))
	case 'p':
		if path := p.place(t.elem.name); path != "" && p.IntN(6) > 0 {
			return "&" + path
		}
		return fmt.Sprintf("new(%s)", t.elem.name)
	case 'l':
		return p.slice(t)
	case 'm':
		return p.table(t, depth)
	case 'e':
		x := p.places[p.IntN(len(p.places))]
		if p.IntN(2) == 0 || x.typ.kind == 'a' || x.typ.kind == 'n' || x.typ.kind == 'u' {
			return "any(&" + x.path + ")"
		}
		return "any(" + x.path + ")"
	case 'f':
		n := p.named[p.IntN(len(p.named))]
		return "shape(" + p.value(&goType{name: "*" + n.name, kind: 'p', elem: n}, depth) + ")"
	}
	return "*new(" + t.name + ")"
}

// convertible is the path of a random place of another type that Go converts to the map type t, ""
// if there is none.
func (p *programmer) convertible(t *goType) string {
	under := func(t *goType) string { return cmp.Or(t.under, t.name) }
	var found []string
	for _, x := range p.places {
		if x.typ.kind == 'm' && x.typ.name != t.name && under(x.typ) == under(t) {
			found = append(found, x.path)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return found[p.IntN(len(found))]
}

func (p *programmer) slice(t *goType) string {
	if s := p.place(t.name); s != "" && p.IntN(3) == 0 {
		return s
	}
	for _, x := range p.places {
		if x.typ.kind == 'a' && x.typ.elem.name == t.elem.name && p.IntN(3) > 0 {
			low := p.IntN(x.typ.length + 1)
			high := low + p.IntN(x.typ.length-low+1)
			return fmt.Sprintf("%s[%d:%d:%d]", x.path, low, high, high+p.IntN(x.typ.length-high+1))
		}
	}
	n := p.IntN(4)
	return fmt.Sprintf("make(%s, %d, %d)", t.name, n, n+p.IntN(3))
}

func (p *programmer) table(t *goType, depth int) string {
	if x := p.convertible(t); x != "" && p.IntN(2) == 0 {
		return fmt.Sprintf("%s(%s)", t.name, x)
	}
	if depth == 0 {
		return "nil"
	}
	key := p.value(t.key, 0)
	if t.key.kind == 'p' {
		key = "&" + p.place("int")
	}
	return fmt.Sprintf("%s{%s: %s}", t.name, key, p.value(t.elem, depth-1))
}

// build writes a function that returns a graph.
func (p *programmer) build(number int) {
	p.places = nil
	p.line("var (\n\troots%d []any", number)
	var ground []*goType
	for i := range p.IntN(5) {
		t := p.named[p.IntN(len(p.named))]
		if p.IntN(2) == 0 {
			t = &goType{name: "[4]" + t.name, kind: 'a', elem: t, length: 4}
		}
		ground = append(ground, t)
		p.line("\tground%d_%d %s", number, i, t.name)
		p.globals = append(p.globals, fmt.Sprintf("ground%d_%d", number, i))
	}
	p.line(")\n")
	p.line("func build%d() *[]any {\n\ttext := strings.Repeat(\"text\", 5)\n\tnumber := new(int)", number)
	p.addPlace("(*number)", goInt)
	roots := []string{"number", "&text"}
	for i, t := range ground {
		name := fmt.Sprintf("ground%d_%d", number, i)
		p.line("\t%s = *new(%s)", name, t.name)
		p.addPlace(name, t)
		roots = append(roots, "&"+name)
	}
	for i := range 3 + p.IntN(6) {
		name, t := fmt.Sprintf("x%d", i), p.named[p.IntN(len(p.named))]
		switch p.IntN(3) {
		case 0:
			p.line("\t%s := make([]%s, 3, 5)", name, t.name)
			for e := range 3 {
				p.addPlace(fmt.Sprintf("%s[%d]", name, e), t)
			}
		default:
			p.line("\t%s := new(%s)", name, t.name)
			p.addPlace("(*"+name+")", t)
		}
		roots = append(roots, name)
	}
	for range 200 {
		x := p.places[p.IntN(len(p.places))]
		switch x.typ.kind {
		case 'i', 'n', 'a':
		case 'u':
			p.line("\t%s.Store(%s)", x.path, p.value(&goType{name: "*" + x.typ.elem.name, kind: 'p', elem: x.typ.elem}, 2))
		default:
			p.line("\t%s = %s", x.path, p.value(x.typ, 2))
		}
	}
	p.Shuffle(len(roots), func(i, j int) { roots[i], roots[j] = roots[j], roots[i] })
	if p.IntN(2) == 0 {
		p.line("\treturn &[]any{%s}\n}\n", strings.Join(roots, ", "))
		return
	}
	p.globals = append(p.globals, fmt.Sprintf("roots%d", number))
	p.line("\troots%d = []any{%s}\n\treturn &roots%d\n}\n", number, strings.Join(roots, ", "), number)
}

// program is the source of a program that builds and clones n graphs.
func program(seed uint64, n int) string {
	p := &programmer{Rand: rand.New(rand.NewPCG(seed, 11))}
	p.line(`package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/checks/samegraph"
)

var _ atomic.Pointer[int]

func check(n int, what string, err error) {
	if err != nil {
		fmt.Printf("build%%d: %%s: %%v\n", n, what, err)
		os.Exit(1)
	}
}

func clone(n int, a *arena.Arena, build func() *[]any) {
	rule := samegraph.Rule{Globals: globals()}
	v := build()
	images := samegraph.ImagesOf(globals())
	c := arena.DeepClone(a, v)
	check(n, "DeepClone", samegraph.CompareBy(rule, v, c))
	direct := arena.Heap(v)
	check(n, "Heap of the original", samegraph.CompareBy(rule, v, direct))
	h := arena.Heap(c)
	check(n, "Heap", samegraph.CompareBy(rule, c, h))
	check(n, "package-level variables", samegraph.Unchanged(images))
	v = nil
	runtime.GC()
	check(n, "without the original", samegraph.CompareBy(rule, c, h))
	a.Reset(arena.Keep)
	check(n, "after Reset", samegraph.CompareBy(rule, build(), h))
}
`)
	p.declare(4 + p.IntN(8))
	for i := range n {
		p.build(i)
	}
	p.line("func globals() []samegraph.Span {\n\treturn []samegraph.Span{")
	for _, name := range p.globals {
		p.line("\t\tsamegraph.SpanOf(&%s),", name)
	}
	p.line("\t}\n}\n\nfunc main() {")
	p.line("\tkinds := []*arena.Arena{arena.NewArena(), arena.NewShared(), nil}")
	for i := range n {
		p.line("\tclone(%d, kinds[%d], build%d)", i, i%3, i)
	}
	p.line("\tfmt.Println(\"cloned\")\n}")
	return p.String()
}

// TestDeepCloneSource runs one program, or as many as fit into FREEHOLD_TEST_STRESS.
func TestDeepCloneSource(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("builds a program")
	}
	testenv.StartsPrograms(t)
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	limit := testenv.StressTime(t, 0)
	start, seed := time.Now(), uint64(1)
	if limit > 0 {
		seed = rand.Uint64()
	}
	for count := 1; ; count++ {
		source := program(seed, 20)
		if out := runProgram(t, source); strings.TrimSpace(out) != "cloned" {
			t.Fatalf("seed %d: %s\n%s", seed, out, source)
		}
		if seed++; time.Since(start) >= limit {
			t.Logf("%d programs", count)
			return
		}
	}
}

// runProgram runs a program as a package of this module, so that it may import the module's
// internal packages, without writing to the module's folder.
func runProgram(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "generated", "main.go"): file}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{file: source, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := exec.Command("go", "run", "-overlay", overlay, "./generated").CombinedOutput() // The output says whether it failed.
	return string(out)
}
