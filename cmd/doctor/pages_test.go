// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated tables of docs/findings anew")

const pagesDir = "../../docs/findings"

// A threshold is a constant of a recogniser.
type threshold struct {
	file, value, text string
}

// thresholds are the numeric constants that the files of recognisers, of settings, and about arenas declare.
func thresholds(t *testing.T) map[string]threshold {
	t.Helper()
	files, err := filepath.Glob("find_*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]threshold{}
	for _, name := range append(files, "recogniser.go", "proposed_setting.go", "arena_fit.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				for _, spec := range g.Specs {
					s := spec.(*ast.ValueSpec)
					if s.Doc == nil && !g.Lparen.IsValid() {
						s.Doc = g.Doc // the comment of a declaration without parentheses
					}
					addThreshold(t, found, fset, name, s)
				}
			}
		}
	}
	return found
}

func addThreshold(t *testing.T, found map[string]threshold, fset *token.FileSet, file string, s *ast.ValueSpec) {
	t.Helper()
	if len(s.Values) != 1 || s.Type != nil {
		return // an enumeration
	}
	var value bytes.Buffer
	if err := printer.Fprint(&value, fset, s.Values[0]); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9]`).MatchString(value.String()) {
		return
	}
	found[s.Names[0].Name] = threshold{file, value.String(), strings.Join(strings.Fields(s.Doc.Text()), " ")}
}

// generated are a page's tables behind a mark.
var generated = regexp.MustCompile(`(?m)^<!-- (thresholds|findings):?([^>]*) -->\n\n((?:\|.*\n)*)`)

// TestPages holds the pages against the code: a page for each finding and none besides, its title,
// the values of the constants that it names, and each constant on some page. With -update it writes
// the tables.
func TestPages(t *testing.T) {
	known := thresholds(t)
	titles := map[string]string{notGC.id: notGC.title}
	for _, r := range recognisers {
		titles[r.id] = r.title
	}
	files, err := filepath.Glob(pagesDir + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	pages := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, id := string(data), strings.TrimSuffix(filepath.Base(file), ".md")
		want := generated.ReplaceAllStringFunc(text, func(part string) string {
			m := generated.FindStringSubmatch(part)
			if m[1] == "findings" {
				return "<!-- findings -->\n\n" + indexTable(titles)
			}
			names := strings.Fields(m[2])
			for _, n := range names {
				named[n] = true
			}
			return "<!-- thresholds: " + strings.Join(names, " ") + " -->\n\n" + thresholdTable(t, file, known, names)
		})
		if *update && want != text {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if want != text {
			t.Errorf("%s is not what the code says; go test ./doctor -run TestPages -update mends it", file)
		}
		if id == "README" {
			continue
		}
		pages[id] = true
		if !strings.HasPrefix(text, "# "+id+": "+titles[id]+"\n") || titles[id] == "" {
			t.Errorf("%s does not begin with its finding's id and title, %q", file, titles[id])
		}
		checkSections(t, file, text)
	}
	for id := range titles {
		if !pages[id] {
			t.Errorf("%s has no page", id)
		}
	}
	for name, k := range known {
		if !named[name] {
			t.Errorf("%s of %s is on no page", name, k.file)
		}
	}
}

func checkSections(t *testing.T, file, text string) {
	t.Helper()
	from := 0
	for _, section := range []string{"How it is recognised", "What the gain rests on", "What to do", "How to check", "When not to"} {
		i := strings.Index(text[from:], "\n## "+section+"\n")
		if i < 0 {
			t.Fatalf("%s has no section %q in its place", file, section)
		}
		from += i
	}
	if !strings.Contains(text, "```go\n") {
		t.Errorf("%s shows no code", file)
	}
}

func thresholdTable(t *testing.T, file string, known map[string]threshold, names []string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| constant | value | what it is |\n|---|---|---|\n")
	for _, n := range names {
		k, ok := known[n]
		if !ok {
			t.Errorf("%s names %s, which no recogniser has", file, n)
		}
		if k.text == "" {
			t.Errorf("%s of %s has no comment", n, k.file)
		}
		text := strings.TrimPrefix(strings.TrimPrefix(k.text, n+" is "), n+" ")
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", n, k.value, strings.TrimSuffix(strings.ReplaceAll(text, "|", `\|`), "."))
	}
	return b.String()
}

func indexTable(titles map[string]string) string {
	var ids []string
	for id := range titles {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var b strings.Builder
	b.WriteString("| id | what it says |\n|---|---|\n")
	for _, id := range ids {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", id, id, titles[id])
	}
	return b.String()
}
