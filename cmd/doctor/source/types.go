// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"
)

// extract computes a package's facts from its syntax and types.
func extract(p *packages.Package) *facts {
	f := &facts{Name: p.Name, Files: map[string][]declFacts{}}
	x := &extractor{Package: p, facts: f}
	for _, file := range p.Syntax {
		name := filepath.Base(x.Fset.Position(file.Package).Filename)
		list := make([]declFacts, 0, len(file.Decls)) // not nil: an empty file was read, too
		for _, d := range file.Decls {
			list = append(list, x.declaration(d))
		}
		f.Files[name] = list
	}
	return f
}

// extractor walks the declarations of a package.
type extractor struct {
	*packages.Package
	facts *facts
	known typeutil.Map // indexes in facts.Types
	made  []made       // in the declaration
	sort  Sort         // in the declaration
}

func (v *extractor) declaration(d ast.Decl) declFacts {
	v.made, v.sort = nil, Sort{}
	f := declFacts{From: v.line(d.Pos()), To: v.line(d.End())}
	if fn, ok := d.(*ast.FuncDecl); ok {
		f.Func = declName(fn)
	}
	ast.PreorderStack(d, nil, func(n ast.Node, outer []ast.Node) bool {
		v.visit(n, outer)
		return true
	})
	f.Made, f.Sort = v.made, v.sort
	return f
}

func (v *extractor) line(p token.Pos) int { return v.Fset.Position(p).Line }

// add notes an expression of the line of a position.
func (v *extractor) add(at token.Pos, k Kind, t types.Type, e ast.Expr) {
	v.note(at, at, k, t, types.ExprString(e), "")
}

func (v *extractor) note(from, to token.Pos, k Kind, t types.Type, text, into string) {
	if t != nil {
		v.made = append(v.made, made{From: v.line(from), To: v.line(to), Kind: k, Type: v.typeIndex(t), Text: text, Into: into})
	}
}

// typeIndex is the index of a type in facts.Types, where it is put if it is new.
func (v *extractor) typeIndex(t types.Type) int {
	if i, ok := v.known.At(t).(int); ok {
		return i
	}
	slice, isSlice := t.Underlying().(*types.Slice)
	v.facts.Types = append(v.facts.Types, Type{
		Name: t.String(), Short: types.TypeString(t, (*types.Package).Name), Slice: isSlice,
		Text: isByte(t) || isText(t) || isSlice && isText(slice.Elem()), Struct: structOf(v.Package, t),
	})
	v.known.Set(t, len(v.facts.Types)-1)
	return len(v.facts.Types) - 1
}

// signature is that of the innermost function around a node.
func (v *extractor) signature(outer []ast.Node) *types.Signature {
	for i := len(outer) - 1; i >= 0; i-- {
		switch n := outer[i].(type) {
		case *ast.FuncDecl:
			return signatureOf(v.TypesInfo.TypeOf(n.Name))
		case *ast.FuncLit:
			return signatureOf(v.TypesInfo.TypeOf(n))
		}
	}
	return nil
}

func (v *extractor) visit(n ast.Node, outer []ast.Node) {
	info := v.TypesInfo
	switch n := n.(type) {
	case *ast.ReturnStmt:
		sig := v.signature(outer)
		for i, e := range n.Results {
			if sig != nil && len(n.Results) == sig.Results().Len() {
				v.implicit(n.Pos(), n.End(), e, sig.Results().At(i).Type(), "return")
			}
		}
	case *ast.IndexExpr:
		if t := info.TypeOf(n.X); t != nil {
			if m, ok := t.Underlying().(*types.Map); ok {
				v.implicit(n.Pos(), n.End(), n.Index, m.Key(), types.ExprString(n.X))
			}
		}
	case *ast.UnaryExpr:
		if lit, ok := n.X.(*ast.CompositeLit); ok && n.Op == token.AND {
			v.add(n.Pos(), KindNew, info.TypeOf(lit), n)
		}
	case *ast.CompositeLit:
		v.literal(n)
	case *ast.CallExpr:
		v.call(n)
		v.sorts(n)
	case *ast.BinaryExpr:
		if t := info.TypeOf(n); n.Op == token.ADD && t != nil && isString(t) && info.Types[n].Value == nil {
			v.add(n.OpPos, KindString, t, n)
		}
	case *ast.AssignStmt:
		v.assign(n)
	case *ast.FuncLit:
		v.add(n.Pos(), KindClosure, info.TypeOf(n), &ast.FuncLit{Type: n.Type, Body: &ast.BlockStmt{}})
	case *ast.Ident:
		// A variable's declaration allocates if the variable is moved to the heap.
		if obj, ok := info.Defs[n].(*types.Var); ok && !obj.IsField() {
			v.note(n.Pos(), n.Pos(), KindNew, obj.Type(), "variable "+n.Name, "")
		}
	}
}

