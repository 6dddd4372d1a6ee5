// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// A Fate is where a value may be when the function returns that makes it, or gets it from a call.
// The zero Fate is that of a value that nothing holds.
type Fate struct {
	Returned bool
	Kept     bool  // in what the function shares with others: variables outside of it, channels, goroutines
	In       []int // in what these parameters lead to; -1 is the receiver
	// Captured are variables of the functions around a function literal that have it, or lead to it.
	Captured []string
}

// Ends reports whether the value ends with the function.
func (f Fate) Ends() bool { return !f.Returned && !f.Kept && len(f.In)+len(f.Captured) == 0 }

// storing are the beginnings of names of methods and functions that keep what they are given.
var storing = []string{"put", "add", "set", "append", "push", "insert", "store", "register", "attach", "send", "publish", "enqueue", "cache", "link", "emit"}

// Fate reports the fate of what a frame's line makes, and whether it is known. If callee is not "",
// the value comes from the line's call of that function, in which it had the fate inner; captured values
// come from its function literal. In a round,
// the variables that live longer than a round of the innermost loop are outside.
func (l *Lines) Fate(at *stack.Frame, callee string, inner Fate, round bool) (f Fate, known bool) {
	s := l.scope(at)
	if s == nil {
		return f, false
	}
	v := &fate{scope: s, Fate: inner, params: map[string]int{}, held: map[string]bool{}}
	v.Returned, v.In, v.Captured = false, nil, nil
	v.listParams()
	if round {
		v.body, _ = s.round(s.fn, at.Line)
	}
	parents := map[ast.Node]ast.Node{}
	ast.PreorderStack(s.fn, nil, func(n ast.Node, outer []ast.Node) bool {
		if len(outer) > 0 {
			parents[n] = outer[len(outer)-1]
		}
		return true
	})
	v.parents = parents
	for _, name := range inner.Captured {
		known = true
		v.hold(ast.NewIdent(name), true)
	}
	l.on(at, func(n ast.Node) {
		e, ok := n.(ast.Expr)
		call, isCall := n.(*ast.CallExpr)
		switch {
		case !ok:
		case callee == "":
			if makes(e) {
				known = true
				v.flow(e)
			}
		case isCall && calledName(call) == callee:
			known = true
			if inner.Returned {
				v.flow(call)
			}
			for _, i := range inner.In {
				if method, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && i < 0 {
					v.hold(method.X, true)
				} else if i >= 0 && i < len(call.Args) {
					v.hold(call.Args[i], true)
				}
			}
		}
	})
	return v.Fate, known
}

// Spare reports whether a line makes a value because there is none to reuse: what it sets to the new
// value, the function sets to a field, an element, or what a call of Get or Pop returns as well.
func (l *Lines) Spare(at *stack.Frame) (spare bool) {
	s := l.scope(at)
	if s == nil {
		return false
	}
	made := map[string]bool{}
	l.on(at, func(n ast.Node) {
		if set, ok := n.(*ast.AssignStmt); ok && len(set.Lhs) == len(set.Rhs) {
			for i, e := range set.Rhs {
				if address, ok := e.(*ast.UnaryExpr); ok {
					e = address.X
				}
				made[types.ExprString(set.Lhs[i])] = makes(e)
			}
		}
	})
	ast.Inspect(s.fn, func(n ast.Node) bool {
		set, ok := n.(*ast.AssignStmt)
		if ok && made[types.ExprString(set.Lhs[0])] {
			switch e := set.Rhs[0].(type) {
			case *ast.SelectorExpr, *ast.IndexExpr, *ast.TypeAssertExpr:
				spare = true
			case *ast.CallExpr:
				name := strings.ToLower(calledName(e))
				spare = spare || strings.HasPrefix(name, "get") || strings.HasPrefix(name, "pop")
			}
		}
		return !spare
	})
	return spare
}

