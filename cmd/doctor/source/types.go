package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// An Expression is an expression on a line of the source that can allocate.
type Expression struct {
	Kind Kind
	Type types.Type // what each object, or each element of it, is
	Text string     // the expression in short
	Into string     // the slice or map that grows, for KindAppend and KindMapAssign; the function that is called, for KindInterface
}

// A Kind is a kind of expression that allocates.
type Kind string

// The kinds of expressions.
const (
	KindNew       Kind = "new"        // new(T), &T{}, a variable that is moved to the heap: one T
	KindSlice     Kind = "slice"      // make([]T, n), []T{...}: any number of T
	KindAppend    Kind = "append"     // append([]T, ...): any number of T
	KindMap       Kind = "map"        // make(map[K]V), a map literal; the type is the map's
	KindMapAssign Kind = "map-assign" // m[k] = v; the type is the map's
	KindString    Kind = "string"     // concatenation and conversion; the type is that of the result
	KindInterface Kind = "interface"  // a value that is no pointer becomes an interface; the type is the value's
	KindClosure   Kind = "closure"
)

// Expressions lists what the line of a frame can allocate. It is empty if the source of the line is
// not at hand or not the profiled one.
func (s *Module) Expressions(at *stack.Frame) (list []Expression) {
	f := s.file(at)
	if f == nil {
		return nil
	}
	var scope ast.Node = f.syntax
	fn, ok := f.function(at)
	if !ok {
		return nil
	}
	if fn != nil {
		scope = fn
	}
	v := &visitor{sourceFile: f, line: at.Line}
	ast.Inspect(scope, func(n ast.Node) bool {
		if n == nil || f.line(n.Pos()) > at.Line || f.line(n.End()) < at.Line {
			return n == nil || f.line(n.Pos()) <= at.Line // a node that ends earlier may have neighbours that do not
		}
		v.visit(n)
		return true
	})
	return v.list
}

// visitor collects the allocating expressions of one line.
type visitor struct {
	*sourceFile
	line int
	sig  *types.Signature // of the innermost function around the line
	list []Expression
}

func (v *visitor) on(p token.Pos) bool { return v.sourceFile.line(p) == v.line }

func (v *visitor) add(h Kind, t types.Type, e ast.Expr) {
	if t != nil {
		v.list = append(v.list, Expression{Kind: h, Type: t, Text: types.ExprString(e)})
	}
}

func (v *visitor) visit(n ast.Node) {
	info := v.pkg.TypesInfo
	switch n := n.(type) {
	case *ast.FuncDecl:
		v.sig = signatureOf(info.TypeOf(n.Name))
	case *ast.ReturnStmt:
		for i, e := range n.Results {
			if v.sig != nil && len(n.Results) == v.sig.Results().Len() {
				v.implicit(e, v.sig.Results().At(i).Type(), "return")
			}
		}
	case *ast.IndexExpr:
		if t := info.TypeOf(n.X); t != nil {
			if m, ok := t.Underlying().(*types.Map); ok {
				v.implicit(n.Index, m.Key(), types.ExprString(n.X))
			}
		}
	case *ast.UnaryExpr:
		if lit, ok := n.X.(*ast.CompositeLit); ok && n.Op == token.AND && v.on(n.Pos()) {
			v.add(KindNew, info.TypeOf(lit), n)
		}
	case *ast.CompositeLit:
		if v.on(n.Pos()) {
			v.literal(n)
		}
	case *ast.CallExpr:
		// The compiler gives a call the line of its opening parenthesis.
		if v.on(n.Lparen) {
			v.call(n)
		}
	case *ast.BinaryExpr:
		if t := info.TypeOf(n); n.Op == token.ADD && v.on(n.OpPos) && t != nil && isString(t) && info.Types[n].Value == nil {
			v.add(KindString, t, n)
		}
	case *ast.AssignStmt:
		v.assign(n)
	case *ast.FuncLit:
		v.sig = signatureOf(info.TypeOf(n))
		if v.on(n.Pos()) {
			v.add(KindClosure, info.TypeOf(n), &ast.FuncLit{Type: n.Type, Body: &ast.BlockStmt{}})
		}
	case *ast.Ident:
		// A variable's declaration allocates if the variable is moved to the heap.
		if obj, ok := info.Defs[n].(*types.Var); ok && !obj.IsField() && v.on(n.Pos()) {
			v.list = append(v.list, Expression{Kind: KindNew, Type: obj.Type(), Text: "variable " + n.Name})
		}
	}
}

func (v *visitor) literal(n *ast.CompositeLit) {
	t := v.pkg.TypesInfo.TypeOf(n)
	if t == nil {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		v.add(KindSlice, u.Elem(), n)
	case *types.Map:
		v.add(KindMap, t, n)
	}
}

