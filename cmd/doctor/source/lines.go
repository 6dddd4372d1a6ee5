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
	linesFiles = 1000
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
		if ok && l.line(fn.Pos()) <= at.Line && at.Line <= l.line(fn.End()) && isIn(at.Func, declName(fn)) {
			return fn
		}
	}
	return nil
}

// Knows reports whether the line of a frame is at hand.
func (l *Lines) Knows(at *stack.Frame) bool { return l.function(at) != nil }

// Loops is the number of loops of its function around a frame's line, and whether that is known. A
// loop around a function literal is not a loop in the literal.
func (l *Lines) Loops(at *stack.Frame) (loops int, known bool) {
	innermost := l.innermost(at)
	if innermost == nil {
		return 0, false
	}
	_, loops = l.round(innermost, at.Line)
	return loops, true
}

// round is the body of the innermost loop around a line of a function, nil if there is none, and the
// number of loops around it. A loop around a function literal is not one in the literal.
func (l *Lines) round(fn ast.Node, line int) (body *ast.BlockStmt, loops int) {
	ast.Inspect(fn, func(n ast.Node) bool {
		var b *ast.BlockStmt
		switch n := n.(type) {
		case *ast.ForStmt:
			b = n.Body
		case *ast.RangeStmt:
			b = n.Body
		case *ast.FuncLit:
			return n == fn
		}
		if b != nil && l.line(b.Lbrace) <= line && line <= l.line(b.Rbrace) {
			body, loops = b, loops+1
		}
		return true
	})
	return body, loops
}

// folderAt is the folder of a file that was parsed.
func (l *Lines) folderAt(p token.Pos) string { return filepath.Dir(l.fset.Position(p).Filename) }

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

// declarations are what a folder's package declares, by name: its types, nil for generic ones, of
// which nothing is known, and the values of its variables and constants, nil where there is none.
// Exported are its exported functions and methods.
type declarations struct {
	types, values map[string]ast.Expr
	exported      *[]string
}

// Exports are the exported functions and methods of the package that a frame's function belongs to, as
// Unmarshal and (*Decoder).Reset.
func (l *Lines) Exports(of *stack.Frame) []string {
	if file, ok := l.path(of.File); ok {
		return *l.declared(filepath.Dir(file)).exported
	}
	return nil
}

// types are the types that a folder's package declares.
func (l *Lines) types(folder string) map[string]ast.Expr { return l.declared(folder).types }

// declared reads the declarations of a folder once.
func (l *Lines) declared(folder string) declarations {
	if p, ok := l.folders[folder]; ok {
		return p
	}
	p := declarations{map[string]ast.Expr{}, map[string]ast.Expr{}, new([]string)}
	l.folders[folder] = p
	if !filepath.IsAbs(folder) {
		return p
	}
	names, _ := filepath.Glob(filepath.Join(folder, "*.go")) // A folder that cannot be read has no types.
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f := l.file(name)
		if f == nil {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				p.add(d)
			case *ast.FuncDecl:
				if receiver, method, _ := strings.Cut(declName(d), "."); d.Recv != nil && ast.IsExported(receiver) && ast.IsExported(method) {
					*p.exported = append(*p.exported, "(*"+receiver+")."+method)
				} else if d.Recv == nil && d.Name.IsExported() {
					*p.exported = append(*p.exported, d.Name.Name)
				}
			}
		}
	}
	return p
}

// add adds the names of a declaration.
func (p declarations) add(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			p.types[spec.Name.Name] = spec.Type
			if spec.TypeParams != nil {
				p.types[spec.Name.Name] = nil
			}
		case *ast.ValueSpec:
			for i, name := range spec.Names {
				p.values[name.Name] = nil
				if len(spec.Values) == len(spec.Names) {
					p.values[name.Name] = spec.Values[i]
				}
			}
		}
	}
}
