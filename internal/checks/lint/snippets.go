// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strings"
)

var (
	// compiledBy stands above a table of calls and names the files that contain them.
	compiledBy = regexp.MustCompile("^<!-- compiled by ([^ ]+(?:, [^ ]+)*) -->$")
	snippet    = regexp.MustCompile("`([^`]+)`")
)

// Snippets checks that tests compile the calls in tables about moving over: behind a heading "Moving over", a line
//
//	<!-- compiled by path/to/file.go, path/to/another.go -->
//
// stands above each table, and each piece of code in its first two columns stands in one of these files, which linux/amd64
// compiles without tags. Cells that begin with "C++" are left out.
func Snippets(r *Repo) (found []Finding) {
	texts := map[string]string{}
	r.goFiles(func(f *File) {
		if f.compiled() {
			texts[f.Path] = f.Text
		}
	})
	for _, f := range r.Files {
		if strings.HasSuffix(f.Path, ".md") {
			found = append(found, f.snippets(texts)...)
		}
	}
	return found
}

// snippets checks the tables of one page.
func (f *File) snippets(texts map[string]string) (found []Finding) {
	moving, rows, source := false, 0, ""
	lines := strings.Split(f.Text, "\n")
	for i, line := range lines {
		add := func(what string) { found = append(found, Finding{Path: f.Path, Line: i + 1, Text: what}) }
		switch {
		case strings.HasPrefix(line, "#"):
			moving = strings.HasSuffix(line, "# Moving over")
		case !strings.HasPrefix(line, "|"):
			rows = 0
		case rows == 0:
			rows, source = 1, ""
			named := compiledBy.FindStringSubmatch(lines[max(0, i-1)])
			if named == nil {
				if moving {
					add("a table of calls that says of no file that it compiles them")
				}
				continue
			}
			for _, name := range strings.Split(named[1], ", ") {
				if _, ok := texts[name]; !ok {
					add("there is no compiled file " + name)
				}
				source += texts[name]
			}
		case source != "":
			cells := strings.Split(line, " | ")
			for _, cell := range cells[:min(2, len(cells))] {
				if strings.HasPrefix(strings.TrimPrefix(cell, "| "), "C++") {
					continue
				}
				for _, code := range snippet.FindAllStringSubmatch(cell, -1) {
					if !strings.Contains(source, code[1]) {
						add("no file named above the table has the code " + code[1])
					}
				}
			}
		}
	}
	return found
}
