package source

import (
	"go/types"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// StructAt returns the expression at a frame that allocates values of a struct type of the module's
// own, and the sizes of the types. ok is false if fits accepts no such type of the line, or more
// than one.
func (s *Module) StructAt(at *stack.Frame, fits func(Kind, Layout) bool) (m Expression, sizes types.Sizes, ok bool) {
	f := s.file(at)
	if f == nil {
		return Expression{}, nil, false
	}
	sizes = f.pkg.TypesSizes
	for _, c := range s.Expressions(at) {
		named, isNamed := types.Unalias(c.Type).(*types.Named)
		if !isNamed || !s.own(named) || !reorderable(named) {
			continue
		}
		l := LayoutOf(named, sizes)
		if l.Size == 0 || !fits(c.Kind, l) {
			continue
		}
		if ok && m.Type != types.Type(named) {
			return Expression{}, nil, false
		}
		c.Type = named
		m, ok = c, true
	}
	return m, sizes, ok
}

// own reports whether the type is declared in the module, where its fields can be moved.
func (s *Module) own(t *types.Named) bool {
	pkg := t.Obj().Pkg()
	return pkg != nil && (s.packages[pkg.Path()] != nil && stack.Within(s.packages[pkg.Path()].PkgPath, s.module) || stack.Within(pkg.Path(), s.module))
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
