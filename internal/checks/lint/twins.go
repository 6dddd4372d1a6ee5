// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// twinned are the packages whose functions panic if there is no memory.
var twinned = map[string]struct {
	roots []string // The functions that turn the error into the panic.
	verbs []string // The names of the functions that have twins. Others have Try alone.
}{
	"arena":   {roots: []string{"must"}, verbs: []string{"New", "MakeSlice"}},
	"offheap": {roots: []string{"must", "mustBytes"}, verbs: []string{"Alloc", "AllocUninit", "AllocAligned", "New", "MakeSlice", "Realloc"}},
}

// Twins checks that each exported function that panics without memory has a twin with Try in front,
// if it is to have one, and no twin otherwise.
//
// It follows calls by name to the functions that panic. A function that returns an error ends a
// path, because it does not panic for lack of memory. So does an exported method, because many types
// have one of its name and the types are unknown here.
func Twins(r *Repo) (found []Finding) {
	for dir, rule := range twinned {
		p := callsOf(r, dir)
		for _, name := range slices.Sorted(maps.Keys(p.functions)) {
			fn := p.functions[name]
			recv, verb, isMethod := strings.Cut(name, ".")
			twin := recv + ".Try" + verb
			if !isMethod {
				verb, twin = name, "Try"+name
			}
			if v, ok := strings.CutPrefix(verb, "Try"); ok && v != "" && fn.exported && !slices.Contains(rule.verbs, v) {
				found = append(found, fn.file.find(fn.decl.Pos(), "%s has the twin of a function that is to have none", name))
			}
			if !fn.exported || fn.fails || !slices.Contains(rule.verbs, verb) || !p.reaches(fn, rule.roots, map[string]bool{}) {
				continue
			}
			if t := p.functions[twin]; t == nil || !t.fails {
				found = append(found, fn.file.find(fn.decl.Pos(), "%s panics without memory and has no twin %s that returns the error", name, twin))
			}
		}
	}
	return found
}

// A caller is a function of a package, and the names that it calls.
type caller struct {
	file     *File
	decl     *ast.FuncDecl
	exported bool
	fails    bool     // It has a result of type error.
	calls    []string // Those of methods begin with a dot.
}

// A callGraph is the functions of a package by their names, which for methods begin with the type's,
// and by the names that calls have.
type callGraph struct {
	functions map[string]*caller
	called    map[string][]*caller
}

func callsOf(r *Repo, dir string) callGraph {
	p := callGraph{map[string]*caller{}, map[string][]*caller{}}
	r.goFiles(func(f *File) {
		if f.Dir() != dir || f.IsTest() || !built(f) {
			return
		}
		for _, d := range f.Syntax.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Body == nil {
				continue
			}
			fn := &caller{file: f, decl: d, exported: d.Name.IsExported() && exportedReceiver(d), fails: returnsError(d)}
			ast.Inspect(d.Body, func(n ast.Node) bool {
				if c, ok := n.(*ast.CallExpr); ok {
					fn.calls = append(fn.calls, calledName(c.Fun))
				}
				return true
			})
			name := d.Name.Name
			if recv := receiverName(d); recv != "" {
				name = recv + "." + name
			}
			p.functions[name] = fn
			if d.Recv == nil {
				p.called[d.Name.Name] = append(p.called[d.Name.Name], fn)
			} else if !d.Name.IsExported() {
				p.called["."+d.Name.Name] = append(p.called["."+d.Name.Name], fn)
			}
		}
	})
	return p
}

// reaches says whether a call of fn may end in one of the roots. seen holds the names that were
// followed before.
func (p callGraph) reaches(fn *caller, roots []string, seen map[string]bool) bool {
	for _, name := range fn.calls {
		if slices.Contains(roots, name) {
			return true
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, next := range p.called[name] {
			if !next.fails && p.reaches(next, roots, seen) {
				return true
			}
		}
	}
	return false
}

// returnsError says whether a result of the function is of type error.
func returnsError(d *ast.FuncDecl) bool {
	if d.Type.Results == nil {
		return false
	}
	for _, f := range d.Type.Results.List {
		if id, ok := f.Type.(*ast.Ident); ok && id.Name == "error" {
			return true
		}
	}
	return false
}
