// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// Lines reads lines of source where the profile says that they lie, dependencies and the standard
// library included. It only parses, so a file takes a millisecond, and it knows nothing that takes
// the types of other packages. A line that is not there, or that is in another function than in the
// profile, has no answers. Lines is for one goroutine at a time.
type Lines struct {
	root    string // of the main module, "" if it is not at hand
	fset    *token.FileSet
	files   map[string]*ast.File
	folders map[string]declarations // by folder
}

// NewLines returns a reader that has read nothing yet. Root is the folder of the main module, ""
// if that is not at hand: files that lay elsewhere when the program was built are looked for there.
func NewLines(root string) *Lines {
	return &Lines{root: root, fset: token.NewFileSet(), files: map[string]*ast.File{}, folders: map[string]declarations{}}
}

const (
	// linesFiles is how many files are read at most.
	linesFiles = 300
	// linesBytes is the size of the largest file that is read. Larger ones are generated tables.
	linesBytes = 4 << 20
)

// file parses a file once; it returns nil if the file is not at hand.
func (l *Lines) file(name string) *ast.File {
	if f, ok := l.files[name]; ok {
		return f
	}
	if len(l.files) >= linesFiles || !strings.HasSuffix(name, ".go") {
		return nil
	}
	var f *ast.File
	if path, ok := l.path(name); ok {
		f, _ = parser.ParseFile(l.fset, path, nil, parser.SkipObjectResolution) // What can be parsed is used.
	}
	l.files[name] = f
	return f
}

// path is where a file lies on this machine.
func (l *Lines) path(name string) (string, bool) {
	readable := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Size() <= linesBytes
	}
	if filepath.IsAbs(name) && readable(name) {
		return name, true
	}
	if l.root == "" {
		return "", false
	}
	dir, ok := folderOf(l.root, name)
	path := filepath.Join(l.root, dir, filepath.Base(name))
	return path, ok && readable(path)
}

// innermost is the function literal around a frame's line, or the declaration if there is none.
func (l *Lines) innermost(at *stack.Frame) ast.Node {
	fn := l.function(at)
	if fn == nil || fn.Body == nil {
		return nil
	}
	closure := strings.Contains(strings.TrimPrefix(at.Func, stack.PackageOf(at.Func)), ".func")
	found := ast.Node(fn)
	ast.Inspect(fn, func(n ast.Node) bool {
		if n == nil || l.line(n.Pos()) > at.Line || l.line(n.End()) < at.Line {
			return false
		}
		if lit, ok := n.(*ast.FuncLit); ok && (l.line(lit.Body.Pos()) < at.Line || closure) {
			found = n
		}
		return true
	})
	return found
}

// ReturnsNothing reports whether the function around a frame's line has no results but errors, so
// that nothing made in it leaves by them, and whether that is known.
func (l *Lines) ReturnsNothing(at *stack.Frame) (nothing, known bool) {
	var results *ast.FieldList
	switch fn := l.innermost(at).(type) {
	case *ast.FuncDecl:
		results = fn.Type.Results
	case *ast.FuncLit:
		results = fn.Type.Results
	default:
		return false, false
	}
	if results == nil {
		return true, true
	}
	for _, field := range results.List {
		if name, ok := field.Type.(*ast.Ident); !ok || name.Name != "error" && !numbers[name.Name] {
			return false, true
		}
	}
	return true, true
}

func (l *Lines) line(p token.Pos) int { return l.fset.Position(p).Line }

// function is the declaration around a frame's line, nil if the file is not at hand or has another
// function there than the profile.
func (l *Lines) function(at *stack.Frame) *ast.FuncDecl {
	f := l.file(at.File)
	if f == nil {
		return nil
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && l.line(fn.Pos()) <= at.Line && at.Line <= l.line(fn.End()) && declName(fn) == DeclaredName(at.Func) {
			return fn
		}
	}
	return nil
}

// Knows reports whether the line of a frame is at hand.
func (l *Lines) Knows(at *stack.Frame) bool { return l.function(at) != nil }

// InLoop reports whether the calls on a frame's line are in a loop of its function, and whether
// that is known. A loop around a function literal is not a loop in the literal.
func (l *Lines) InLoop(at *stack.Frame) (loop, known bool) {
	innermost := l.innermost(at)
	if innermost == nil {
		return false, false
	}
	ast.Inspect(innermost, func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch n := n.(type) {
		case *ast.ForStmt:
			body = n.Body
		case *ast.RangeStmt:
			body = n.Body
		case *ast.FuncLit:
			return n == innermost
		}
		if body != nil && l.line(body.Lbrace) <= at.Line && at.Line <= l.line(body.Rbrace) {
			loop = true
		}
		return true
	})
	return loop, true
}

// Sends reports whether a line sends on a channel, starts a goroutine, or puts a value into a pool:
// what it allocates then outlives the function.
func (l *Lines) Sends(at *stack.Frame) bool {
	found := false
	l.on(at, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.SendStmt, *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Put" && len(n.Args) == 1 {
				found = true
			}
		}
	})
	return found
}

// on calls do for the nodes that begin on a frame's line, in its function.
func (l *Lines) on(at *stack.Frame, do func(ast.Node)) {
	fn := l.function(at)
	if fn == nil {
		return
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		if n == nil || l.line(n.Pos()) > at.Line || l.line(n.End()) < at.Line {
			return false
		}
		if begin := l.line(n.Pos()); begin == at.Line || beginsOn(l, n, at.Line) {
			do(n)
		}
		return true
	})
}

// beginsOn reports whether a call's parenthesis is on a line: the compiler gives a call that line.
func beginsOn(l *Lines, n ast.Node, line int) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && l.line(call.Lparen) == line
}

// numbers are the basic types, none of which has a pointer but string.
var numbers = map[string]bool{
	"bool": true, "byte": true, "rune": true, "int": true, "int8": true, "int16": true, "int32": true, "int64": true,
	"uint": true, "uint8": true, "uint16": true, "uint32": true, "uint64": true, "uintptr": true,
	"float32": true, "float64": true, "complex64": true, "complex128": true,
}
