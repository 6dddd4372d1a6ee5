// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A scope is what the names in a function mean, as far as its file and its package tell.
type scope struct {
	*Lines
	fn     ast.Node            // the innermost function
	locals map[string]ast.Expr // what it declares, with the only value that a name has, nil if there are several
	outer  map[string]ast.Expr // what the functions around it declare
	values map[string]ast.Expr // variables and constants of the package
	types  map[string]ast.Expr
	std    map[string]bool // imported packages by name: whether they are the standard library's
	before token.Pos       // the place from which values are looked at
	table  bool            // fixed met an element of a table
}

// scope is the scope of a frame's line, nil if that is not at hand.
func (l *Lines) scope(at *stack.Frame) *scope {
	fn, around := l.innermost(at), l.function(at)
	if fn == nil {
		return nil
	}
	p := l.declared(l.folderAt(around.Pos()))
	s := &scope{Lines: l, fn: fn, locals: localNames(fn), outer: localNames(around), values: p.values, types: p.types, std: map[string]bool{}}
	for _, i := range l.file(at.File).Imports {
		from, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(from)
		if i.Name != nil {
			name = i.Name.Name
		}
		first, _, _ := strings.Cut(from, "/")
		s.std[name] = !strings.Contains(first, ".")
	}
	return s
}

// pure are packages of the standard library whose functions have equal results for equal arguments.
var pure = []string{"strings", "bytes", "fmt", "errors", "regexp", "strconv", "reflect", "slices", "maps", "math", "big", "path", "filepath", "unicode", "utf8", "time.Duration"}

// isImport reports whether an expression is the name of an imported package.
func (s *scope) isImport(e ast.Expr) bool {
	name, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	_, _, declared := s.value(name.Name)
	_, isType := s.types[name.Name]
	return !declared && !isType
}

// value is the only value of a variable or constant, nil if it has several or none. local says that the
// innermost function declares it.
func (s *scope) value(name string) (value ast.Expr, local, declared bool) {
	for i, names := range []map[string]ast.Expr{s.locals, s.outer, s.values} {
		if value, declared = names[name]; declared {
			return value, i == 0, true
		}
	}
	return nil, false, false
}

// deepestValue bounds the assignments that are followed.
const deepestValue = 3

// constant reports whether an expression has the same value each time, as far as the source tells:
// it is made of literals, names of other packages, and what their functions return for constant
// arguments.
func (s *scope) constant(e ast.Expr, depth int) bool {
	all := func(list []ast.Expr) bool {
		return !slices.ContainsFunc(list, func(e ast.Expr) bool { return !s.constant(e, depth) })
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit, *ast.ArrayType, *ast.MapType, *ast.FuncType, *ast.InterfaceType, *ast.StructType:
		return true
	case *ast.Ident:
		return s.constantName(e.Name, depth)
	case *ast.SelectorExpr:
		return s.isImport(e.X) || s.constant(e.X, depth)
	case *ast.KeyValueExpr:
		return s.constant(e.Value, depth)
	case *ast.CompositeLit:
		return all(e.Elts)
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.CompositeLit)
		return (e.Op != token.AND || ok && len(lit.Elts) > 0) && s.constant(e.X, depth)
	case *ast.BinaryExpr:
		return s.constant(e.X, depth) && s.constant(e.Y, depth)
	case *ast.CallExpr:
		return s.constantCall(e, depth) && all(e.Args)
	}
	return false
}

// constantName reports whether a name has a constant value. A variable that was given to a call with
// other arguments has none any more.
func (s *scope) constantName(name string, depth int) bool {
	value, local, declared := s.value(name)
	switch {
	case !declared:
		return true // of the language, or a function
	case value == nil || depth == deepestValue || !s.constant(value, depth+1):
		return false
	}
	_, literal := value.(*ast.BasicLit)
	return !local || literal || s.text(value) || !s.given(name, depth+1)
}

// given reports whether a call before the place gives a variable something that varies.
func (s *scope) given(name string, depth int) (given bool) {
	is := func(e ast.Expr) bool {
		id, ok := root(e).(*ast.Ident)
		return ok && id.Name == name
	}
	ast.Inspect(s.fn, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || given || call.Pos() >= s.before {
			return !given
		}
		method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if ok && is(method.X) || slices.ContainsFunc(call.Args, is) {
			given = slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return !is(e) && (depth > deepestValue || !s.constant(e, depth)) })
		}
		return !given
	})
	return given
}

