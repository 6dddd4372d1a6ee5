// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Promises are the tables of a package that map each thing that it promises to the tests that hold it, by
// their names. The tests stand in the package and in internal/checks/suite.
type Promises struct {
	API       string            // The golden file of the API.
	Functions map[string]string // Each function and method of the API, up to its parameters.
	Types     string            // A regular expression of the types whose exported fields are promises.
	Fields    map[string]string // Each of these fields.
	Rows      map[string]string // What each mistake does, and other rows.
	Workloads string            // The files of the workloads of freehold bench.
	Bars      []string          // The workloads that measure bars.
	Variants  bool              // The part of a bar's name behind the slash may stand in a list of variants.
}

// reporter is what Check needs of a *testing.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Check reports what has no test, and what is no promise. It runs in the folder of the package.
func (p Promises) Check(t reporter) {
	t.Helper()
	tests := sources(t, "*_test.go", "../internal/checks/suite/*_test.go")
	exists := func(promise, names string) {
		for name := range strings.FieldsSeq(names) {
			if !strings.Contains(tests, "\nfunc "+name+"(") {
				t.Errorf("%s: there is no test %s", promise, name)
			}
		}
		if names == "" {
			t.Errorf("%s has no test", promise)
		}
	}
	held := func(what, pattern, text string, table map[string]string) {
		var found []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			found = append(found, m[1])
			if _, ok := table[m[1]]; !ok {
				t.Errorf("%s is in the API and has no test here", m[1])
			}
		}
		for name, names := range table {
			if !slices.Contains(found, name) {
				t.Errorf("%s is no %s of the API", name, what)
			}
			exists(name, names)
		}
	}
	api := sources(t, p.API)
	held("function", `(?m)^func ((?:\([^)]*\) )?\w+)`, api, p.Functions)
	if p.Types != "" {
		types := regexp.MustCompile(`(?ms)^type (?:`+p.Types+`) struct \{.*?^\}`).FindAllString(api, -1)
		held("field", `(?m)^\t([A-Z]\w*) `, strings.Join(types, "\n"), p.Fields)
	}
	for row, names := range p.Rows {
		exists(row, names)
	}
	workloads := sources(t, p.Workloads)
	for _, name := range p.Bars {
		_, variant, _ := strings.Cut(name, "/")
		if !strings.Contains(workloads, `"`+name+`"`) && !(p.Variants && strings.Contains(workloads, `{"`+variant+`", "`)) {
			t.Errorf("no workload is %s", name)
		}
	}
}

// sources is the text of the files that match.
func sources(t reporter, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		names, _ := filepath.Glob(pattern)
		if len(names) == 0 {
			t.Fatalf("no file is %s", pattern)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatalf("%v", err)
			}
			all.Write(text)
		}
	}
	return all.String()
}