// makes reports whether an expression allocates, as far as syntax tells.
func makes(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit, *ast.FuncLit:
		return true
	case *ast.CallExpr:
		name := calledName(e)
		_, converts := e.Fun.(*ast.ArrayType)
		return converts || slices.Contains([]string{"make", "new", "append", "string"}, name)
	}
	return false
}

// A fate follows a value through a function.
type fate struct {
	*scope
	Fate
	params  map[string]int
	held    map[string]bool // variables that have the value, or lead to it
	parents map[ast.Node]ast.Node
	body    *ast.BlockStmt // of the loop whose round ends the value, nil for the whole function
}

func (v *fate) listParams() {
	var list *ast.FieldList
	switch fn := v.fn.(type) {
	case *ast.FuncDecl:
		list = fn.Type.Params
		if fn.Recv != nil && len(fn.Recv.List) > 0 {
			for _, name := range fn.Recv.List[0].Names {
				v.params[name.Name] = -1
			}
		}
	case *ast.FuncLit:
		list = fn.Type.Params
	}
	n := 0
	for i := 0; list != nil && i < len(list.List); i++ {
		for _, name := range list.List[i].Names {
			v.params[name.Name] = n
			n++
		}
	}
}

// flow follows an expression that has the value, or leads to it, to where it goes.
func (v *fate) flow(e ast.Expr) {
	switch up := v.parents[e].(type) {
	case *ast.ReturnStmt:
		v.Returned = true
	case *ast.SendStmt, *ast.GoStmt:
		v.Kept = true
	case *ast.AssignStmt:
		if i := slices.Index(up.Rhs, e); i >= 0 {
			v.hold(up.Lhs[min(i, len(up.Lhs)-1)], false)
		}
	case *ast.ValueSpec:
		for _, name := range up.Names {
			v.hold(name, false)
		}
	case *ast.KeyValueExpr, *ast.CompositeLit, *ast.ParenExpr, *ast.UnaryExpr, *ast.SliceExpr, *ast.StarExpr:
		v.flow(up.(ast.Expr))
	case *ast.CallExpr:
		v.call(up, e)
	}
}

// call follows a value into a call.
func (v *fate) call(call *ast.CallExpr, e ast.Expr) {
	if call.Fun == e {
		return
	}
	name := strings.ToLower(calledName(call))
	method, isMethod := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	_, started := v.parents[call].(*ast.GoStmt)
	_, converts := call.Fun.(*ast.ArrayType)
	switch {
	case started:
		v.Kept = true
	case name == "append" && !isMethod, converts:
		v.flow(call)
	case !slices.ContainsFunc(storing, func(w string) bool { return strings.HasPrefix(name, w) }):
		// It reads the value.
	case isMethod:
		v.hold(method.X, true)
	case call.Args[0] != e:
		v.hold(call.Args[0], true)
	}
}

// hold notes that a variable has the value, or that what it leads to has it.
func (v *fate) hold(e ast.Expr, within bool) {
	name, ok := root(e).(*ast.Ident)
	if !ok || name.Name == "_" {
		return
	}
	_, local := v.locals[name.Name]
	_, captured := v.outer[name.Name]
	param, isParam := v.params[name.Name]
	within = within || ast.Unparen(e) != name
	switch {
	case !local && captured:
		v.Captured = append(v.Captured, name.Name)
		return
	case !local, v.body != nil && !declares(v.body, name.Name):
		v.Kept = true
		return
	case isParam && within:
		if !slices.Contains(v.In, param) {
			v.In = append(v.In, param)
		}
		return
	case v.held[name.Name]:
		return
	}
	v.held[name.Name] = true
	ast.Inspect(v.fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if n.Name == name.Name {
				v.flow(n)
			}
		case *ast.AssignStmt: // What the variable was set to leads to the value as well.
			for i, left := range n.Lhs {
				if id, ok := left.(*ast.Ident); ok && within && id.Name == name.Name && len(n.Rhs) == len(n.Lhs) {
					if from, ok := root(n.Rhs[i]).(*ast.Ident); ok && from.Name != name.Name {
						v.hold(from, true)
					}
				}
			}
		}
		return true
	})
}
