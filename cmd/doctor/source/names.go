// SPDX-License-Identifier: Apache-2.0

package source

import (
	"go/ast"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// declName is a function's name, behind its receiver's type if it is a method.
func declName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.ParenExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// importPath is the path of a function's package as it is written in source. Symbols escape dots in
// its last element.
func importPath(fn string) string { return strings.ReplaceAll(stack.PackageOf(fn), "%2e", ".") }

// DeclaredName is the declared function that a symbol belongs to, as declName writes it: closures
// and wrappers contain the name of the function around them.
func DeclaredName(fn string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(fn, stack.PackageOf(fn)), ".")
	name = strings.TrimSuffix(withoutTypes(name), "-fm")
	if rest, isPointer := strings.CutPrefix(name, "(*"); isPointer {
		name = strings.Replace(rest, ")", "", 1)
		return firstTwo(name)
	}
	parts := strings.Split(name, ".")
	if len(parts) > 1 && !wrapped(parts[1]) {
		return parts[0] + "." + parts[1]
	}
	return parts[0]
}

// isIn reports whether a symbol is of a declared function, one of its closures, or one of its closures
// where it was inlined: those have the name of the function that it was inlined into before its own.
func isIn(symbol, declared string) bool {
	if DeclaredName(symbol) == declared {
		return true
	}
	own := "." + declared[strings.LastIndexByte(declared, '.')+1:] + ".func"
	return strings.LastIndex(withoutTypes(strings.TrimPrefix(symbol, stack.PackageOf(symbol))), own) > 0
}

// wrapped reports whether the compiler added this part of a symbol: func1, gowrap2, deferwrap1, a
// number, or nothing.
func wrapped(part string) bool {
	part = strings.TrimRight(part, "0123456789")
	return part == "" || part == "func" || part == "gowrap" || part == "deferwrap"
}

func firstTwo(name string) string {
	parts := strings.SplitN(name, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// withoutTypes takes type arguments out: Map[...].Get becomes Map.Get.
func withoutTypes(name string) string {
	var b strings.Builder
	depth := 0
	for _, c := range name {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}
