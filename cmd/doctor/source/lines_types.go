// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/token"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// PointerFree reports whether what a line allocates is free of pointers, and whether that is known:
// if the line has exactly one kind of expression that allocates, of a type that syntax tells.
func (l *Lines) PointerFree(at *stack.Frame) (free, known bool) {
	fn := l.function(at)
	if fn == nil {
		return false, false
	}
	var made []ast.Expr
	l.on(at, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.UnaryExpr:
			if lit, ok := n.X.(*ast.CompositeLit); ok && n.Op == token.AND {
				made = append(made, lit.Type)
			}
		case *ast.CompositeLit:
			if t, ok := n.Type.(*ast.ArrayType); ok && t.Len == nil {
				made = append(made, t.Elt)
			}
		case *ast.CallExpr:
			if t := madeBy(n, fn); t != nil {
				made = append(made, t)
			}
		}
	})
	for i, t := range made {
		f, ok := l.pointerFree(t, l.folderAt(fn.Pos()), 0)
		if !ok || i > 0 && f != free {
			return false, false
		}
		free = f
	}
	return free, len(made) > 0
}

// madeBy is the type of the elements that a call allocates, nil if it allocates none that syntax
// tells.
func madeBy(n *ast.CallExpr, fn *ast.FuncDecl) ast.Expr {
	name, ok := ast.Unparen(n.Fun).(*ast.Ident)
	switch {
	case ok && name.Name == "new" && len(n.Args) == 1:
		return n.Args[0]
	case ok && name.Name == "make" && len(n.Args) >= 2:
		if t, ok := n.Args[0].(*ast.ArrayType); ok && t.Len == nil {
			return t.Elt
		}
	case ok && name.Name == "append" && len(n.Args) >= 1:
		return elementOf(n.Args[0], fn)
	}
	if t, ok := n.Fun.(*ast.ArrayType); ok && t.Len == nil { // []byte(s)
		return t.Elt
	}
	return nil
}

// elementOf is the type of a slice's elements, by the slice's conversion, or by the parameter or
// variable of its name.
func elementOf(e ast.Expr, fn *ast.FuncDecl) (elt ast.Expr) {
	element := func(t ast.Expr) {
		if t, ok := t.(*ast.ArrayType); ok && t.Len == nil {
			elt = t.Elt
		}
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		element(e.Fun)
	case *ast.SliceExpr:
		return elementOf(e.X, fn)
	case *ast.Ident:
		for _, list := range []*ast.FieldList{fn.Type.Params, fn.Type.Results} {
			if list == nil {
				continue
			}
			for _, field := range list.List {
				for _, name := range field.Names {
					if name.Name == e.Name {
						element(field.Type)
					}
				}
			}
		}
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for _, name := range n.Names {
					if name.Name == e.Name && n.Type != nil {
						element(n.Type)
					}
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if name, ok := left.(*ast.Ident); ok && name.Name == e.Name && n.Tok == token.DEFINE && i < len(n.Rhs) && len(n.Lhs) == len(n.Rhs) {
						if call, ok := n.Rhs[i].(*ast.CallExpr); ok && len(call.Args) > 0 {
							if made, ok := call.Fun.(*ast.Ident); ok && made.Name == "make" {
								element(call.Args[0])
							}
						}
					}
				}
			}
			return true
		})
	}
	return elt
}

// outside are types of other packages that are known to hold no pointers.
var outside = map[string]bool{
	"time.Duration": true, "time.Month": true, "time.Weekday": true, "sync.Mutex": true, "sync.RWMutex": true, "sync.Once": true,
	"atomic.Int32": true, "atomic.Int64": true, "atomic.Uint32": true, "atomic.Uint64": true, "atomic.Bool": true,
}

// deepestType bounds the types within types that are followed.
const deepestType = 8

// pointerFree reports whether values of a type hold no pointers, and whether syntax tells.
func (l *Lines) pointerFree(t ast.Expr, folder string, depth int) (free, known bool) {
	if depth > deepestType {
		return false, false
	}
	switch t := ast.Unparen(t).(type) {
	case *ast.StarExpr, *ast.MapType, *ast.ChanType, *ast.FuncType, *ast.InterfaceType:
		return false, true
	case *ast.ArrayType:
		if t.Len == nil {
			return false, true
		}
		return l.pointerFree(t.Elt, folder, depth+1)
	case *ast.StructType:
		for _, field := range t.Fields.List {
			if free, known := l.pointerFree(field.Type, folder, depth+1); !known || !free {
				return false, known
			}
		}
		return true, true
	case *ast.SelectorExpr:
		x, ok := t.X.(*ast.Ident)
		return true, ok && outside[x.Name+"."+t.Sel.Name]
	case *ast.Ident:
		if declared, ok := l.types(folder)[t.Name]; ok {
			if declared == nil {
				return false, false // It has type parameters.
			}
			return l.pointerFree(declared, folder, depth+1)
		}
		switch {
		case numbers[t.Name]:
			return true, true
		case t.Name == "string" || t.Name == "error" || t.Name == "any":
			return false, true
		}
	}
	return false, false
}
