// SPDX-License-Identifier: Apache-2.0

package bench

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"strings"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// The charts are drawn by Chart.js 4.6.1 (MIT, licence in chart.LICENSE.md), which is part of the page, so that the
// page needs no network and can be kept with a release.
//
//go:embed chart.umd.min.js
var chartScript string

//go:embed page.html
var pageText string

//go:embed page.js
var pageScript string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// pageData is what page.html shows.
type pageData struct {
	Report *report
	Mark   string
	Groups []pageGroup
	Charts []pageChart // read by page.js
	Script template.JS
	Draw   template.JS
}

type pageGroup struct {
	Name, Doc, Op string
	Sizes         []pageSize
	Bars          []int // indexes into Charts
	Curves        []int
	Extra         [][]string // values of this workload alone: a header, then a row for each contestant
	Crossovers    []pageCrossover
	Heap          string // the contestant that crossovers compare with
	Cheapest      string
}

type pageSize struct {
	Text string
	Rows []pageRow
}

type pageRow struct {
	Kind                                  string // the class of the row: heap, bound, own, failed or plain
	Contestant, Note, Time, Spread        string
	Ratio, BoundRatio, Allocs, GCs, GCCPU string
	LiveHeap, PeakRSS, Error, Skipped     string
}

// A pageCrossover says where a contestant costs less than the Go heap.
type pageCrossover struct{ Kind, Contestant, Where string }

// A pageChart is one chart. Kind is "bars", "sizes", "ratios" or "curves".
type pageChart struct {
	Kind   string      `json:"kind"`
	Title  string      `json:"title"`
	Unit   string      `json:"unit"`
	Labels []string    `json:"labels,omitempty"`
	Sets   []pageCurve `json:"sets"`
	// Exact is set where sizes are shown as they are, and Marks are where curves cross the heap's.
	Exact bool       `json:"exact,omitempty"`
	Marks []pageMark `json:"marks,omitempty"`
}

type pageMark struct {
	Text string  `json:"text"`
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
}

type pageCurve struct {
	Name   string    `json:"name"`
	Kind   string    `json:"kind"`
	X      []float64 `json:"x,omitempty"`
	Values []float64 `json:"values"`
}

// chartSource is the library without the reference to its source map, which browsers would try to
// fetch.
func chartSource() string {
	source, _, _ := strings.Cut(chartScript, "//# sourceMappingURL=")
	return source
}

