// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// TestOwnData wants data to be the user's by the type that is allocated: by the source of the line, by
// the type arguments of a generic function, or by the package that allocates.
func TestOwnData(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example.com/shop\n\ngo 1.26\n\nrequire example.com/lua v0.0.0\n\nreplace example.com/lua => ./lua\n",
		"shop.go":      "package shop\n\nimport \"example.com/lua\"\n\ntype order struct{ next *order }\n\nvar sink any\n\nfunc own() { sink = &order{} }\nfunc foreign() { sink = &lua.Table{} }\nfunc plain() { sink = make([]string, 10) }\n",
		"lua/go.mod":   "module example.com/lua\n\ngo 1.26\n",
		"lua/table.go": "package lua\n\ntype Table struct{ next *Table }\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "off")
	for stack, own := range map[string]bool{
		"example.com/shop.own#9":      true,
		"example.com/shop.foreign#10": false,
		"example.com/shop.plain#11":   true,
		"example.com/lua.newTable;example.com/lua.(*State).NewTable;example.com/shop.fill#9":                  false,
		"example.com/tree.(*Tree[go.shape.*uint8]).insert;example.com/shop.fill#9":                            true,
		"example.com/tree.(*Tree[example.com/shop.order]).insert;example.com/shop.fill#9":                     true,
		"example.com/tree.(*Tree[example.com/lua.Value]).insert;example.com/lua.fill;example.com/shop.fill#9": false,
		"container/list.(*List).insertValue;container/list.(*List).PushBack;example.com/shop.fill#9":          true,
		"container/list.(*List).PushBack;example.com/lua.fill;example.com/shop.fill#9":                        false,
	} {
		f := newFake()
		f.Ran("example.com/shop.work;main.main", 500)
		f.Collector(300, 20)
		f.Made(stack+";main.main", 64, 0, 2_000_000)
		f.Made("example.com/lua.garbage;main.main", 128, 8_000_000, 0)
		for _, l := range f.Heap.Location {
			if name, line, ok := strings.Cut(l.Line[0].Function.Name, "#"); ok {
				l.Line[0].Function.Name, l.Line[0].Function.Filename = name, filepath.Join(root, "shop.go")
				l.Line[0].Line = map[string]int64{"9": 9, "10": 10, "11": 11}[line]
			}
		}
		e := f.evidence()
		if e.Main = "example.com/shop"; !strings.Contains(stack, ";") {
			e.Root = root
		}
		e = with(e, map[string]float64{evidence.MetricLiveHeap: 128e6, evidence.MetricScanHeap: 128e6, evidence.MetricHeapInUse: 128e6, evidence.MetricScanStack: 1e5, evidence.MetricCyclesTotal: 8})
		if got := findingOf(diagnosePatiently(e), longLivedID) != nil; got != own {
			t.Errorf("%s: own %v, want %v", stack, got, own)
		}
	}
}
