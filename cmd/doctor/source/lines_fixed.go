package source

import (
	"go/ast"
	"go/token"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// FixedCall reports whether a line calls a function with arguments that are the same each time, or
// elements of a table that is, and whether that is known: literals, and what is declared outside
// of the innermost function around the line.
func (l *Lines) FixedCall(at *stack.Frame, callee string) (fixed, known bool) {
	innermost := l.innermost(at)
	if innermost == nil {
		return false, false
	}
	locals := localNames(innermost)
	l.on(at, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || calledName(call) != callee || len(call.Args) == 0 {
			return
		}
		all := true
		for _, arg := range call.Args {
			all = all && fixedExpression(arg, locals)
		}
		fixed, known = fixed || all, true
	})
	return fixed, known
}

// PassesOn reports whether a line calls a function with a plain variable of the innermost function:
// an input that comes from outside, or that was read there.
func (l *Lines) PassesOn(at *stack.Frame, callee string) (passes bool) {
	innermost := l.innermost(at)
	if innermost == nil {
		return false
	}
	locals := localNames(innermost)
	l.on(at, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || calledName(call) != callee {
			return
		}
		for _, arg := range call.Args {
			name, ok := ast.Unparen(arg).(*ast.Ident)
			passes = passes || ok && locals[name.Name]
		}
	})
	return passes
}

// localNames are the names that a function declares and that may have another value at each call.
// Elements of a table from outside, over which it ranges, are not among them.
func localNames(fn ast.Node) map[string]bool {
	locals := map[string]bool{}
	add := func(list ...ast.Expr) {
		for _, e := range list {
			if name, ok := e.(*ast.Ident); ok {
				locals[name.Name] = true
			}
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, name := range n.Names {
				locals[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				locals[name.Name] = true
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			add(n.Key)
			if !fixedExpression(n.X, locals) {
				add(n.Value)
			}
		}
		return true
	})
	return locals
}

// calledName is the last part of the name that a call calls.
func calledName(call *ast.CallExpr) string {
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.IndexExpr:
		return calledName(&ast.CallExpr{Fun: f.X})
	}
	return ""
}

// fixedExpression reports whether an expression has one value at all calls of a function, or is an
// element of a table of such values, but for variables outside of it that change.
func fixedExpression(e ast.Expr, locals map[string]bool) bool {
	fixed := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, func(n ast.Node) bool {
				if name, ok := n.(*ast.Ident); ok && locals[name.Name] {
					fixed = false
				}
				return fixed
			})
			return false
		case *ast.IndexExpr: // An element of a table.
			fixed = fixed && fixedExpression(n.X, locals)
			return false
		case *ast.Ident:
			fixed = fixed && !locals[n.Name]
		case *ast.FuncLit:
			fixed = false
		}
		return fixed
	})
	return fixed
}