func (v *visitor) call(n *ast.CallExpr) {
	info := v.pkg.TypesInfo
	t := info.TypeOf(n)
	if t == nil {
		return
	}
	fun := info.Types[n.Fun]
	switch name, _ := ast.Unparen(n.Fun).(*ast.Ident); {
	case fun.IsBuiltin() && name != nil && name.Name == "new":
		v.add(KindNew, info.TypeOf(n).Underlying().(*types.Pointer).Elem(), n)
	case fun.IsBuiltin() && name != nil && name.Name == "make":
		switch u := t.Underlying().(type) {
		case *types.Slice:
			v.add(KindSlice, u.Elem(), n)
		case *types.Map:
			v.add(KindMap, t, n)
		}
	case fun.IsBuiltin() && name != nil && name.Name == "append":
		if u, ok := t.Underlying().(*types.Slice); ok {
			v.list = append(v.list, Expression{Kind: KindAppend, Type: u.Elem(), Text: types.ExprString(n), Into: types.ExprString(n.Args[0])})
		}
	case fun.IsType() && len(n.Args) == 1:
		v.conversion(n, t)
	default:
		v.boxed(n, fun.Type)
	}
}

// conversion notes a conversion between strings and slices, or to an interface.
func (v *visitor) conversion(n *ast.CallExpr, t types.Type) {
	from := v.pkg.TypesInfo.TypeOf(n.Args[0])
	switch {
	case from == nil:
	case isString(t) != isString(from):
		v.add(KindString, t, n)
	case types.IsInterface(t) && boxes(from):
		v.add(KindInterface, from, n.Args[0])
	}
}

// boxed notes the arguments of a call that become interfaces.
func (v *visitor) boxed(n *ast.CallExpr, fun types.Type) {
	if fun == nil {
		return
	}
	sig, ok := fun.Underlying().(*types.Signature)
	if !ok {
		return
	}
	for i, arg := range n.Args {
		v.implicit(arg, parameter(sig, i, n.Ellipsis.IsValid()), types.ExprString(n.Fun))
	}
}

// implicit notes an expression that becomes an interface without a written conversion. It skips
// constants, because the compiler allocates them statically.
func (v *visitor) implicit(e ast.Expr, to types.Type, into string) {
	from := v.pkg.TypesInfo.Types[e]
	if to != nil && from.Type != nil && from.Value == nil && types.IsInterface(to) && !isTypeParam(to) && boxes(from.Type) {
		v.list = append(v.list, Expression{Kind: KindInterface, Type: from.Type, Text: types.ExprString(e), Into: into})
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
func (v *visitor) assign(n *ast.AssignStmt) {
	info := v.pkg.TypesInfo
	for i, left := range n.Lhs {
		if index, ok := ast.Unparen(left).(*ast.IndexExpr); ok && v.on(index.Pos()) {
			if t := info.TypeOf(index.X); t != nil {
				if _, isMap := t.Underlying().(*types.Map); isMap {
					v.list = append(v.list, Expression{Kind: KindMapAssign, Type: t, Text: types.ExprString(index), Into: types.ExprString(index.X)})
				}
			}
		}
		if len(n.Lhs) == len(n.Rhs) && n.Tok == token.ASSIGN && v.on(n.Rhs[i].Pos()) {
			v.implicit(n.Rhs[i], info.TypeOf(left), types.ExprString(left))
		}
		if t := info.TypeOf(left); n.Tok == token.ADD_ASSIGN && t != nil && isString(t) && v.on(n.TokPos) {
			v.add(KindString, t, left)
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

// ReturnsPointers reports whether a function's results hold pointers, errors and strings aside, and
// whether that is known.
func (s *Module) ReturnsPointers(at *stack.Frame) (yes, known bool) {
	if strings.Contains(at.Func, ".func") {
		return false, false
	}
	f := s.file(at)
	if f == nil {
		return false, false
	}
	decl, ok := f.function(at)
	if !ok || decl == nil {
		return false, false
	}
	sig := signatureOf(f.pkg.TypesInfo.TypeOf(decl.Name))
	if sig == nil {
		return false, false
	}
	for i := range sig.Results().Len() {
		switch t := sig.Results().At(i).Type(); u := t.Underlying().(type) {
		case *types.Basic:
			yes = yes || u.Kind() == types.UnsafePointer
		default:
			yes = yes || !types.Identical(t, types.Universe.Lookup("error").Type())
		}
	}
	return yes, true
}

// TypeName is a type as it is written in a package that imports the packages of its parts.
func TypeName(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}
