// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// curveReport is a report of objects with a curve for each contestant: ns an object at 1k, 100k and 1M.
func curveReport(curves map[string][3]float64) *report {
	w := tests.find("objects")
	var rows []*Row
	for i, n := range []int{1000, 100_000, 1_000_000} {
		for k := range w.Contestants {
			c := &w.Contestants[k]
			if ns, ok := curves[c.Name]; ok {
				rows = append(rows, &Row{Workload: w.Name, N: n, Contestant: c.Name, NsOp: ns[i], Passes: 1, Op: w.Op, w: w, c: c})
			}
		}
	}
	for _, r := range rows {
		r.Ratio = ratioTo(r, findRow(rows, r, HeapName))
	}
	return &report{Rows: rows}
}

func TestCrossovers(t *testing.T) {
	for _, test := range []struct {
		curve [3]float64
		want  string
	}{
		{[3]float64{5, 5, 5}, "everywhere"},
		{[3]float64{20, 30, 20}, "nowhere"},
		{[3]float64{20, 5, 5}, "from 10k on"},
		{[3]float64{5, 20, 20}, "up to 10k"},
		{[3]float64{20, 5, 20}, "from 10k to 320k"},
		{[3]float64{5, 20, 5}, "up to 10k, from 320k on"},
		{[3]float64{10, 5, 5}, "from 1k on"},
		{[3]float64{9, 10.4, 9}, "everywhere"},
		{[3]float64{9, 10.4, 11}, "up to 100k"},
	} {
		rep := curveReport(map[string][3]float64{HeapName: {10, 10, 10}, "sync.Pool": test.curve, slabName: {1, 1, 1}})
		g := rep.groups()[0]
		found := g.crossovers()
		if len(found) != 2 || found[0].Row.Contestant != "sync.Pool" || found[0].Where != test.want {
			t.Errorf("%v is %+v, want %q", test.curve, found, test.want)
		}
		for _, p := range found[0].Points {
			if math.Abs(p.Y-10) > 0.5 {
				t.Errorf("%v crosses the heap at %+v", test.curve, p)
			}
		}
	}
}

func TestCheapest(t *testing.T) {
	rep := curveReport(map[string][3]float64{HeapName: {10, 10, 10}, "sync.Pool": {5, 20, 20}, slabName: {1, 1, 1}})
	g := rep.groups()[0]
	if got, want := g.cheapest(), "sync.Pool at 1k; Go heap at 100k, 1M"; got != want {
		t.Errorf("cheapest is %q, want %q", got, want)
	}
	var out strings.Builder
	(&tableWriter{out: &out}).write(rep)
	for _, want := range []string{"Cheaper than Go heap:", "sync.Pool  up to 10k", "slab       everywhere", "Go heap at 100k, 1M."} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	if c := sizesChart(g); len(c.Marks) != 1 || c.Marks[0].Text != "sync.Pool crosses Go heap at 10k" {
		t.Errorf("marks are %+v", c.Marks)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := rep.writeHTML(file); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cheaper than Go heap</th>", `<td class="text">up to 10k</td>`, "Cheapest but for the bound: sync.Pool at 1k", `"text":"sync.Pool crosses`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestRatiosChart(t *testing.T) {
	w := tests.find("json")
	var rows []*Row
	for _, input := range []string{"one", "two"} {
		rows = append(rows,
			&Row{Workload: w.Name, N: 10, Input: input, Contestant: HeapName, NsOp: 10, Passes: 1, w: w, c: w.contestant(HeapName)},
			&Row{Workload: w.Name, N: 10, Input: input, Contestant: slabName, NsOp: 4, Passes: 1, w: w, c: w.contestant(slabName)})
	}
	rows[3].NsOp = 5
	for _, r := range rows {
		r.Ratio = ratioTo(r, findRow(rows, r, HeapName))
	}
	groups := (&report{Rows: rows}).groups()
	if len(groups[0].sizes) != 2 {
		t.Fatalf("two inputs of one size make %d groups", len(groups[0].sizes))
	}
	c := ratiosChart(groups[0])
	if len(c.Labels) != 2 || len(c.Sets) != 2 || c.Sets[1].Values[0] != 0.4 || c.Sets[1].Values[1] != 0.5 {
		t.Errorf("%+v", c)
	}
}
