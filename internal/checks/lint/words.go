// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// banned are words that name nothing: whatever stands behind them has a name of its own.
var banned = []string{"util", "utils", "manager", "helper", "helpers"}

// standIns are folders of packages that have the name of the package whose place they take.
var standIns = []string{"adapters/z"}

// Names checks folders, files, packages and declared names for words that say nothing.
func Names(r *Repo) (found []Finding) {
	for _, f := range r.Files {
		if inside(f.Dir(), standIns...) {
			continue
		}
		for part := range strings.SplitSeq(f.Path, "/") {
			name := strings.TrimSuffix(part, path.Ext(part))
			for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }) {
				if word = strings.ToLower(word); isBanned(word) || word == "z" && word == name {
					found = append(found, Finding{Path: f.Path, Text: "the name says nothing: " + word})
				}
			}
		}
	}
	r.goFiles(func(f *File) {
		if name := f.Syntax.Name.Name; name == "z" && !inside(f.Dir(), standIns...) || isBanned(name) {
			found = append(found, f.find(f.Syntax.Name.Pos(), "the package's name says nothing: %s", name))
		}
		for _, id := range declared(f.Syntax) {
			for _, word := range camel(id.Name) {
				if isBanned(word) {
					found = append(found, f.find(id.Pos(), "%s: the word %s says nothing", id.Name, word))
				}
			}
		}
	})
	return found
}

func isBanned(word string) bool {
	for _, b := range banned {
		if word == b {
			return true
		}
	}
	return false
}

// declared returns the names that the file declares outside functions.
func declared(f *ast.File) (ids []*ast.Ident) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			// A foreign interface can give a method its name, as testing.TB does.
			if d.Recv == nil {
				ids = append(ids, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					ids = append(ids, s.Name)
				case *ast.ValueSpec:
					ids = append(ids, s.Names...)
				}
			}
		}
	}
	return ids
}

// camel splits a name in mixed case into words in lower case.
func camel(name string) (words []string) {
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = word[:0]
		}
	}
	for _, c := range name {
		if unicode.IsUpper(c) || c == '_' {
			flush()
		}
		if c != '_' {
			word = append(word, unicode.ToLower(c))
		}
	}
	flush()
	return words
}

// The patterns are put together from parts, so that this file does not match itself.
var (
	unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	machine    = regexp.MustCompile(`(?m)(?:^|[^\w./-])/(ro` + `ot|wo` + `rk|ho` + `me|Us` + `ers)/\w`)
)

// Marks checks all text for marks of unfinished work and for paths of an author's machine.
func Marks(r *Repo) (found []Finding) {
	for _, f := range r.Files {
		for _, rule := range []struct {
			re   *regexp.Regexp
			what string
		}{
			{unfinished, "a mark of unfinished work: finish it or open an issue"},
			{machine, "a path of somebody's machine"},
		} {
			for _, at := range rule.re.FindAllStringIndex(f.Text, -1) {
				line := 1 + strings.Count(f.Text[:at[1]], "\n")
				found = append(found, Finding{Path: f.Path, Line: line, Text: rule.what})
			}
		}
	}
	return found
}
