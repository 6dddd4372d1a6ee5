// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// barWidth is the width of the longest bar in the table, in characters.
const barWidth = 20

// docWidth is where sentences are wrapped.
const docWidth = 110

// A tableWriter prints rows as tables, one for each workload.
type tableWriter struct {
	terminal.Painter
	out io.Writer
}

func (t *tableWriter) write(rep *report) {
	fmt.Fprintf(t.out, "%s\n", rep.Environment)
	if rep.Quick {
		fmt.Fprintf(t.out, "%s\n", t.Paint(text.FgYellow, quickMark))
	}
	for _, group := range rep.groups() {
		t.writeGroup(group)
	}
	t.writeFailures(rep.Rows)
	t.writeBars(rep.Bars)
}

// writeGroup prints the table of one workload.
func (t *tableWriter) writeGroup(g group) {
	fmt.Fprintf(t.out, "\n%s\n%s\n", t.Bold(g.w.Name), terminal.TrimLines(text.WrapSoft(g.w.Doc, docWidth)))
	tw := terminal.NewTable()
	header := table.Row{"contestant", "CPU/" + g.w.Op, "±", "", "× heap", "× bound", "allocs", "GCs", "GC CPU", "live heap", "peak RSS"}
	tw.AppendHeader(header)
	var configs []table.ColumnConfig
	for i := range header {
		if i != 0 && i != 3 {
			configs = append(configs, table.ColumnConfig{Number: i + 1, Align: text.AlignRight})
		}
	}
	tw.SetColumnConfigs(configs)
	for i, size := range g.sizes {
		if i > 0 {
			tw.AppendSeparator()
		}
		tw.AppendRow(table.Row{t.Bold(g.w.PlaceText(size.n, size.input))})
		for _, r := range size.rows {
			tw.AppendRow(t.cells(r, size.most))
		}
	}
	fmt.Fprintln(t.out, terminal.TrimLines(tw.Render()))
	t.writeCrossovers(g)
	t.writeExtra(g)
}

// writeCrossovers says from which size on each contestant costs less than the heap.
func (t *tableWriter) writeCrossovers(g group) {
	found := g.crossovers()
	if len(found) == 0 {
		return
	}
	width := 0
	for _, c := range found {
		width = max(width, utf8.RuneCountInString(c.Row.Contestant))
	}
	fmt.Fprintf(t.out, "\n Cheaper than %s:\n", g.w.Heap)
	for _, c := range found {
		fmt.Fprintf(t.out, "   %-*s  %s\n", width, c.Row.Contestant, c.Where)
	}
	if best := g.cheapest(); best != "" {
		fmt.Fprintf(t.out, "%s\n", text.WrapSoft(" Cheapest but for the bound: "+best+".", docWidth))
	}
}

// writeExtra prints the values that only this workload has, in a table of their own.
func (t *tableWriter) writeExtra(g group) {
	lines := g.extraTable()
	if len(lines) == 0 {
		return
	}
	tw := terminal.NewTable()
	var figures []int
	for n := 2; n <= len(lines[0]); n++ {
		figures = append(figures, n)
	}
	tw.SetColumnConfigs(terminal.RightAligned(figures...))
	for i, line := range lines {
		cells := make(table.Row, len(line))
		for k, cell := range line {
			cells[k] = cell
		}
		if i == 0 {
			tw.AppendHeader(cells)
		} else {
			cells[0] = "  " + line[0]
			tw.AppendRow(cells)
		}
	}
	fmt.Fprintf(t.out, "\n%s\n", terminal.TrimLines(tw.Render()))
}

func (t *tableWriter) cells(r *Row, most float64) table.Row {
	name := "  " + r.Contestant
	if r.Passes == 0 {
		why := "not run: " + r.Skipped
		if r.Error != "" {
			why = t.Paint(text.FgRed, "failed")
		}
		return table.Row{name, "", "", why}
	}
	if r.Error != "" {
		name = t.Paint(text.FgRed, name+" (failed)")
	}
	colour := map[string]text.Color{"heap": text.FgYellow, "bound": text.FgHiBlack, "own": text.FgCyan, "failed": text.FgRed}[r.kind()]
	if r.c.Baseline {
		return table.Row{name, "", "", "", "", "", "", "", "", terminal.Bytes(r.LiveHeap), terminal.Bytes(r.PeakRSS)}
	}
	return table.Row{
		name, terminal.Nanoseconds(r.NsOp), spreadText(r), t.Paint(colour, barText(r.NsOp, most, barWidth)),
		ratioText(r.Ratio), ratioText(r.BoundRatio), terminal.Count(r.AllocsOp), terminal.Count(r.GCCycles),
		terminal.Significant(r.GCCPU) + " s", terminal.Bytes(r.LiveHeap), terminal.Bytes(r.PeakRSS),
	}
}

// writeFailures repeats every failure in full, so that none is lost in a column.
func (t *tableWriter) writeFailures(rows []*Row) {
	for _, r := range rows {
		if r.Error != "" {
			fmt.Fprintf(t.out, "\n%s %s, %s, %s: %s\n", t.Paint(text.FgRed, "FAILED"), r.Workload, r.w.PlaceText(r.N, r.Input), r.Contestant, r.Error)
		}
	}
}

func (t *tableWriter) writeBars(bars []BarResult) {
	if len(bars) == 0 {
		return
	}
	fmt.Fprintf(t.out, "\n%s\n", t.Bold("bars"))
	for _, b := range bars {
		mark := t.Paint(text.FgGreen, "met    ")
		if !b.Met {
			mark = t.Paint(text.FgRed, "missed ")
		}
		fmt.Fprintf(t.out, "  %s %s: %s, at most %s (%s)\n", mark, b.Name, terminal.Significant(b.Value), terminal.Significant(b.Limit), b.Detail)
	}
}