// writeHTML writes the report as one page.
func (rep *report) writeHTML(file string) error {
	data := pageData{Report: rep, Script: template.JS(chartSource()), Draw: template.JS(pageScript)}
	if rep.Quick {
		data.Mark = quickMark
	}
	for _, g := range rep.groups() {
		data.addGroup(g)
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("bench: -html: %w", err)
	}
	if err := pageTemplate.Execute(f, &data); err != nil {
		f.Close()
		return fmt.Errorf("bench: -html: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("bench: -html: %w", err)
	}
	return nil
}

func (d *pageData) addGroup(g group) {
	pg := pageGroup{Name: g.w.Name, Doc: g.w.Doc, Op: g.w.Op}
	for _, s := range g.sizes {
		ps := pageSize{Text: g.w.PlaceText(s.n, s.input)}
		for _, r := range s.rows {
			ps.Rows = append(ps.Rows, newPageRow(r))
		}
		pg.Sizes = append(pg.Sizes, ps)
	}
	pg.Extra = g.extraTable()
	switch {
	case g.w.Inputs != nil && len(g.sizes) > 1:
		pg.Bars = append(pg.Bars, d.addChart(ratiosChart(g)))
	case len(g.sizes) >= leastCurve:
		pg.Bars = append(pg.Bars, d.addChart(sizesChart(g)))
		pg.addCrossovers(g)
	default:
		for _, s := range g.sizes {
			pg.Bars = append(pg.Bars, d.addChart(barsChart(g, s)))
		}
	}
	for _, s := range g.sizes {
		for _, c := range curvesCharts(s) {
			pg.Curves = append(pg.Curves, d.addChart(c))
		}
	}
	d.Groups = append(d.Groups, pg)
}

func (p *pageGroup) addCrossovers(g group) {
	for _, c := range g.crossovers() {
		p.Crossovers = append(p.Crossovers, pageCrossover{c.Row.kind(), c.Row.Contestant, c.Where})
	}
	p.Heap, p.Cheapest = g.w.Heap, g.cheapest()
}

func (d *pageData) addChart(c pageChart) int {
	d.Charts = append(d.Charts, c)
	return len(d.Charts) - 1
}

// kind is the mark of a row: its part in the comparison.
func (r *Row) kind() string {
	switch {
	case r.Error != "":
		return "failed"
	case r.Contestant == r.w.Heap:
		return "heap"
	case r.Contestant == r.w.Bound || r.c.Bound:
		return "bound"
	case r.c.Own:
		return "own"
	}
	return "plain"
}

func newPageRow(r *Row) pageRow {
	p := pageRow{Kind: r.kind(), Contestant: r.Contestant, Note: r.c.Note, Error: r.Error}
	if r.Passes == 0 {
		p.Skipped = r.Skipped
		return p
	}
	p.LiveHeap, p.PeakRSS = terminal.Bytes(r.LiveHeap), terminal.Bytes(r.PeakRSS)
	if r.c.Baseline {
		return p
	}
	p.Time, p.Spread = terminal.Nanoseconds(r.NsOp), spreadText(r)
	p.Ratio, p.BoundRatio = ratioText(r.Ratio), ratioText(r.BoundRatio)
	p.Allocs, p.GCs, p.GCCPU = terminal.Count(r.AllocsOp), terminal.Count(r.GCCycles), terminal.Significant(r.GCCPU)+" s"
	return p
}

// barsChart compares the contestants at one size.
func barsChart(g group, s sizeGroup) pageChart {
	c := pageChart{Kind: "bars", Title: g.w.PlaceText(s.n, s.input), Unit: "CPU ns/" + g.w.Op}
	set := pageCurve{}
	for _, r := range s.rows {
		if r.Passes > 0 && !r.c.Baseline {
			c.Labels = append(c.Labels, r.Contestant)
			set.Values = append(set.Values, r.NsOp)
			c.Sets = append(c.Sets, pageCurve{Name: r.Contestant, Kind: r.kind()})
		}
	}
	// One data set has all bars; the others only set their colours.
	c.Sets = append([]pageCurve{set}, c.Sets...)
	return c
}

// sizesChart draws time over size, a curve for each contestant.
func sizesChart(g group) pageChart {
	c := pageChart{Kind: "sizes", Title: "by size", Unit: "CPU ns/" + g.w.Op, Exact: g.w.Size == "bytes"}
	for _, cross := range g.crossovers() {
		for _, p := range cross.Points {
			text := fmt.Sprintf("%s crosses %s at %s", cross.Row.Contestant, g.w.Heap, roundCount(p.X))
			c.Marks = append(c.Marks, pageMark{text, p.X, p.Y})
		}
	}
	index := map[string]int{}
	for _, s := range g.sizes {
		for _, r := range s.rows {
			if r.Passes == 0 || r.c.Baseline {
				continue
			}
			i, ok := index[r.Contestant]
			if !ok {
				i = len(c.Sets)
				index[r.Contestant] = i
				c.Sets = append(c.Sets, pageCurve{Name: r.Contestant, Kind: r.kind()})
			}
			c.Sets[i].X = append(c.Sets[i].X, float64(s.n))
			c.Sets[i].Values = append(c.Sets[i].Values, r.NsOp)
		}
	}
	return c
}

// ratiosChart compares the contestants on every input, as parts of the heap's time.
func ratiosChart(g group) pageChart {
	c := pageChart{Kind: "ratios", Title: "CPU time by input", Unit: "× " + g.w.Heap}
	sets := map[string]int{}
	for i, s := range g.sizes {
		c.Labels = append(c.Labels, s.input)
		for _, r := range s.rows {
			if r.Ratio == nil {
				continue
			}
			k, ok := sets[r.Contestant]
			if !ok {
				k = len(c.Sets)
				sets[r.Contestant] = k
				c.Sets = append(c.Sets, pageCurve{Name: r.Contestant, Kind: r.kind(), Values: make([]float64, len(g.sizes))})
			}
			c.Sets[k].Values[i] = *r.Ratio
		}
	}
	return c
}

// curvesCharts draws the curves that children recorded over time: a chart for each name, a curve
// for each contestant.
func curvesCharts(s sizeGroup) []pageChart {
	var charts []pageChart
	index := map[string]int{}
	for _, r := range s.rows {
		for _, series := range r.series {
			i, ok := index[series.Name]
			if !ok {
				i = len(charts)
				index[series.Name] = i
				charts = append(charts, pageChart{Kind: "curves", Title: series.Name, Unit: series.Unit})
			}
			charts[i].Sets = append(charts[i].Sets, pageCurve{r.Contestant, r.kind(), series.Seconds, series.Values})
		}
	}
	return charts
}
