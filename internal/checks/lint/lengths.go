// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// The longest that code may be, in lines. Tests have long tables.
const (
	maxFunction     = 70
	maxTestFunction = 110
	maxFile         = 500
	maxTestFile     = 800
)

// Lengths checks functions and files against the limits. The ratchet lists functions and files that
// were too long when it was written, as lines "path[:function] lines": it may become shorter, which
// must be written down too, but not longer.
func Lengths(r *Repo, ratchet string) (found []Finding) {
	allowed, found := parseRatchet(ratchet)
	used := map[string]bool{}
	check := func(key string, f Finding, lines, limit int) {
		known, listed := allowed[key]
		used[key] = listed && lines > limit
		switch {
		case lines <= limit:
		case !listed:
			f.Text = fmt.Sprintf("%s has %d lines, more than %d", key, lines, limit)
			found = append(found, f)
		case lines != known:
			f.Text = fmt.Sprintf("%s has %d lines, the ratchet says %d: it may be lowered only", key, lines, known)
			found = append(found, f)
		}
	}
	r.goFiles(func(f *File) {
		if f.generated() {
			return
		}
		functionLimit, fileLimit := maxFunction, maxFile
		if f.IsTest() {
			functionLimit, fileLimit = maxTestFunction, maxTestFile
		}
		check(f.Path, Finding{Path: f.Path}, strings.Count(f.body(), "\n"), fileLimit)
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				lines := f.line(fn.End()) - f.line(fn.Pos()) + 1
				check(f.Path+":"+fn.Name.Name, f.find(fn.Pos(), ""), lines, functionLimit)
			}
		}
	})
	for key := range allowed {
		if !used[key] {
			found = append(found, Finding{Path: "ratchet", Text: key + " is short enough or gone: take it off the list"})
		}
	}
	return found
}

func parseRatchet(text string) (allowed map[string]int, found []Finding) {
	allowed = map[string]int{}
	for i, line := range slices.Collect(strings.Lines(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		n := 0
		if len(fields) == 2 {
			n, _ = strconv.Atoi(fields[1])
		}
		if n <= 0 {
			found = append(found, Finding{Path: "ratchet", Line: i + 1, Text: "want a path and a number of lines"})
			continue
		}
		allowed[fields[0]] = n
	}
	return allowed, found
}
