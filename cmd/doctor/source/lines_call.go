// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A Call is what the source tells of a line's call of a function.
type Call struct {
	// Fixed says that all arguments are the same each time, or elements of a table that is: literals,
	// what is declared outside of the innermost function, and variables of it that are set once, to
	// such a value. What follows the first arguments as args... does not count.
	// Table says that one of them is such an element.
	Fixed, Table bool
	// Constant is narrower: the arguments are literals, names of other packages, and what their
	// functions return for such arguments, or there are none. So is the receiver of a method.
	Constant bool
	// Text says that an argument, or a field of it, is a constant text.
	Text bool
	// PassesOn says that an argument is a plain variable of the innermost function: an input that
	// comes from outside, or that was read there.
	PassesOn bool
	// Function says that the call is of a package's function, or of a method of what such a function
	// returns. Receiver says that it is of a method of a value that is the same each time, or an
	// element of a table that is.
	Function, Receiver bool
	// Key names the argument that varies, if it is one of few values by its name: the name of a type,
	// a language, a format. It is "" if other arguments vary.
	Key string
	// Used says that the result is used, and To is the variable that it is assigned to first.
	Used bool
	To   string
	// Of is the variable that the call completes: the innermost function makes it by a call with
	// constant arguments, and has given it nothing else before.
	Of string
	// Copies is x of x = f(x, y) where x lives longer than the round of the loop; "" for other calls.
	Copies string
}

// Call reports what a line's call of a function tells, and whether the line has such a call.
func (l *Lines) Call(at *stack.Frame, callee string) (c Call, known bool) {
	s := l.scope(at)
	if s == nil {
		return c, false
	}
	l.on(at, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || calledName(call) != callee || known && c.Fixed {
			return
		}
		c, known = s.describe(call), true
	})
	return c, known
}

// describe says what a call tells.
func (s *scope) describe(call *ast.CallExpr) (c Call) {
	s.before, s.table = call.Pos(), false
	args := call.Args
	if call.Ellipsis.IsValid() && len(args) > 1 {
		args = args[:len(args)-1] // parameters of what the others say
	}
	c.Fixed, c.Constant = len(args) > 0, true
	for _, arg := range args {
		c.Fixed = c.Fixed && s.fixed(arg)
		c.Text = c.Text || s.text(arg)
		switch name := lastName(arg); {
		case s.constant(arg, 0):
		case c.Constant && isKey(name):
			c.Constant, c.Key = false, name
		default:
			c.Constant, c.Key = false, ""
		}
	}
	c.Table, c.PassesOn = s.table, takesOneOf(call, s.varies)
	method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	c.Function = !ok || s.isImport(method.X)
	if !c.Function {
		_, returned := ast.Unparen(method.X).(*ast.CallExpr)
		c.Function = returned && s.isImport(root(method.X))
		c.Receiver = s.fixed(method.X)
		c.Constant = c.Constant && s.constant(method.X, 0)
		c.Of = s.completes(method.X)
	}
	for _, arg := range args {
		if c.Of == "" {
			c.Of = s.completes(arg)
		}
	}
	s.result(call, &c)
	return c
}

// completes is the name of the variable at the root of an expression, if a call makes it that has
// constant arguments.
func (s *scope) completes(e ast.Expr) string {
	name, ok := root(e).(*ast.Ident)
	if !ok || !s.constant(name, 0) {
		return ""
	}
	if made, ok := s.locals[name.Name].(*ast.CallExpr); ok && made != nil {
		return name.Name
	}
	return ""
}

// result fills in what becomes of a call's result.
func (s *scope) result(call *ast.CallExpr, c *Call) {
	c.Used = true
	ast.Inspect(s.fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ExprStmt:
			c.Used = c.Used && n.X != call
		case *ast.DeferStmt:
			c.Used = c.Used && n.Call != call
		case *ast.GoStmt:
			c.Used = c.Used && n.Call != call
		case *ast.AssignStmt:
			if ast.Unparen(n.Rhs[0]) == call {
				c.To = types.ExprString(n.Lhs[0])
				c.Used = c.To != "_"
				c.Copies = s.copies(call, n)
			}
		case *ast.ValueSpec:
			if len(n.Values) > 0 && ast.Unparen(n.Values[0]) == call {
				c.To = n.Names[0].Name
			}
		}
		return true
	})
}

