// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// mostBenchmarks is how many benchmarks the screen has.
const mostBenchmarks = 5

// benchmarks shows the benchmarks that allocate most bytes a second.
func (t *textWriter) benchmarks(r *doctor.Report) {
	if len(r.Benchmarks) == 0 {
		return
	}
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{"benchmark", "time/op", "fastest to slowest", "runs", "bytes/op", "objects/op", "bytes/s", "GC/s ¹"})
	tw.SetColumnConfigs(terminal.RightAligned(2, 3, 4, 5, 6, 7, 8))
	for _, b := range benchmarkRows(r.Benchmarks) {
		tw.AppendRow(table.Row{text.Snip(b.Name, max(t.Width-86, 24), "…"), b.Time, b.Spread, b.Runs, b.Bytes, b.Objects, b.Rate, b.Cycles})
	}
	t.draw(tw)
	t.wrap("", "  ", benchmarkNote(r.Benchmarks))
}

// benchmarkNote explains the last column, and says what the table leaves out.
func benchmarkNote(list []doctor.BenchmarkCost) string {
	note := "¹ collections a second at GOGC=100, at least, while less than 4 MiB lives: Go then collects before 4 MiB more are allocated. More live data makes them rarer and longer."
	if n := len(list) - mostBenchmarks; n > 0 {
		note += fmt.Sprintf(" The object of -json has %s more.", plural(n, "benchmark"))
	}
	return note
}

// A benchmarkRow is a line of the table of benchmarks.
type benchmarkRow struct {
	Name, Time, Spread           string
	Runs                         int
	Bytes, Objects, Rate, Cycles string
}

// benchmarkRows are the lines of that table, at most mostBenchmarks.
func benchmarkRows(list []doctor.BenchmarkCost) (rows []benchmarkRow) {
	for _, b := range list[:min(len(list), mostBenchmarks)] {
		low, high := terminal.NanosecondsOf(b.Fastest*1e9, b.Slowest*1e9)
		row := benchmarkRow{Name: b.Name, Time: terminal.Nanoseconds(b.Seconds * 1e9), Spread: low + " to " + high, Runs: b.Runs, Bytes: "?", Objects: "?", Rate: "?", Cycles: "?"}
		if b.Memory {
			row.Bytes, row.Objects, row.Rate, row.Cycles = terminal.Bytes(b.AllocBytes), terminal.Count(b.AllocObjects), terminal.Bytes(b.AllocBytesPerSecond), terminal.Quantity(b.CyclesPerSecond)
		}
		rows = append(rows, row)
	}
	return rows
}

// comparedBenchmarks are the figures of the benchmarks that both reports have.
func comparedBenchmarks(r, before *doctor.Report) (list []change) {
	for _, c := range doctor.CompareBenchmarks(before, r) {
		write := terminal.Count
		switch c.Unit {
		case "sec/op":
			write = func(s float64) string { return terminal.Nanoseconds(s * 1e9) }
		case "B/op":
			write = terminal.Bytes
		}
		sure := fmt.Sprintf("p=%.3f", c.P)
		switch {
		case c.Before == c.After:
			sure = "equal"
		case c.Few:
			sure = "too few runs: -count 10"
		case !c.Sure:
			sure = "not sure, " + sure
		}
		ratio := ""
		if c.Before > 0 && c.After != c.Before {
			ratio = terminal.Ratio(c.After/c.Before) + ", "
		}
		list = append(list, change{c.Name + " " + c.Unit, write(c.Before), fmt.Sprintf("%s (%s%s)", write(c.After), ratio, sure)})
	}
	return list
}
