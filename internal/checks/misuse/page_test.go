// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the page anew where it differs")

const (
	page      = "../../../docs/finding-mistakes.md"
	tablePage = "../../../docs/misuse-programs.md"
)

// TestPageTable holds the page's tables to the corpus.
func TestPageTable(t *testing.T) {
	text, err := os.ReadFile(tablePage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- table: made by internal/checks/misuse -->\n", "<!-- end of table -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the page has no place for the table")
	}
	if want := "\n" + Table() + "\n"; old != want {
		if !*update {
			t.Fatal("the table is not the corpus's: go test ./internal/checks/misuse -run TestPage -update")
		}
		if err := os.WriteFile(tablePage, []byte(before+begin+want+end+after), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// report matches a report on the page: which program, variant and modes it is of, and its text.
var report = regexp.MustCompile("(?s)<!-- report: (\\S+) (\\S+) (\\S+) -->\n\n```text\n(.*?)```\n")

// TestPageReports holds the reports on the page to what the programs say.
func TestPageReports(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if math.MaxUint>>63 == 0 {
		t.Skip("the reports on the page are of a system of 64 bits, where values with pointers are larger")
	}
	program := build(t, nil)
	found := 0
	changed := report.ReplaceAllStringFunc(string(text), func(block string) string {
		found++
		m := report.FindStringSubmatch(block)
		command := []string{program, m[1], m[2]}
		if m[3] == "explain" {
			m[3], command = "guard", []string{program, "-explain", m[1], m[2]}
		}
		r := run(t, m[3], nil, command...)
		got := shown(r.stderr)
		if stable(got) == stable(m[4]) {
			return block
		}
		if !*update {
			t.Errorf("the report of %s with %s and FREEHOLD=%s is not the page's (go test ./internal/checks/misuse -run TestPage -update):\n%s", m[1], m[2], m[3], got)
		}
		return fmt.Sprintf("<!-- report: %s %s %s -->\n\n```text\n%s```\n", m[1], m[2], regexp.MustCompile(`-- report: \S+ \S+ (\S+) --`).FindStringSubmatch(block)[1], got)
	})
	if found < 5 {
		t.Errorf("%d reports on the page, want at least 5", found)
	}
	if *update && changed != string(text) {
		if err := os.WriteFile(page, []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// stable is a report without what every change of the programs' files would change, and with the names that
// Go 1.27 gives closures of inlined functions: before, the function into which they are inlined stood in front.
func stable(report string) string {
	report = regexp.MustCompile(`main\.\w+\.(\w+(\[\.\.\.\])?\.func\d)`).ReplaceAllString(report, "main.$1")
	return regexp.MustCompile(`\.go:\d+|func\d+(\.\d+)?`).ReplaceAllString(report, "")
}

var (
	folder    = regexp.MustCompile(`(?m)^(\s+)\S*/([^/\s]+\.go:\d+)( .*)?$`)
	module    = regexp.MustCompile(`github\.com/freehold-go/freehold/(?:internal/(?:checks/)?)?`)
	goroutine = regexp.MustCompile(`goroutine \d+`)
	arenaID   = regexp.MustCompile(`arena \d+`)
	heapAddr  = regexp.MustCompile(`0x[0-9a-f]+`)
)

// shown is the first report in a text as the page shows it: without what differs from machine to
// machine and from run to run, and without the frames that start the program.
func shown(text string) string {
	i := strings.Index(text, "freehold: ")
	if i < 0 {
		return text
	}
	text = text[i:]
	var b strings.Builder
	skip := false
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimPrefix(line, "\t") // Of a panic.
		if n > 0 && !strings.HasPrefix(line, "  ") {
			break
		}
		line = module.ReplaceAllString(line, "")
		if function := strings.TrimSpace(line); strings.HasPrefix(function, "main.watched") || strings.HasPrefix(function, "main.spawn") ||
			strings.HasPrefix(function, "main.(*Case).Start") || strings.HasPrefix(function, "main.frees.func") {
			skip = true // And its place, in the next line.
			continue
		}
		if skip {
			skip = false
			continue
		}
		b.WriteString(line + "\n")
	}
	out := folder.ReplaceAllString(b.String(), "$1$2")
	out = heapAddr.ReplaceAllString(out, "0xc000012018")
	out = arenaID.ReplaceAllString(out, "arena 1")
	return goroutine.ReplaceAllString(out, "goroutine 7")
}
