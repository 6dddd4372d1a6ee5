// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// ModulePath is the import path of the library.
const ModulePath = "github.com/freehold-go/freehold"

// File is one file of the repository.
type File struct {
	Path string // from the repository's root, with slashes
	Text string // "" for binary files

	Syntax *ast.File // Go files only
	fset   *token.FileSet
}

// Repo is the set of files that the rules look at.
type Repo struct {
	Files []File

	fset  *token.FileSet            // of all files
	types map[string]*types.Package // by folder, those that others import; see OneWay
}

// Finding is a broken rule.
type Finding struct {
	Path string
	Line int // 0 concerns the whole file
	Text string
}

// String is the finding as compilers write theirs.
func (f Finding) String() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s", f.Path, f.Line, f.Text)
}

// Root finds the repository's root above the working directory: the folder with go.work.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("lint: no go.work above the working directory")
		}
		dir = up
	}
}

// Load reads the files that git tracks or would add, or, without git, all but those in hidden
// folders.
func Load(root string) (*Repo, error) {
	names, err := list(root)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		switch {
		case os.IsNotExist(err):
			continue // deleted, not yet committed
		case err != nil:
			return nil, fmt.Errorf("lint: %w", err)
		case !utf8.Valid(b):
			b = nil
		}
		files[name] = string(b)
	}
	return New(files)
}

func list(root string) (names []string, err error) {
	git := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if out, err := git.Output(); err == nil {
		names = strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
		return slices.Compact(names), nil
	}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			names = append(names, name)
			return err
		}
		if strings.HasPrefix(d.Name(), ".") && name != "." && name != ".ci" {
			return fs.SkipDir
		}
		return nil
	})
	return names, err
}

// New makes a repository of texts by path.
func New(files map[string]string) (*Repo, error) {
	r := &Repo{fset: token.NewFileSet(), types: map[string]*types.Package{}}
	for name, text := range files {
		f := File{Path: name, Text: text, fset: r.fset}
		if strings.HasSuffix(name, ".go") && !strings.Contains(name, "testdata/") {
			var err error
			if f.Syntax, err = parser.ParseFile(f.fset, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
				return nil, fmt.Errorf("lint: %w", err)
			}
		}
		r.Files = append(r.Files, f)
	}
	slices.SortFunc(r.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return r, nil
}

// goFiles walks the parsed files.
func (r *Repo) goFiles(visit func(f *File)) {
	for i := range r.Files {
		if r.Files[i].Syntax != nil {
			visit(&r.Files[i])
		}
	}
}

// Dir is the folder of the file, "." for the root.
func (f *File) Dir() string { return path.Dir(f.Path) }

// IsTest reports whether the file is compiled by go test alone.
func (f *File) IsTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

func (f *File) line(p token.Pos) int { return f.fset.Position(p).Line }

// find makes a finding at p.
func (f *File) find(p token.Pos, format string, args ...any) Finding {
	return Finding{Path: f.Path, Line: f.line(p), Text: fmt.Sprintf(format, args...)}
}

// inside reports whether dir is one of the folders or lies below one.
func inside(dir string, folders ...string) bool {
	for _, folder := range folders {
		if dir == folder || strings.HasPrefix(dir, folder+"/") {
			return true
		}
	}
	return false
}

// generated reports whether the file says in the agreed form that a program wrote it.
func (f *File) generated() bool { return ast.IsGenerated(f.Syntax) }
