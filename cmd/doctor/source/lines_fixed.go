package source

import (
	"go/ast"
	"go/token"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// FixedCall reports whether a line calls a function with arguments that are the same each time, and
// whether that is known: literals, and constants and variables of the package.
func (l *Lines) FixedCall(at *stack.Frame, callee string) (fixed, known bool) {
	fn := l.function(at)
	if fn == nil {
		return false, false
	}
	locals := map[string]bool{}
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
				for _, left := range n.Lhs {
					if name, ok := left.(*ast.Ident); ok {
						locals[name.Name] = true
					}
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if name, ok := e.(*ast.Ident); ok {
					locals[name.Name] = true
				}
			}
		}
		return true
	})
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

// fixedExpression reports whether an expression has one value in the whole program, but for
// variables of the package that change.
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
		case *ast.Ident:
			fixed = fixed && !locals[n.Name]
		case *ast.FuncLit:
			fixed = false
		}
		return fixed
	})
	return fixed
}
