// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"slices"
)

// TypeParams checks that each exported generic struct type of the library has a field whose type
// names the type parameter, for each of its type parameters.
//
// Without such a field the structs of all instances are identical, and Go converts one to the
// other: a program could take a Typed[string] for a Typed[[2]uintptr] and so forge pointers. A field
// `_ [0]*T` costs nothing.
func TypeParams(r *Repo) (found []Finding) {
	r.goFiles(func(f *File) {
		if f.IsTest() || !slices.Contains([]string{"arena", "offheap", "pool", "sortbuf"}, f.Dir()) {
			return
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() || spec.TypeParams == nil {
				return true
			}
			body, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, list := range spec.TypeParams.List {
				for _, param := range list.Names {
					if !namedIn(body, param.Name) {
						found = append(found, f.find(spec.Pos(), "no field of %s names its type parameter %s, so instances convert to each other: add `_ [0]*%s`",
							spec.Name, param, param))
					}
				}
			}
			return true
		})
	})
	return found
}

// namedIn says whether the type of a field names the type parameter.
func namedIn(body *ast.StructType, param string) (found bool) {
	for _, field := range body.Fields.List {
		ast.Inspect(field.Type, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == param
			return true
		})
	}
	return found
}
