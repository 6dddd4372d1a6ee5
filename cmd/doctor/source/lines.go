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
	fset    *token.FileSet
	files   map[string]*ast.File
	folders map[string]map[string]ast.Expr // by folder: the package's types, by name
}

// NewLines returns a reader that has read nothing yet.
func NewLines() *Lines {
	return &Lines{fset: token.NewFileSet(), files: map[string]*ast.File{}, folders: map[string]map[string]ast.Expr{}}
}

const (
	// linesFiles is how many files are read at most.
	linesFiles = 300
	// linesBytes is the size of the largest file that is read. Larger ones are generated tables.
	linesBytes = 4 << 20
)

// file parses a file once; it returns nil for what is no source at hand.
func (l *Lines) file(name string) *ast.File {
	if f, ok := l.files[name]; ok {
		return f
	}
	if len(l.files) >= linesFiles || !filepath.IsAbs(name) || !strings.HasSuffix(name, ".go") {
		return nil
	}
	var f *ast.File
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() <= linesBytes {
		f, _ = parser.ParseFile(l.fset, name, nil, parser.SkipObjectResolution) // What can be parsed is used.
	}
	l.files[name] = f
	return f
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
	fn := l.function(at)
	if fn == nil || fn.Body == nil {
		return false, false
	}
	innermost := ast.Node(fn)
	ast.Inspect(fn, func(n ast.Node) bool {
		if n == nil || l.line(n.Pos()) > at.Line || l.line(n.End()) < at.Line {
			return false
		}
		if lit, ok := n.(*ast.FuncLit); ok && l.line(lit.Body.Pos()) < at.Line {
			innermost = n
		}
		return true
	})
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
