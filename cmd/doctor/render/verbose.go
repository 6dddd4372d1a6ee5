// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"math"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// This file has what -v adds to the screen: the CPU time by class, a table of all findings, and
// for each of the first findings its figures, its code and its checks.

// barRunes are the eighths of a bar's last character.
var barRunes = []rune(" ▏▎▍▌▋▊▉")

// bar draws a share of width columns.
func bar(share float64, width int) string {
	eighths := int(share*float64(width)*8 + 0.5)
	b := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		b += string(barRunes[eighths%8])
	}
	return b
}

// leastShown is the share from which on a class is listed.
const leastShown = 0.0005

// details has a table of all findings, the figures and code of each, and the missing evidence.
func (t *textWriter) details(r *doctor.Report) {
	t.table(r)
	snippets := map[string]int{} // the finding that shows each
	for i := range r.Findings {
		t.finding(i+1, &r.Findings[i], sameRemedy(r.Findings, i+1), snippets, labelPart(r, &r.Findings[i]))
	}
	t.missing(r)
}

// classes shows the CPU time by class.
func (t *textWriter) classes(r *doctor.Report) {
	if len(r.Classes) > 0 {
		fmt.Fprintln(t.out)
	}
	width := min(60, t.Width-30)
	for _, c := range r.Classes {
		if c.Share < leastShown {
			continue
		}
		colour := text.FgYellow
		if c.Name == programClass {
			colour = text.FgHiBlack
		}
		fmt.Fprintf(t.out, "  %-14s %6s  %s\n", c.Name, terminal.Percent(c.Share), t.Paint(colour, bar(c.Share, width)))
	}
}

// programClass is the name of the class for all that is not memory management.
const programClass = "program"

// Widths of the columns of that list: the columns besides finding and place, the severity, and the
// least width of the place.
const (
	otherColumns   = 52
	severityColumn = 10
	leastWhere     = 30
)

// table lists the findings, a line each.
func (t *textWriter) table(r *doctor.Report) {
	if len(r.Findings) < 2 {
		return // the finding itself says it all
	}
	ids := 0
	for _, f := range r.Findings {
		ids = max(ids, len(f.ID))
	}
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{"", "finding", "severity", "CPU now", "gain", "same memory", "where"})
	configs := terminal.RightAligned(1, 4, 5, 6)
	room := t.Width - ids - otherColumns
	if room < leastWhere { // the severity follows from the gain, and each finding names it again
		configs = append(configs, table.ColumnConfig{Number: 3, Hidden: true})
		room += severityColumn
	}
	tw.SetColumnConfigs(configs)
	for i, f := range r.Findings {
		tw.AppendRow(table.Row{
			i + 1, f.ID, t.Paint(severityColour[f.Severity], string(f.Severity)), terminal.Percent(f.CPUShare),
			terminal.PercentError(f.Gain.SameGOGC, f.Gain.Error), inSameMemory(f.Gain), text.Snip(where(f), room, "…"),
		})
	}
	t.draw(tw)
}

// labelWidth is the width of the words in front of a finding's lines.
const labelWidth = 12

// labelled writes a line of a finding with a word in front.
func (t *textWriter) labelled(label, s string) {
	if s == "" {
		return
	}
	pad := strings.Repeat(" ", labelWidth)
	t.wrap(t.Paint(text.FgHiBlack, fmt.Sprintf("   %-*s", labelWidth-3, label)), pad, s)
}

// finding writes the n-th finding. same is the number of an earlier finding with the same remedy, 0
// for none. snippets has the number of the finding that shows a snippet, and label the part under the
// label that was chosen.
func (t *textWriter) finding(n int, f *doctor.Finding, same int, snippets map[string]int, label string) {
	head := fmt.Sprintf("%d  %s", n, f.ID)
	fmt.Fprintf(t.out, "\n%s  %s\n", t.Bold(head), t.Paint(severityColour[f.Severity], string(f.Severity)))
	t.wrap("   ", "   ", f.Title)
	if f.Detail != "" {
		t.wrap("   ", "   ", f.Detail)
	}
	t.labelled("site", place(f.Site))
	if f.Owner != f.Site {
		t.labelled("owner", place(f.Owner))
	}
	t.places(f.Places)
	if f.CPUShare != 0 {
		t.labelled("costs", terminal.Percent(f.CPUShare)+" of CPU now")
	}
	if f.Gain != (doctor.Gain{}) {
		t.labelled("gain", gains(f.Gain))
	}
	t.labelled("label", label)
	var parts []string
	for _, e := range figures(f.Evidence) {
		parts = append(parts, e.Name+" "+e.Value)
	}
	t.labelled("evidence", strings.Join(parts, ", "))
	if same > 0 {
		t.labelled("remedy", fmt.Sprintf("as for %d", same))
		return
	}
	t.labelled("remedy", f.Remedy.Text)
	if shown := snippets[f.Remedy.Snippet]; shown > 0 && f.Remedy.Snippet != "" {
		t.labelled("code", fmt.Sprintf("as for %d", shown))
	} else {
		snippets[f.Remedy.Snippet] = n
		t.snippet(strings.Repeat(" ", labelWidth), f.Remedy.Snippet, math.MaxInt)
	}
	for i, check := range f.Check {
		if i == 0 {
			t.labelled("check", check)
		} else {
			t.labelled("", check)
		}
	}
	t.labelled("more", f.Remedy.Doc)
}

// places writes the places of a finding that cost most.
func (t *textWriter) places(list []doctor.Place) {
	label := "places"
	for _, line := range placeLines(list) {
		t.labelled(label, line)
		label = ""
	}
}

// snippet writes the first lines of code, a diff in its colours.
func (t *textWriter) snippet(indent, code string, most int) {
	if code == "" {
		return
	}
	for i, line := range strings.Split(strings.TrimRight(code, "\n"), "\n") {
		if i == most {
			fmt.Fprintf(t.out, "%s…\n", indent)
			return
		}
		colour := text.Reset
		switch {
		case strings.HasPrefix(line, "+"):
			colour = text.FgGreen
		case strings.HasPrefix(line, "-"):
			colour = text.FgRed
		}
		fmt.Fprintf(t.out, "%s%s\n", indent, t.Paint(colour, strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " ")))
	}
}

// missing lists the evidence that would raise the confidence.
func (t *textWriter) missing(r *doctor.Report) {
	if len(r.Missing) == 0 {
		return
	}
	fmt.Fprintf(t.out, "\n%s\n", t.Bold("To know more"))
	for _, m := range r.Missing {
		t.wrap("   ", "     ", t.Bold(m.What)+": "+m.Why)
		t.wrap("     ", "     ", m.How)
	}
}
