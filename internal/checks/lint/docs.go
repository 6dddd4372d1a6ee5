// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// Docs checks that exported names are documented, and that each package opens with one sentence.
func Docs(r *Repo) (found []Finding) {
	packages := map[string]*File{} // folder to the file with the package's comment
	seen := map[string]*File{}
	r.goFiles(func(f *File) {
		if f.IsTest() || f.generated() {
			return
		}
		if seen[f.Dir()] == nil {
			seen[f.Dir()] = f
		}
		if f.Syntax.Doc.Text() != "" {
			if old := packages[f.Dir()]; old != nil && !constrained(old) && !constrained(f) {
				found = append(found, f.find(f.Syntax.Package, "the package is described in %s already", old.Path))
			}
			packages[f.Dir()] = f
			found = append(found, opening(f)...)
		}
		if f.Syntax.Name.Name != "main" {
			found = append(found, undocumented(f)...)
		}
	})
	for dir, f := range seen {
		doc := packages[dir]
		if doc == nil {
			found = append(found, f.find(f.Syntax.Package, "package %s has no description", f.Syntax.Name.Name))
		} else if public(dir) && path.Base(doc.Path) != "doc.go" {
			found = append(found, doc.find(doc.Syntax.Package, "a public package is described in doc.go"))
		}
	}
	return found
}

// public reports whether the folder is a package of the library that users import.
func public(dir string) bool { return !inside(dir, nested...) && !inside(dir, "internal", "examples") }

// constrained reports whether a build tag decides over the file.
func constrained(f *File) bool {
	before, _, _ := strings.Cut(f.Text, "\npackage ")
	return strings.Contains("\n"+before, "\n//go:build ")
}

// sentenceEnd is a full stop before a capital; one within a name or a number ends no sentence.
var sentenceEnd = regexp.MustCompile(`\. [A-Z]`)

// opening checks that the first paragraph of a package's description is one sentence.
func opening(f *File) []Finding {
	first, _, _ := strings.Cut(f.Syntax.Doc.Text(), "\n\n")
	first = strings.Join(strings.Fields(first), " ")
	if !strings.HasSuffix(first, ".") {
		return []Finding{f.find(f.Syntax.Package, "the description's first paragraph does not end in a full stop")}
	}
	if sentenceEnd.MatchString(first) {
		return []Finding{f.find(f.Syntax.Package, "the description opens with more than one sentence")}
	}
	return nil
}

// undocumented finds exported declarations without a comment.
func undocumented(f *File) (found []Finding) {
	for _, decl := range f.Syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) && d.Doc.Text() == "" {
				found = append(found, f.find(d.Pos(), "%s is exported without a comment", d.Name.Name))
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				found = append(found, undocumentedSpec(f, d, spec)...)
			}
		}
	}
	return found
}

func undocumentedSpec(f *File, d *ast.GenDecl, spec ast.Spec) (found []Finding) {
	grouped := d.Lparen != token.NoPos
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && s.Doc.Text() == "" && (grouped || d.Doc.Text() == "") {
			found = append(found, f.find(s.Pos(), "%s is exported without a comment", s.Name.Name))
		}
	case *ast.ValueSpec:
		// One comment may serve a whole group of constants or variables.
		if s.Doc.Text() != "" || s.Comment.Text() != "" || d.Doc.Text() != "" {
			return nil
		}
		for _, id := range s.Names {
			if id.IsExported() {
				found = append(found, f.find(id.Pos(), "%s is exported without a comment", id.Name))
			}
		}
	}
	return found
}
