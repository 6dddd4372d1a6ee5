// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"io"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// WriteJSON writes the report as one indented JSON object.
func (r *Report) WriteJSON(out io.Writer) error { return terminal.WriteJSON(out, "compare", r) }

// A writer prints reports for people.
type writer struct {
	terminal.Painter
	terminal.Lines
}

// WriteText writes the verdict and the tables, with colours or without, in lines of at most width
// columns where words can be broken.
func (r *Report) WriteText(out io.Writer, colours bool, width int) error {
	w := &writer{terminal.Painter{On: colours}, terminal.Lines{Out: out, Width: width, Verb: "compare"}}
	w.Wrapped(w.Bold(r.Verdict))
	w.Wrapped("A: " + r.A)
	w.Wrapped("B: " + r.B)
	w.Wrapped(r.Environment)
	for i := range r.Comparisons {
		w.comparison(&r.Comparisons[i], r, len(r.Comparisons) > 1)
	}
	for _, note := range r.Notes {
		w.Wrapped("Note: " + note + ".")
	}
	if slices.ContainsFunc(r.Comparisons, func(c Comparison) bool { return c.Measure(MeasureGCCPU) != nil }) && r.Kind != KindServers {
		w.Wrapped("The collector's CPU comes from its trace, which counts elapsed time on each P: on a busy machine it is too high.")
	}
	if r.Interrupted {
		w.Wrapped(w.Paint(text.FgYellow, "Interrupted: the figures are of the runs until then."))
	}
	return w.Err
}

func (w *writer) comparison(c *Comparison, r *Report, several bool) {
	w.Line("")
	if c.Name != "" {
		w.Line(w.Bold(c.Name))
	}
	if several {
		w.Wrapped(c.Verdict)
	}
	if len(c.Measures) > 0 {
		w.Line(w.table(c, r))
		for i := range c.Measures {
			if m := &c.Measures[i]; m.crossed() {
				w.Wrapped("A and B are medians over the runs, and B / A is estimated from pairs of runs. If the runs scatter, the two can point in different directions (" +
					kindOf(m.Name).label + ").")
				break
			}
		}
	}
	if c.Prediction != nil {
		w.prediction(c.Prediction)
	}
	for _, note := range c.Notes {
		w.Wrapped("Note: " + note + ".")
	}
}

// table has a line for each measure.
func (w *writer) table(c *Comparison, r *Report) string {
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{"by " + c.Per, "A", "B", "B / A", fmt.Sprintf("%.0f %% interval", 100*r.Confidence), "±"})
	tw.SetColumnConfigs(terminal.RightAligned(2, 3, 4, 5, 6))
	for i := range c.Measures {
		m := &c.Measures[i]
		a, b := m.valueTexts()
		tw.AppendRow(table.Row{kindOf(m.Name).label, a, b, w.ratioText(m), m.intervalText(), w.widthText(m, r.Precision)})
	}
	return tw.Render()
}

// crossed says whether the medians and the ratio disagree on the better side. They can if the runs
// scatter, because the ratio is computed from pairs.
func (m *Measure) crossed() bool { return m.Ratio != nil && (m.B-m.A)*(*m.Ratio-1) < 0 }

// valueTexts writes both values in the unit that suits them.
func (m *Measure) valueTexts() (a, b string) {
	if kindOf(m.Name).unit == "s" {
		return terminal.NanosecondsOf(m.A*1e9, m.B*1e9)
	}
	return m.valueText(m.A), m.valueText(m.B)
}

func (m *Measure) valueText(v float64) string {
	if kindOf(m.Name).unit == "B" {
		return terminal.Bytes(v)
	}
	return terminal.Count(v)
}

// ratioText is green if B certainly takes less, and red if it certainly takes more. A benchmark's
// own metrics have no colour, because a smaller value may be better or worse.
func (w *writer) ratioText(m *Measure) string {
	if m.Ratio == nil {
		return "–"
	}
	s := terminal.FineRatio(*m.Ratio)
	switch {
	case m.Low == nil || !isListed(m.Name):
		return s
	case *m.High < 1:
		return w.Paint(text.FgGreen, s)
	case *m.Low > 1:
		return w.Paint(text.FgRed, s)
	}
	return s
}

func (m *Measure) intervalText() string {
	if m.Low == nil {
		return "–"
	}
	return terminal.Interval(*m.Low, *m.High)
}

// widthText is yellow if the interval is wider than requested.
func (w *writer) widthText(m *Measure, precision float64) string {
	if m.Width == nil {
		return "–"
	}
	s := terminal.Percent(*m.Width)
	if *m.Width > precision {
		s = w.Paint(text.FgYellow, s)
	}
	return s
}

// prediction writes the doctor's gain beside the measured one.
func (w *writer) prediction(p *Prediction) {
	w.Line("")
	w.Wrapped(fmt.Sprintf("%s %s, %s", w.Bold("The doctor's prediction:"), p.Finding, p.Title))
	if p.Measured == nil {
		w.Wrapped("  There is no ratio of CPU times to compare it with.")
		return
	}
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{"gain in CPU time", "predicted", "measured", ""})
	measured := terminal.Percent(*p.Measured)
	if p.Low != nil {
		measured += fmt.Sprintf(" (%s to %s)", terminal.Percent(*p.Low), terminal.Percent(*p.High))
	}
	for _, row := range []struct {
		label, id string
		gain      float64
		agrees    bool
	}{{"at the same GOGC", AppliesSameGOGC, p.SameGOGC, p.AgreesSameGOGC}, {"at the same memory", AppliesSameMemory, p.SameMemory, p.AgreesSameMemory}} {
		mark := w.Paint(text.FgYellow, "differs")
		switch {
		case p.Applies != "" && p.Applies != row.id:
			mark = "does not apply"
		case !p.Decided:
			mark = w.Paint(text.FgYellow, "undecided: too wide")
		case row.agrees:
			mark = w.Paint(text.FgGreen, "agrees")
		}
		tw.AppendRow(table.Row{row.label, terminal.PercentError(row.gain, p.Error), measured, mark})
	}
	w.Line(tw.Render())
}
