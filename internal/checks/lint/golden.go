// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"go/build/constraint"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Dependencies lists what each go.mod of the repository requires, one module a line, by the path of
// the go.mod file. Versions are left out, because go.mod has them, but for the library's: there a
// new version can raise the Go that users need. Programs of other people that are measured, and what
// runs them, have modules of their own that nothing here is built from; benchmarks/foreign checks
// them.
func Dependencies(r *Repo) map[string]string {
	lists := map[string]string{}
	for _, f := range r.Files {
		if path.Base(f.Path) != "go.mod" || strings.Contains(f.Path, "testdata/") || inside(f.Dir(), "benchmarks/foreign") {
			continue
		}
		var lines []string
		for _, req := range requirements(f.Text) {
			line := req.path
			if f.Path == "go.mod" {
				line += " " + req.version
			}
			if req.indirect {
				line += " (indirect)"
			}
			lines = append(lines, line+"\n")
		}
		slices.Sort(lines)
		lists[f.Path] = strings.Join(lines, "")
	}
	return lists
}

type requirement struct {
	path, version string
	indirect      bool
}

// requirements reads the require directives of a go.mod file, single ones and blocks.
func requirements(text string) (reqs []requirement) {
	block := false
	for line := range strings.Lines(text) {
		line, comment, _ := strings.Cut(line, "//")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == "require" && len(fields) == 2 && fields[1] == "(":
			block = true
			continue
		case block && fields[0] == ")":
			block = false
			continue
		case fields[0] == "require" && len(fields) == 3:
			fields = fields[1:]
		case !block || len(fields) != 2:
			continue
		}
		reqs = append(reqs, requirement{fields[0], fields[1], strings.TrimSpace(comment) == "indirect"})
	}
	return reqs
}

// replacedVersion finds the version of the library in go.work.
var replacedVersion = regexp.MustCompile(`(?m)^replace ` + regexp.QuoteMeta(ModulePath) + ` (v\S+) => \./$`)

// goVersion finds the Go version in a go.mod file.
var goVersion = regexp.MustCompile(`(?m)^go (\S+)$`)

// Modules checks that nested modules can be installed once the next version is tagged: each
// requires the library at the version that go.work replaces, and none has a replace of its own. The
// module benchmarks is not installed, and stands outside the workspace. Adapters need no newer Go than
// the library, so that they do not raise their users'.
func Modules(r *Repo) (found []Finding) {
	version, oldest := "", ""
	for _, f := range r.Files {
		if m := goVersion.FindStringSubmatch(f.Text); f.Path == "go.mod" && m != nil {
			oldest = m[1]
		}
		if m := replacedVersion.FindStringSubmatch(f.Text); f.Path == "go.work" && m != nil {
			version = m[1]
		}
	}
	for _, f := range r.Files {
		if path.Base(f.Path) != "go.mod" || !inside(f.Dir(), nested...) || inside(f.Dir(), "benchmarks") {
			continue
		}
		if regexp.MustCompile(`(?m)^replace\b`).MatchString(f.Text) {
			found = append(found, Finding{Path: f.Path, Text: "replace: whoever installs from here does not get it; go.work has it"})
		}
		if m := goVersion.FindStringSubmatch(f.Text); inside(f.Dir(), "adapters") && (m == nil || m[1] != oldest) {
			found = append(found, Finding{Path: f.Path, Text: "an adapter needs the library's Go " + oldest + " and no other"})
		}
		for _, req := range requirements(f.Text) {
			if req.path == ModulePath && req.version != version {
				found = append(found, Finding{Path: f.Path, Text: "requires the library at " + req.version + ", go.work replaces " + version})
			}
		}
	}
	return found
}

// API lists the exported declarations of the package in a folder, as linux/amd64 without cgo sees
// them: sorted, without comments, bodies, or the values of variables.
func API(r *Repo, dir string) (string, error) {
	var decls []string
	var failed error
	r.goFiles(func(f *File) {
		if f.Dir() != dir || f.IsTest() || !built(f) {
			return
		}
		// Parsed anew, without comments, because what follows cuts the tree.
		fset := token.NewFileSet()
		syntax, err := parser.ParseFile(fset, f.Path, f.Text, parser.SkipObjectResolution)
		if err != nil {
			failed = err
			return
		}
		ast.FileExports(syntax)
		for _, decl := range syntax.Decls {
			for _, d := range single(decl) {
				var b strings.Builder
				if err := format.Node(&b, fset, d); err != nil {
					failed = err
					return
				}
				decls = append(decls, b.String()+"\n")
			}
		}
	})
	slices.Sort(decls)
	return strings.Join(decls, ""), failed
}

// single splits a declaration into parts that can be sorted. Constants stay together, because one
// counts on from the one before.
func single(decl ast.Decl) []ast.Decl {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if !exportedReceiver(d) {
			return nil // FileExports keeps it
		}
		d.Body = nil
		return []ast.Decl{d}
	case *ast.GenDecl:
		switch d.Tok {
		case token.CONST:
			return []ast.Decl{d}
		case token.TYPE, token.VAR:
			var parts []ast.Decl
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					v.Values = nil
				}
				parts = append(parts, &ast.GenDecl{Tok: d.Tok, TokPos: d.TokPos, Specs: []ast.Spec{spec}})
			}
			return parts
		}
	}
	return nil
}

// otherSystems are the words at the end of file names that bind a file to another system than
// linux/amd64.
var otherSystems = []string{
	"aix", "android", "darwin", "dragonfly", "freebsd", "illumos", "ios", "js", "netbsd", "openbsd", "plan9", "solaris", "wasip1",
	"windows", "386", "arm", "arm64", "loong64", "mips", "mips64", "mips64le", "mipsle", "ppc64", "ppc64le", "riscv64", "s390x", "wasm",
}

// built reports whether the file belongs to an ordinary build for linux/amd64 without cgo.
func built(f *File) bool {
	parts := strings.Split(strings.TrimSuffix(path.Base(f.Path), ".go"), "_")
	if len(parts) > 1 && slices.Contains(otherSystems, parts[len(parts)-1]) {
		return false
	}
	for line := range strings.Lines(f.Text) {
		if strings.HasPrefix(line, "package ") {
			break
		}
		if !constraint.IsGoBuild(line) {
			continue
		}
		expr, err := constraint.Parse(strings.TrimSpace(line))
		if err != nil {
			return false
		}
		return expr.Eval(func(tag string) bool {
			return tag == "linux" || tag == "amd64" || tag == "unix" || strings.HasPrefix(tag, "go1.")
		})
	}
	return true
}
