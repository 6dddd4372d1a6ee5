// SPDX-License-Identifier: Apache-2.0

package arena_test

import (
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// TestMovingExperimentCompiles checks the types of the code for Go's arena experiment that
// docs/moving-over.md shows: no ordinary build compiles it, and a build with the experiment compiles
// the whole standard library anew.
func TestMovingExperimentCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the runtime's source")
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "moving_experiment_test.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	// Its test calls the rest of this package, and is left out with what it imports.
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Name.Name != "experimentBefore"
	})
	imports := f.Decls[0].(*ast.GenDecl)
	imports.Specs = slices.DeleteFunc(imports.Specs, func(s ast.Spec) bool { return s.(*ast.ImportSpec).Path.Value == `"testing"` })
	stub, err := parser.ParseFile(fset, "location.go", "package arena_test\n\ntype location struct{ x, y int }\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func(tags []string) { build.Default.ToolTags = tags }(build.Default.ToolTags)
	build.Default.ToolTags = append(slices.Clone(build.Default.ToolTags), "goexperiment.arenas")
	c := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	if _, err := c.Check("arena_test", fset, []*ast.File{f, stub}, nil); err != nil {
		t.Error(err)
	}
}
