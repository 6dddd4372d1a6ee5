// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"fmt"
	"io"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// WriteText writes the verdict, the table and the lines to paste, with colours or without, in lines of at most width columns where words
// can be broken.
func (r *Report) WriteText(out io.Writer, colours bool, width int) error {
	p := terminal.Painter{On: colours}
	w := &terminal.Lines{Out: out, Width: width, Verb: "sweep"}
	w.Wrapped(p.Bold(r.Verdict))
	w.Wrapped(r.Command)
	w.Wrapped(fmt.Sprintf("%s · %d rounds", r.Environment, r.Rounds))
	w.Line("")
	w.Line(r.table(p))
	if slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Dominated }) {
		w.Wrapped("– takes more CPU time than another row and no less memory, or more memory and no less CPU time.")
	}
	if len(r.Paste) > 0 {
		w.Line("")
		for _, line := range r.Paste {
			w.Line(fmt.Sprintf("  %-10s  %s", line[0], line[1]))
		}
	}
	for _, note := range r.Notes {
		if note != r.Verdict {
			w.Wrapped("Note: " + note + ".")
		}
	}
	if r.Interrupted {
		w.Wrapped(p.Paint(text.FgYellow, "Interrupted: the figures are of the rounds until then."))
	}
	return w.Err
}

// table has a line for each setting.
func (r *Report) table(p terminal.Painter) string {
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{"", "setting", "CPU time", "of " + r.Baseline.String(), "95 % interval", "elapsed", "peak RSS", "of it", "collections"})
	tw.SetColumnConfigs(terminal.RightAligned(3, 4, 5, 6, 7, 8, 9))
	for i := range r.Rows {
		row := &r.Rows[i]
		mark := ""
		switch {
		case i == r.Best && i == r.Knee:
			mark = "knee, best"
		case i == r.Best:
			mark = "best"
		case i == r.Knee:
			mark = "knee"
		case slices.Contains(r.KneeAlso, i):
			mark = "knee?"
		case row.Dominated:
			mark = "–"
		}
		cells := []string{mark, row.Setting.String(), terminal.Seconds(row.CPU), row.CPURatio.text(), row.CPURatio.interval(), terminal.Seconds(row.Wall),
			terminal.Bytes(row.PeakRSS), row.RSSRatio.text(), terminal.Count(float64(row.Collections))}
		if row.PeakRSS == 0 {
			cells[6] = "–"
		}
		line := table.Row{}
		for _, c := range cells {
			switch {
			case row.Dominated:
				c = p.Paint(text.Faint, c)
			case i == r.Knee || i == r.Best:
				c = p.Bold(c)
			}
			line = append(line, c)
		}
		tw.AppendRow(line)
	}
	return tw.Render()
}

func (r Ratio) text() string {
	if r.Ratio == 0 {
		return "–"
	}
	return terminal.FineRatio(r.Ratio)
}

func (r Ratio) interval() string {
	if r.Low == 0 || r.Low == r.High {
		return "–"
	}
	return terminal.Interval(r.Low, r.High)
}
