// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"go/ast"
	"strings"
)

// The longest that code may be, in lines. A story may be long; what must not grow is the number of
// times that a reader has to change files for it, see OneWay.
const (
	maxFunction = 120
	maxFile     = 1000
)

// Lengths checks functions and files against the limits. Generated code may be longer.
func Lengths(r *Repo) (found []Finding) {
	r.goFiles(func(f *File) {
		if f.generated() {
			return
		}
		if lines := strings.Count(f.body(), "\n"); lines > maxFile {
			found = append(found, Finding{Path: f.Path, Text: fmt.Sprintf("the file has %d lines, more than %d", lines, maxFile)})
		}
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				if lines := f.line(fn.End()) - f.line(fn.Pos()) + 1; lines > maxFunction {
					found = append(found, f.find(fn.Pos(), "%s has %d lines, more than %d", fn.Name.Name, lines, maxFunction))
				}
			}
		}
	})
	return found
}