// constantCall reports whether what a call calls has equal results for equal arguments, as far as
// that is known: conversions, and functions of other packages but those of the standard library that
// ask the system.
func (s *scope) constantCall(call *ast.CallExpr, depth int) bool {
	fun := ast.Unparen(call.Fun)
	if generic, ok := fun.(*ast.IndexExpr); ok {
		fun = generic.X
	}
	switch f := fun.(type) {
	case *ast.ArrayType:
		return true
	case *ast.Ident:
		_, converts := s.types[f.Name]
		return converts || f.Name == "string" || numbers[f.Name]
	case *ast.SelectorExpr:
		if !s.isImport(f.X) {
			return s.constant(f.X, depth) // a method
		}
		name := f.X.(*ast.Ident).Name
		return !s.std[name] || slices.Contains(pure, name) || slices.Contains(pure, name+"."+f.Sel.Name)
	}
	return false
}

// text reports whether an expression is a constant text of several words, or a literal with one. A single
// word is the name of something.
func (s *scope) text(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING && strings.ContainsAny(e.Value[1:len(e.Value)-1], " \t\n")
	case *ast.Ident:
		value, _, _ := s.value(e.Name)
		return value != nil && s.constant(value, 1) && s.text(value)
	case *ast.BinaryExpr:
		return s.text(e.X) || s.text(e.Y)
	case *ast.UnaryExpr:
		return s.text(e.X)
	case *ast.KeyValueExpr:
		return s.text(e.Value)
	case *ast.CompositeLit:
		return slices.ContainsFunc(e.Elts, s.text)
	case *ast.CallExpr: // strings.NewReader(text), []byte(text)
		return len(e.Args) == 1 && s.text(e.Args[0])
	}
	return false
}

// varies reports whether a name is a variable of the innermost function that may have another value
// at each call.
func (s *scope) varies(name string) bool {
	value, local := s.locals[name]
	if !local {
		return false
	}
	if element, ok := value.(*ast.IndexExpr); ok {
		return !s.fixed(element)
	}
	return value == nil || !s.constant(value, 1)
}

// fixed reports whether an expression has one value at all calls of a function, or is an element of
// a table of such values, but for variables outside of it that change.
func (s *scope) fixed(e ast.Expr) bool {
	fixed := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, func(n ast.Node) bool {
				if name, ok := n.(*ast.Ident); ok && s.varies(name.Name) {
					fixed = false
				}
				return fixed
			})
			return false
		case *ast.IndexExpr: // An element of a table.
			s.table = true
			fixed = fixed && s.fixed(n.X)
			return false
		case *ast.Ident:
			fixed = fixed && !s.varies(n.Name)
		case *ast.FuncLit:
			fixed = false
		}
		return fixed
	})
	return fixed
}

// localNames are the names that a function declares, each with its value if it has only one: a
// variable that is set once, or an element of a table from outside over which the function ranges.
func localNames(fn ast.Node) map[string]ast.Expr {
	locals := map[string]ast.Expr{}
	set := func(e, value ast.Expr) {
		name, ok := e.(*ast.Ident)
		if !ok {
			return
		}
		if _, again := locals[name.Name]; again {
			value = nil
		}
		locals[name.Name] = value
	}
	valueOf := func(i, names int, values []ast.Expr) ast.Expr {
		if len(values) == names || i == 0 && len(values) == 1 {
			return values[i]
		}
		return nil
	}
	change := func(e ast.Expr) {
		if name, ok := root(e).(*ast.Ident); ok {
			if _, local := locals[name.Name]; local {
				locals[name.Name] = nil
			}
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				set(name, nil)
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				set(name, valueOf(i, len(n.Names), n.Values))
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if n.Tok == token.DEFINE {
					set(left, valueOf(i, len(n.Lhs), n.Rhs))
				} else if i >= len(n.Rhs) || !plain(n.Rhs[i]) || left == root(left) {
					change(left)
				}
			}
		case *ast.IncDecStmt:
			change(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				change(n.X)
			}
		case *ast.RangeStmt:
			set(n.Key, nil)
			if n.Value != nil {
				set(n.Value, &ast.IndexExpr{X: n.X, Index: &ast.BasicLit{}})
			}
		}
		return true
	})
	return locals
}

// plain reports whether a value of a field is a literal or a name of the language or of a package.
func plain(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return e.Name == "true" || e.Name == "false" || e.Name == "nil"
	}
	return false
}

// root is what a selection, an index, or a chain of calls of methods begins with.
func root(e ast.Expr) ast.Expr {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.UnaryExpr:
			e = x.X
		case *ast.CallExpr:
			method, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr)
			if !ok {
				return x
			}
			e = method.X
		default:
			return x
		}
	}
}