func (v *extractor) literal(n *ast.CompositeLit) {
	t := v.TypesInfo.TypeOf(n)
	if t == nil {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		v.add(n.Pos(), KindSlice, u.Elem(), n)
	case *types.Map:
		v.add(n.Pos(), KindMap, t, n)
	}
}

// call notes what a call allocates. The compiler gives a call the line of its opening parenthesis.
func (v *extractor) call(n *ast.CallExpr) {
	info := v.TypesInfo
	t := info.TypeOf(n)
	if t == nil {
		return
	}
	fun := info.Types[n.Fun]
	switch name, _ := ast.Unparen(n.Fun).(*ast.Ident); {
	case fun.IsBuiltin() && name != nil && name.Name == "new":
		v.add(n.Lparen, KindNew, info.TypeOf(n).Underlying().(*types.Pointer).Elem(), n)
	case fun.IsBuiltin() && name != nil && name.Name == "make":
		switch u := t.Underlying().(type) {
		case *types.Slice:
			v.add(n.Lparen, KindSlice, u.Elem(), n)
		case *types.Map:
			v.add(n.Lparen, KindMap, t, n)
		}
	case fun.IsBuiltin() && name != nil && name.Name == "append":
		if u, ok := t.Underlying().(*types.Slice); ok {
			v.note(n.Lparen, n.Lparen, KindAppend, u.Elem(), types.ExprString(n), types.ExprString(n.Args[0]))
		}
	case fun.IsType() && len(n.Args) == 1:
		v.conversion(n, t)
	default:
		v.boxed(n, fun.Type)
	}
}

// sorting are the functions of the standard library that sort what their first argument has, or the
// receiver of a method.
var sorting = map[string][]string{
	"sort":   {"Slice", "SliceStable", "Sort", "Stable", "Strings"},
	"slices": {"Sort", "SortFunc", "SortStableFunc", "Sorted", "SortedFunc", "SortedStableFunc"},
}

// sorts notes a call that sorts strings or slices of bytes, if it is the declaration's first.
func (v *extractor) sorts(n *ast.CallExpr) {
	info := v.TypesInfo
	fn, ok := typeutil.Callee(info, n).(*types.Func)
	if !ok || v.sort.Type != "" || fn.Pkg() == nil || !slices.Contains(sorting[fn.Pkg().Path()], fn.Name()) {
		return
	}
	data := ast.Expr(n) // slices.Sorted returns the sorted values.
	switch method, isSelector := ast.Unparen(n.Fun).(*ast.SelectorExpr); {
	case isSelector && fn.Signature().Recv() != nil:
		data = method.X
	case !strings.HasPrefix(fn.Name(), "Sorted") && len(n.Args) > 0:
		data = n.Args[0]
	}
	if reversed, ok := ast.Unparen(data).(*ast.CallExpr); ok && len(reversed.Args) == 1 && isReverse(typeutil.Callee(info, reversed)) {
		data = reversed.Args[0]
	}
	t := info.TypeOf(data)
	if t == nil {
		return
	}
	slice, ok := t.Underlying().(*types.Slice)
	switch {
	case !ok || !isText(slice.Elem()):
	case isString(slice.Elem()):
		v.sort = Sort{"[]string", v.line(n.Lparen)}
	default:
		v.sort = Sort{"[][]byte", v.line(n.Lparen)}
	}
}

