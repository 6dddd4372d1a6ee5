// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

type recorder struct{ errs []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errs = append(r.errs, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func TestPromises(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"p/x_test.go": "\nfunc TestA(", "internal/checks/suite/y_test.go": "\nfunc TestB(",
		"api.txt": "func (t *T) Get(int)\nfunc New()\ntype Options struct {\n\tSize int\n}\n", "w.go": `"room/pair"; {"odd", "an odd one"}`,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(root, "p"))
	p := Promises{
		API: "../api.txt", Functions: map[string]string{"(t *T) Get": "TestA TestB", "New": "TestB"}, Types: "Options", Fields: map[string]string{"Size": "TestA"},
		Rows: map[string]string{"bad": "TestA"}, Workloads: "../w.go", Bars: []string{"room/pair", "room/odd"}, Variants: true,
	}
	var r recorder
	if p.Check(&r); len(r.errs) != 0 {
		t.Errorf("all is there: %q", r.errs)
	}
	p.Functions = map[string]string{"(t *T) Get": "TestC", "Old": "TestA"}
	p.Fields = map[string]string{}
	p.Rows["worse"] = ""
	p.Bars = append(p.Bars, "room/even")
	p.Check(&r)
	slices.Sort(r.errs)
	want := []string{
		"(t *T) Get: there is no test TestC", "New is in the API and has no test here", "Old is no function of the API",
		"Size is in the API and has no test here", "no workload is room/even", "worse has no test",
	}
	if !slices.Equal(r.errs, want) {
		t.Errorf("%q", r.errs)
	}
}
