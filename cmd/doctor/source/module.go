package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A Module is the source of a program: the packages of the frames that it was opened for, with
// types, and the compiler's escape analysis. It does not guess: if a line's function has another
// name than in the profile, the source is of another version, and the line is left out.
type Module struct {
	// Problems says what could not be read, and why, in one line each.
	Problems []string

	root     string
	env      []string                     // of the go command
	module   string                       // the module's path
	packages map[string]*packages.Package // by import path
	files    map[string]*sourceFile       // by import path, a slash, and the file's name
	escapes  map[string][]escape          // by import path, a slash, the file's name, a colon, and the line
}

// sourceFile is a parsed file and the package that it belongs to.
type sourceFile struct {
	pkg    *packages.Package
	syntax *ast.File
}

// folder finds the folder below the root that has the file.
func (s *Module) folder(file string) (string, bool) { return folderOf(s.root, file) }

// folderOf finds the folder below a root that has the file. The file may have been compiled
// elsewhere, so folderOf takes the longest end of its path that exists below the root.
func folderOf(root, file string) (string, bool) {
	if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
		file = rel
	}
	// The separator is that of the machine that compiled the program.
	parts := strings.Split(stack.Slashed(file), "/")
	for i := range parts {
		rel := filepath.Join(parts[i:]...)
		if rel == "" || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := os.Stat(filepath.Join(root, rel)); err == nil && info.Mode().IsRegular() {
			return filepath.Dir(rel), true
		}
	}
	return "", false
}

// file returns the file of a frame, or nil if it was not read. It finds a package main by its
// folder, because profiles have only the name "main" for it.
func (s *Module) file(at *stack.Frame) *sourceFile {
	base := path.Base(stack.Slashed(at.File))
	if pkg := importPath(at.Func); pkg != "main" {
		return s.files[pkg+"/"+base]
	}
	dir, ok := s.folder(at.File)
	if !ok {
		return nil
	}
	for _, f := range s.files {
		name := f.pkg.Fset.Position(f.syntax.Package).Filename
		if rel, err := filepath.Rel(s.root, name); err == nil && rel == filepath.Join(dir, base) {
			return f
		}
	}
	return nil
}

// function returns the declaration around a frame's line, if it is the function that the profile
// names. The initialiser of a package's variable has no declaration; ok is true then, too.
func (f *sourceFile) function(at *stack.Frame) (decl *ast.FuncDecl, ok bool) {
	want := DeclaredName(at.Func)
	for _, d := range f.syntax.Decls {
		if f.line(d.Pos()) > at.Line || at.Line > f.line(d.End()) {
			continue
		}
		fn, isFunc := d.(*ast.FuncDecl)
		if !isFunc {
			return nil, want == "glob" || want == "init"
		}
		return fn, want == declName(fn)
	}
	return nil, false
}

// text returns an expression as one short line.
func (f *sourceFile) text(e ast.Expr) string { return types.ExprString(e) }

func (f *sourceFile) line(p token.Pos) int { return f.pkg.Fset.Position(p).Line }

// escape is the compiler's report on one allocation: the expression on the heap, and the flow by
// which it leaves the function.
type escape struct {
	What string // the expression, as the compiler writes it: &node{...}
	Line int    // the line of the expression, or of the call if its function was inlined
	Flow []step // from the expression to where it escapes
}

// step is one assignment of the flow.
type step struct {
	Code string // return x
	Why  string // return, assign, call parameter, interface-converted, too large for stack ...
}

// reason says in one line why the value is on the heap.
func (e escape) reason() string {
	for i := len(e.Flow) - 1; i >= 0; i-- {
		if s := e.Flow[i]; s.Why != "spill" {
			return fmt.Sprintf("%s escapes to the heap by %s (%s)", e.What, s.Code, s.Why)
		}
	}
	return e.What + " escapes to the heap"
}
