// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
)

// TestSort wants the calls of packages sort and slices that sort strings or slices of bytes, and no
// others. Each call is the only one in its file.
func TestSort(t *testing.T) {
	calls := []struct{ call, want string }{
		{"sort.Strings(names)", "[]string"},
		{"sort.Slice(records, func(i, j int) bool { return i < j })", "[][]byte"},
		{"sort.SliceStable(names, func(i, j int) bool { return i < j })", "[]string"},
		{"sort.Sort(sort.StringSlice(names))", "[]string"},
		{"sort.Sort(sort.Reverse(sort.StringSlice(names)))", "[]string"},
		{"sort.Stable(byLength(records))", "[][]byte"},
		{"sort.StringSlice(names).Sort()", "[]string"},
		{"slices.Sort(names)", "[]string"},
		{"slices.Sort[[]string](names)", "[]string"},
		{"slices.SortFunc(records, bytes.Compare)", "[][]byte"},
		{"slices.SortStableFunc(raws, func(a, b raw) int { return bytes.Compare(a, b) })", "[][]byte"},
		{"_ = slices.Sorted(maps.Keys(byName))", "[]string"},
		{"_ = slices.SortedFunc(slices.Values(records), bytes.Compare)", "[][]byte"},
		{"func() { slices.Sort(names) }()", "[]string"},

		{"slices.Sort(numbers)", ""},
		{"sort.Ints(numbers)", ""},
		{"sort.Slice(numbers, func(i, j int) bool { return i < j })", ""},
		{"sort.Sort(sort.IntSlice(numbers))", ""},
		{"slices.Sort(records[0])", ""},
		{"_ = sort.StringsAreSorted(names)", ""},
		{"_ = sort.SearchStrings(names, names[0])", ""},
		{"_, _ = slices.BinarySearch(names, names[0])", ""},
		{"_ = slices.Max(names)", ""},
		{"Sort(names)", ""},
	}
	root := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(root, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("go.mod", "module example.com/shop\n\ngo 1.26\n")
	write("shop.go", `package shop

import "bytes"

type raw []byte

type byLength [][]byte

func (b byLength) Len() int           { return len(b) }
func (b byLength) Less(i, j int) bool { return bytes.Compare(b[i], b[j]) < 0 }
func (b byLength) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

var (
	names   []string
	records [][]byte
	raws    []raw
	numbers []int
	byName  map[string]int
)

func Sort([]string) {}
`)
	var frames []*stack.Frame
	for i, c := range calls {
		imports := ""
		for _, name := range []string{"bytes", "maps", "slices", "sort"} {
			if strings.Contains(c.call, name+".") {
				imports += "import \"" + name + "\"\n"
			}
		}
		text := fmt.Sprintf("package shop\n%s\nfunc make%d() []int {\n\treturn []int{}\n}\n\nfunc sort%d() {\n\t%s\n}\n", imports, i, i, c.call)
		frames = append(frames, &stack.Frame{Func: fmt.Sprintf("example.com/shop.make%d", i), File: write(fmt.Sprintf("f%d.go", i), text), Line: 4 + strings.Count(imports, "\n")})
	}
	t.Setenv("GOWORK", "off")
	s, err := Open(t.Context(), Options{Root: root, Limit: patient}, frames)
	if err != nil || len(s.Problems) > 0 {
		t.Fatal(err, s.Problems)
	}
	for i, c := range calls {
		at := frames[i]
		got := s.Sort(at)
		if got.Type != c.want || got.Type != "" && got.Line != at.Line+4 {
			t.Errorf("%s: %+v in line %d, want %q", c.call, got, at.Line+4, c.want)
		}
		if other := (&stack.Frame{Func: "example.com/shop.older", File: at.File, Line: at.Line}); s.Sort(other).Type != "" {
			t.Errorf("%s: a line of another version has an answer", c.call)
		}
	}
}

// TestSortNearest wants the sort of the frame's function before one above it in the file.
func TestSortNearest(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "main.go")
	text := "package main\n\nimport \"slices\"\n\nfunc main() {\n\tslices.Sort([]string{})\n}\n\nfunc flush() {\n\tslices.SortFunc([][]byte{}, slices.Compare)\n}\n"
	for name, text := range map[string]string{"go.mod": "module example.com/shop\n\ngo 1.26\n", "main.go": text} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	at := &stack.Frame{Func: "main.flush", File: file, Line: 10}
	s, err := Open(t.Context(), Options{Root: root, Limit: patient}, []*stack.Frame{at})
	if err != nil || len(s.Problems) > 0 {
		t.Fatal(err, s.Problems)
	}
	if got := s.Sort(at); got != (Sort{"[][]byte", 10}) {
		t.Errorf("%+v", got)
	}
}
