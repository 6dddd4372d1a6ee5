// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"go/ast"
	"regexp"
	"strings"
)

// quote stands above a block of code on a page and says which function or file it shows.
var quote = regexp.MustCompile("^<!-- ([^ #]+\\.go)(#[A-Za-z0-9_]+)? -->$")

const (
	arenaExperiment = "goexperiment.arenas" // The tag of files that need GOEXPERIMENT=arenas.
	heapTag         = "goheap"              // The tag of the file that internal/checks/heaptag builds.
)

// goCode is a line that is Go and nothing else.
var goCode = regexp.MustCompile(`^(package \w+$|func \w+[(\[]|type \w+ |var \w+ |import ["(]|\w+(, \w+)* := )`)

// Quotes checks that tests compile the Go code of every page: a line
//
//	<!-- path/to/file.go#function -->
//
// stands above each block, and the block is that function, in a file that linux/amd64 compiles
// without tags, or with a tag for which there is a test. Without #function the block is the file, but
// for its licence. Indented code is for commands, and no block hides Go code behind another name.
func Quotes(r *Repo) (found []Finding) {
	functions := map[string]string{}
	r.goFiles(func(f *File) {
		if !f.compiled(arenaExperiment, heapTag) {
			return
		}
		if _, code, ok := strings.Cut(f.Text, "\n\n"); ok {
			functions[f.Path] = strings.TrimSuffix(code, "\n")
		}
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				from, to := f.fset.Position(fn.Pos()).Offset, f.fset.Position(fn.End()).Offset
				functions[f.Path+"#"+fn.Name.Name] = f.Text[from:to]
			}
		}
	})
	for _, f := range r.Files {
		if strings.HasSuffix(f.Path, ".md") {
			found = append(append(found, f.quotes(functions)...), f.hiddenGo()...)
		}
	}
	return found
}

// quotes compares the blocks of one page.
func (f *File) quotes(functions map[string]string) (found []Finding) {
	lines := strings.Split(f.Text, "\n")
	for i, line := range lines {
		if line != "```go" {
			continue
		}
		add := func(what string) { found = append(found, Finding{Path: f.Path, Line: i + 1, Text: what}) }
		var named []string
		if i > 0 {
			named = quote.FindStringSubmatch(lines[i-1])
		}
		if named == nil {
			add("code that says of no function that it shows it; no test compiles it")
			continue
		}
		want, ok := functions[named[1]+named[2]]
		if !ok {
			add("there is no " + named[1] + named[2])
			continue
		}
		end := i + 1
		for end < len(lines) && lines[end] != "```" {
			end++
		}
		if strings.Join(lines[i+1:end], "\n") != want {
			add("not what " + named[1] + " has:\n" + want)
		}
	}
	return found
}

// hiddenGo finds Go code on a page that stands in a block of another name, or is only indented.
func (f *File) hiddenGo() (found []Finding) {
	fence := "" // the line that opened the block
	for i, line := range strings.Split(f.Text, "\n") {
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case strings.HasPrefix(line, "```") && fence == "":
			fence = line
		case strings.HasPrefix(line, "```"):
			fence = ""
		case fence != "```go" && (indented || fence != "") && goCode.MatchString(code):
			found = append(found, Finding{Path: f.Path, Line: i + 1, Text: "Go code outside of a block ```go; no test compiles it"})
		}
	}
	return found
}
