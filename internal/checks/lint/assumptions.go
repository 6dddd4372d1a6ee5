// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strings"
)

var (
	cited = regexp.MustCompile(`\bGC-[0-9]+\b`)
	entry = regexp.MustCompile(`^\| (GC-[0-9]+) \|`)
)

// Assumptions checks that what the code assumes of the Go runtime, cited as GC-n, is on DESIGN.md's
// list, and that each entry of the list is cited by a test, which is where it is checked.
func Assumptions(r *Repo) (found []Finding) {
	listed, tested := map[string]int{}, map[string]bool{}
	for _, f := range r.Files {
		if f.Path != "DESIGN.md" {
			continue
		}
		n := 0
		for line := range strings.Lines(f.Text) {
			n++
			if m := entry.FindStringSubmatch(line); m != nil {
				listed[m[1]] = n
			}
		}
	}
	r.goFiles(func(f *File) {
		if inside(f.Dir(), "internal/checks/lint") {
			return
		}
		for _, group := range f.Syntax.Comments {
			for _, name := range cited.FindAllString(group.Text(), -1) {
				if listed[name] == 0 {
					found = append(found, f.find(group.Pos(), "%s is not on the list in DESIGN.md", name))
				}
				tested[name] = tested[name] || f.IsTest()
			}
		}
	})
	for name, line := range listed {
		if !tested[name] {
			found = append(found, Finding{Path: "DESIGN.md", Line: line, Text: name + " is cited by no test"})
		}
	}
	return found
}