// copies is x if a call takes x and its result becomes x, by the assignment or by a later one, in a
// loop around which x is declared.
func (s *scope) copies(call *ast.CallExpr, to *ast.AssignStmt) string {
	inputs := map[string]ast.Expr{}
	for _, arg := range call.Args {
		inputs[types.ExprString(arg)] = arg
	}
	if method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		inputs[types.ExprString(method.X)] = method.X
	}
	result := types.ExprString(to.Lhs[0])
	x := inputs[result]
	ast.Inspect(s.fn, func(n ast.Node) bool {
		if set, ok := n.(*ast.AssignStmt); ok && set.Tok == token.ASSIGN && len(set.Rhs) == 1 && types.ExprString(set.Rhs[0]) == result && x == nil {
			x = inputs[types.ExprString(set.Lhs[0])]
		}
		return true
	})
	if x == nil {
		return ""
	}
	name, ok := root(x).(*ast.Ident)
	if !ok {
		return ""
	}
	_, literal := s.fn.(*ast.FuncLit)
	if _, local := s.locals[name.Name]; literal && !local {
		return types.ExprString(x) // The function is called for each element.
	}
	if round, _ := s.round(s.fn, s.line(call.Lparen)); round == nil || declares(round, name.Name) {
		return ""
	}
	return types.ExprString(x)
}

// declares reports whether a part of a function declares a name.
func declares(part ast.Node, name string) bool {
	_, ok := localNames(part)[name]
	return ok
}

// keys are the ends of names of variables and fields that have few values.
var keys = []string{"name", "extension", "type", "kind", "lang", "locale", "tag", "code", "currency", "zone", "unit", "format", "layout", "version", "level",
	"method", "mime", "charset", "encoding", "style", "theme", "font", "column", "category", "country", "region", "role"}

func isKey(name string) bool {
	return name == "ext" || slices.ContainsFunc(keys, func(k string) bool { return strings.HasSuffix(strings.ToLower(name), k) })
}

// lastName is the name of a variable or field, "" for other expressions.
func lastName(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// PassesResult reports whether a line calls a function with the address of a variable, such as
// json.Unmarshal(data, &v), and the innermost function then passes the variable to a method, to
// another package, or to a function in a variable. Then its type is not for the user to choose.
func (l *Lines) PassesResult(at *stack.Frame, callee string) (passes bool) {
	filled := map[string]bool{}
	var filling *ast.CallExpr
	l.on(at, func(n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || calledName(call) != callee {
			return
		}
		filling = call
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
	innermost := l.innermost(at)
	locals := localNames(innermost)
	ast.Inspect(innermost, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || call == filling {
			return true
		}
		name, ok := call.Fun.(*ast.Ident)
		_, local := locals[nameOf(name)]
		// The user's own functions, and those of the language, do not count.
		passes = passes || (!ok || local) && slices.ContainsFunc(call.Args, func(arg ast.Expr) bool { return filled[nameOf(whole(arg))] })
		return true
	})
	return passes
}

// whole is the variable that an expression takes as a whole, or a field of it, nil for others. An element
// is read: its type is known.
func whole(e ast.Expr) *ast.Ident {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.Ident:
			return x
		default:
			return nil
		}
	}
}

func nameOf(id *ast.Ident) string {
	if id == nil {
		return ""
	}
	return id.Name
}

// takesOneOf reports whether an argument of a call is a variable whose name passes.
func takesOneOf(call *ast.CallExpr, passes func(name string) bool) bool {
	return slices.ContainsFunc(call.Args, func(arg ast.Expr) bool {
		name, ok := ast.Unparen(arg).(*ast.Ident)
		return ok && passes(name.Name)
	})
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
