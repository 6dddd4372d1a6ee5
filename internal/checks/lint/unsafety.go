// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"go/build/constraint"
	"path"
	"slices"
	"strings"
)

// unsafeFolders may import unsafe in every file.
var unsafeFolders = []string{
	"internal/unsafex", "internal/vmem", "internal/typeinfo", "internal/percpu",
	"adapters/arenaproto/internal/memory", // a nested module cannot import unsafex
	"adapters/arenaproto/internal/testpb", // generated
	"benchmarks",                          // rivals: cgo and raw memory
}

// unsafeFiles may import unsafe besides. Keep it short: each entry says what the file does that
// unsafex cannot do for it.
var unsafeFiles = []string{
	"alloctest/stack.go",            // shows an allocator a slice of the stack that escape analysis does not see
	"internal/checks/misuse/raw.go", // does what a mistake in unsafe code does
	"cmd/bench/bound/bound.go",      // the physical bound: an unchecked slab and free list
	"arena/unsafe.go",               // these name unsafe.Pointer in what they export
	"pool/slab.go",                  // reads through no dictionary of types, which each generic function of unsafex costs
	"arena/slabs.go",
}

// onlySanitized reports whether the file is compiled in builds with a sanitizer alone, which need C
// or its instructions anyway.
func onlySanitized(f *File) bool {
	before, _, _ := strings.Cut(f.body(), "\n\n")
	line, ok := strings.CutPrefix(before, "//go:build ")
	if !ok || !inside(path.Dir(f.Path), "internal/sanitize") {
		return false
	}
	e, err := constraint.Parse("//go:build " + line)
	// Every other tag may be set: without these four the file must stay out.
	return err == nil && !e.Eval(func(tag string) bool { return !slices.Contains([]string{"asan", "msan", "valgrind", "race"}, tag) })
}

// UnsafePlaces checks that unsafe, linkname, cgo and assembly stand only where they may.
func UnsafePlaces(r *Repo) (found []Finding) {
	for _, f := range r.Files {
		if (path.Ext(f.Path) == ".s" || path.Ext(f.Path) == ".S") && !onlySanitized(&f) {
			found = append(found, Finding{Path: f.Path, Text: "assembly: the promises hold for what the compiler checks"})
		}
	}
	r.goFiles(func(f *File) {
		for _, spec := range f.Syntax.Imports {
			switch {
			case spec.Path.Value == `"unsafe"` && !mayUseUnsafe(f):
				found = append(found, f.find(spec.Pos(), "unsafe may not stand here; see internal/unsafex"))
			case spec.Path.Value == `"C"` && !inside(f.Dir(), "benchmarks") && !onlySanitized(f):
				found = append(found, f.find(spec.Pos(), "cgo: the packages that everyone builds need none"))
			}
		}
		for _, group := range f.Syntax.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:linkname ") && f.Dir() != "internal/percpu" {
					found = append(found, f.find(c.Pos(), "linkname may stand in internal/percpu only"))
				}
			}
		}
	})
	return found
}

func mayUseUnsafe(f *File) bool {
	return inside(f.Dir(), unsafeFolders...) || slices.Contains(unsafeFiles, f.Path) ||
		// What a test pretends to be, a caller with a stale or forged pointer, it cannot be
		// without.
		f.IsTest() && inside(f.Dir(), "offheap", "arena", "alloctest", "internal")
}

// harmless are the functions of unsafe that neither touch memory nor make a pointer that was none
// before.
var harmless = []string{"Sizeof", "Alignof", "Offsetof", "SliceData"}

// UnsafeReasons checks that a comment with SAFETY: stands above each unsafe operation: in the lines
// above it up to the next empty one, or in the comment of the function around it.
func UnsafeReasons(r *Repo) (found []Finding) {
	r.goFiles(func(f *File) {
		if inside(f.Dir(), "benchmarks") || f.IsTest() || f.generated() {
			return
		}
		lines := strings.Split(f.Text, "\n")
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && strings.Contains(fn.Doc.Text(), "SAFETY:") {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !isUnsafe(call.Fun) || reasoned(lines, f.line(call.Pos())) {
					return true
				}
				found = append(found, f.find(call.Pos(), "unsafe without a // SAFETY: comment above it"))
				return false
			})
		}
	})
	return found
}

// isUnsafe reports whether e is an operation of package unsafe that can go wrong.
func isUnsafe(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "unsafe" && !slices.Contains(harmless, sel.Sel.Name)
}

// reasoned looks upwards from the line (from 1) to the next empty one.
func reasoned(lines []string, line int) bool {
	for i := line - 1; i >= 0 && strings.TrimSpace(lines[i]) != ""; i-- {
		if strings.Contains(lines[i], "SAFETY:") {
			return true
		}
	}
	return false
}
