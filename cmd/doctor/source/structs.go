// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// structOf describes a struct type of the module's own whose fields can be moved. It is nil for all
// other types.
func structOf(p *packages.Package, t types.Type) *Struct {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || !own(p, named) || !reorderable(named) {
		return nil
	}
	name, at := named.Obj(), p.Fset.Position(named.Obj().Pos())
	u := named.Underlying().(*types.Struct)
	better := reordered(u, p.TypesSizes)
	return &Struct{
		Name: named.String(), Base: name.Name(), Package: name.Pkg().Path(),
		Declared: fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line),
		From:     layoutOf(u, p.TypesSizes), To: layoutOf(better, p.TypesSizes),
		Text: structText(name.Name(), better, types.RelativeTo(name.Pkg())),
	}
}

// own reports whether a type is declared in the package's module, where its fields can be moved. The
// types of a dependency are not the program's own.
func own(p *packages.Package, t *types.Named) bool {
	pkg := t.Obj().Pkg()
	return pkg != nil && p.Module != nil && p.Module.Main && stack.Within(pkg.Path(), p.Module.Path)
}

// reorderable reports whether the type is a struct with at least two fields of known sizes, in an
// order without a visible reason. Visible reasons are blank fields, which pad or mark, and a type
// of C, whose order C sets.
func reorderable(t *types.Named) bool {
	u, ok := t.Underlying().(*types.Struct)
	if !ok || u.NumFields() < 2 || !sized(t, map[types.Type]bool{}) || strings.HasPrefix(t.Obj().Name(), "_C") {
		return false
	}
	for i := range u.NumFields() {
		if u.Field(i).Name() == "_" {
			return false
		}
	}
	return true
}

// sized reports whether the type's size depends on no type parameter.
func sized(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return true
	}
	seen[t] = true
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if !sized(u.Field(i).Type(), seen) {
				return false
			}
		}
	case *types.Array:
		return sized(u.Elem(), seen)
	}
	return true
}