func isReverse(o types.Object) bool {
	return o != nil && o.Pkg() != nil && o.Pkg().Path() == "sort" && o.Name() == "Reverse"
}

// conversion notes a conversion between strings and slices, or to an interface.
func (v *extractor) conversion(n *ast.CallExpr, t types.Type) {
	from := v.TypesInfo.TypeOf(n.Args[0])
	switch {
	case from == nil:
	case isString(t) != isString(from):
		v.add(n.Lparen, KindString, t, n)
	case types.IsInterface(t) && boxes(from):
		v.add(n.Lparen, KindInterface, from, n.Args[0])
	}
}

// boxed notes the arguments of a call that become interfaces.
func (v *extractor) boxed(n *ast.CallExpr, fun types.Type) {
	if fun == nil {
		return
	}
	sig, ok := fun.Underlying().(*types.Signature)
	if !ok {
		return
	}
	for i, arg := range n.Args {
		v.implicit(n.Lparen, n.Lparen, arg, parameter(sig, i, n.Ellipsis.IsValid()), types.ExprString(n.Fun))
	}
}

// implicit notes an expression that becomes an interface without a written conversion. It skips
// constants, because the compiler allocates them statically.
func (v *extractor) implicit(begin, end token.Pos, e ast.Expr, to types.Type, into string) {
	from := v.TypesInfo.Types[e]
	if to != nil && from.Type != nil && from.Value == nil && types.IsInterface(to) && !isTypeParam(to) && boxes(from.Type) {
		v.note(begin, end, KindInterface, from.Type, types.ExprString(e), into)
	}
}

func isTypeParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

func signatureOf(t types.Type) *types.Signature {
	sig, _ := t.(*types.Signature)
	return sig
}

// parameter is the type of the i-th argument's parameter.
func parameter(sig *types.Signature, i int, spread bool) types.Type {
	n := sig.Params().Len()
	switch {
	case n == 0:
		return nil
	case sig.Variadic() && i >= n-1 && !spread:
		if s, ok := sig.Params().At(n - 1).Type().(*types.Slice); ok {
			return s.Elem()
		}
		return nil
	case i < n:
		return sig.Params().At(i).Type()
	}
	return nil
}

// assign notes m[k] = v and s += t.
func (v *extractor) assign(n *ast.AssignStmt) {
	info := v.TypesInfo
	for i, left := range n.Lhs {
		if index, ok := ast.Unparen(left).(*ast.IndexExpr); ok {
			if t := info.TypeOf(index.X); t != nil {
				if _, isMap := t.Underlying().(*types.Map); isMap {
					v.note(index.Pos(), index.Pos(), KindMapAssign, t, types.ExprString(index), types.ExprString(index.X))
				}
			}
		}
		if len(n.Lhs) == len(n.Rhs) && n.Tok == token.ASSIGN {
			v.implicit(n.Rhs[i].Pos(), n.Rhs[i].Pos(), n.Rhs[i], info.TypeOf(left), types.ExprString(left))
		}
		if t := info.TypeOf(left); n.Tok == token.ADD_ASSIGN && t != nil && isString(t) {
			v.add(n.TokPos, KindString, t, left)
		}
	}
}

// boxes reports whether a value of the type needs memory of its own in an interface: that is, if it
// is neither a pointer nor an interface.
func boxes(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Interface, *types.Pointer, *types.Map, *types.Chan, *types.Signature:
		return false
	case *types.Basic:
		return u.Kind() != types.UnsafePointer && u.Kind() != types.UntypedNil
	}
	return true
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func isByte(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}

// isText reports whether values of a type are strings or slices of bytes.
func isText(t types.Type) bool {
	slice, ok := t.Underlying().(*types.Slice)
	return isString(t) || ok && isByte(slice.Elem())
}
