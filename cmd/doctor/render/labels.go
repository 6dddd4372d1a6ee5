// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// mostValues is how many values of a label the screen has.
	mostValues = 5
	// mostKeys is how many labels the screen names.
	mostKeys = 4
)

// labelNote says what the table of values can show.
const labelNote = "Goroutines carry labels through allocation and assists. The workers that mark and sweep in the background carry none: the last column estimates the part of their time that " +
	"each value causes, by the lines that allocate under it."

// labels shows the cost by the values of the label that was chosen. Without a choice it names the
// labels that there are.
func (t *textWriter) labels(r *doctor.Report) {
	if r.Labels != nil {
		t.split(r.Labels)
		return
	}
	if len(r.LabelKeys) == 0 {
		return
	}
	var names []string
	for _, k := range r.LabelKeys[:min(len(r.LabelKeys), mostKeys)] {
		names = append(names, fmt.Sprintf("%s (%s, %s of CPU)", k.Key, plural(k.Values, "value"), terminal.Percent(k.CPUShare)))
	}
	if n := len(r.LabelKeys) - mostKeys; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	t.wrap("", "  ", fmt.Sprintf("labels: %s; -label '%s' shows the cost of each value", strings.Join(names, ", "), r.LabelKeys[0].Key))
}

// split shows a table of values, the one first that the findings are restricted to.
func (t *textWriter) split(l *doctor.LabelSplit) {
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{text.Snip(l.Key, 40, "…"), "CPU", "allocation", "GC", "GC in the background"})
	tw.SetColumnConfigs(terminal.RightAligned(2, 3, 4, 5))
	for _, row := range labelRows(l) {
		tw.AppendRow(table.Row{text.Snip(row.Name, max(t.Width-58, 20), "…"), row.CPU, row.Alloc, row.GC, row.Background})
	}
	t.draw(tw)
	t.wrap("", "", labelNote)
	if l.Restricted {
		t.wrap("", "", fmt.Sprintf("The findings are those of lines that allocate under %s=%s, and those of the whole program. Gains are shares of the whole program's CPU.", l.Key, l.Value))
	}
}

// A labelRow is a line of the table of values.
type labelRow struct{ Name, CPU, Alloc, GC, Background string }

// labelRows are the lines of that table, at most mostValues of them for values.
func labelRows(l *doctor.LabelSplit) (rows []labelRow) {
	add := func(name string, c doctor.LabelCost) {
		rows = append(rows, labelRow{name, terminal.PercentError(c.CPUShare, c.Error), terminal.Percent(c.AllocShare), terminal.Percent(c.GCShare), "about " + terminal.Percent(c.ChargedShare)})
	}
	shown, rest := chosenFirst(l)
	for _, c := range shown {
		add(cmp.Or(c.Value, `""`), c)
	}
	if n := len(l.Costs) - len(shown); n > 0 {
		add(plural(n, "more value"), rest)
	}
	add("no "+l.Key, l.Unlabelled)
	return append(rows, labelRow{Name: "background workers", CPU: terminal.Percent(l.BackgroundShare), Background: terminal.Percent(l.NotChargedShare) + " not charged"})
}

// chosenFirst are the values that the screen has, and the sum of the others.
func chosenFirst(l *doctor.LabelSplit) (shown []doctor.LabelCost, rest doctor.LabelCost) {
	for _, c := range l.Costs {
		if l.Restricted && c.Value == l.Value {
			shown = append(shown, c)
		}
	}
	for _, c := range l.Costs {
		switch {
		case l.Restricted && c.Value == l.Value:
		case len(shown) < mostValues:
			shown = append(shown, c)
		default:
			rest.CPUShare += c.CPUShare
			rest.AllocShare += c.AllocShare
			rest.GCShare += c.GCShare
			rest.ChargedShare += c.ChargedShare
		}
	}
	return shown, rest
}

// labelPart says which part of a finding's cost the value of the label has, "" if that is not known.
func labelPart(r *doctor.Report, f *doctor.Finding) string {
	if r.Labels == nil || !r.Labels.Restricted || f.LabelPart == 0 {
		return ""
	}
	return fmt.Sprintf("%s under %s", terminal.Percent(f.LabelPart), r.Labels.Value)
}
