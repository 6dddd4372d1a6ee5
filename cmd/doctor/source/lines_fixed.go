// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// FixedCall reports whether a line calls a function with arguments that are the same each time, or
// elements of a table that is, and whether that is known: literals, and what is declared outside
// of the innermost function around the line.
func (l *Lines) FixedCall(at *stack.Frame, callee string) (fixed, known bool) {
	l.calls(at, callee, func(call *ast.CallExpr, locals map[string]bool) {
		args := call.Args
		if len(args) == 0 {
			return
		}
		if call.Ellipsis.IsValid() && len(args) > 1 {
			args = args[:len(args)-1] // parameters of what the others say
		}
		all := true
		for _, arg := range args {
			all = all && fixedExpression(arg, locals)
		}
		fixed, known = fixed || all, true
	})
	return fixed, known
}

// FixedReceiver reports whether a line calls a method of a value that is the same each time, or an
// element of a table that is.
func (l *Lines) FixedReceiver(at *stack.Frame, callee string) (fixed bool) {
	l.calls(at, callee, func(call *ast.CallExpr, locals map[string]bool) {
		method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		fixed = fixed || ok && fixedExpression(method.X, locals)
	})
	return fixed
}

// PassesOn reports whether a line calls a function with a plain variable of the innermost function:
// an input that comes from outside, or that was read there.
func (l *Lines) PassesOn(at *stack.Frame, callee string) (passes bool) {
	l.calls(at, callee, func(call *ast.CallExpr, locals map[string]bool) {
		passes = passes || takesOneOf(call, locals)
	})
	return passes
}

// PassesResult reports whether a line calls a function with the address of a variable, such as
// json.Unmarshal(data, &v), and the innermost function then passes the variable to a method, to
// another package, or to a function in a variable. Then its type is not for the user to choose.
func (l *Lines) PassesResult(at *stack.Frame, callee string) (passes bool) {
	filled := map[string]bool{}
	var filling *ast.CallExpr
	var locals map[string]bool
	l.calls(at, callee, func(call *ast.CallExpr, all map[string]bool) {
		filling, locals = call, all
		for _, arg := range call.Args {
			if address, ok := ast.Unparen(arg).(*ast.UnaryExpr); ok && address.Op == token.AND {
				if name, ok := address.X.(*ast.Ident); ok {
					filled[name.Name] = true
				}
			}
		}
	})
	if len(filled) == 0 {
		return false
	}
	ast.Inspect(l.innermost(at), func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || call == filling {
			return true
		}
		if name, ok := call.Fun.(*ast.Ident); ok && !locals[name.Name] {
			return true // The user's own function, or one of the language.
		}
		passes = passes || takesOneOf(call, filled)
		return true
	})
	return passes
}

// calls calls do for the line's calls of a function, with the names that the innermost function
// declares.
func (l *Lines) calls(at *stack.Frame, callee string, do func(call *ast.CallExpr, locals map[string]bool)) {
	innermost := l.innermost(at)
	if innermost == nil {
		return
	}
	locals := localNames(innermost)
	l.on(at, func(n ast.Node) {
		if call, ok := n.(*ast.CallExpr); ok && calledName(call) == callee {
			do(call, locals)
		}
	})
}

// takesOneOf reports whether an argument of a call is a variable with one of the names.
func takesOneOf(call *ast.CallExpr, names map[string]bool) bool {
	return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		name, ok := ast.Unparen(arg).(*ast.Ident)
		return ok && names[name.Name]
	})
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
