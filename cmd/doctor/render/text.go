// Package render writes a report of the doctor's: as text, as JSON, as SARIF, or as one page of
// HTML.
package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// Style is the layout of text.
type Style struct {
	// Width is where lines are broken, in columns; code and paths may be longer.
	Width int
	// Colours says whether to use those of terminals.
	Colours bool
}

// mostDetailed is how many findings get more than a line of the table. Those that follow gain less,
// and ten pages are too long to read.
const mostDetailed = 6

// Text writes the report for people: the verdict in the first line, then the CPU time by class,
// then the findings, the one with the largest gain first. Before is the report that it is compared
// with, nil for none.
func Text(w io.Writer, r, before *doctor.Report, style Style) error {
	var b bytes.Buffer
	t := &textWriter{out: &b, Style: style, Painter: terminal.Painter{On: style.Colours}}
	t.verdict(r)
	t.classes(r)
	if before != nil {
		t.changes(r, before)
	}
	t.settings(r)
	t.table(r)
	for i := range min(len(r.Findings), mostDetailed) {
		t.finding(i+1, &r.Findings[i], sameRemedy(r.Findings, i+1))
	}
	if n := len(r.Findings); n > mostDetailed {
		fmt.Fprintln(t.out)
		t.wrap("", "", fmt.Sprintf("The page of -html and the object of -json have details of all %d findings.", n))
	}
	t.missing(r)
	_, err := w.Write(b.Bytes())
	return err
}

type textWriter struct {
	out *bytes.Buffer
	Style
	terminal.Painter
}

// wrap breaks text into lines that begin with indent, the first with first in its place.
func (t *textWriter) wrap(first, indent, s string) {
	width := max(t.Width-text.StringWidthWithoutEscSequences(indent), 20)
	for i, line := range strings.Split(terminal.TrimLines(text.WrapSoft(s, width)), "\n") {
		if i == 0 {
			fmt.Fprintf(t.out, "%s%s\n", first, line)
			continue
		}
		fmt.Fprintf(t.out, "%s%s\n", indent, line)
	}
}

func (t *textWriter) verdict(r *doctor.Report) {
	// The text is wrapped before it is coloured, so that each line has its own colour.
	for line := range strings.SplitSeq(text.WrapSoft(r.Verdict, t.Width), "\n") {
		fmt.Fprintln(t.out, t.Bold(strings.TrimRight(line, " ")))
	}
	t.wrap("", "  ", collected(r))
}

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

// classes shows the CPU time by class, and the state of the heap.
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
	var parts []string
	for _, f := range heapFigures(r.Heap) {
		parts = append(parts, f.Name+" "+f.Value)
	}
	if len(parts) > 0 {
		fmt.Fprintln(t.out)
		t.wrap("  heap: ", "        ", strings.Join(parts, ", "))
	}
}

// programClass is the name of the class for all that is not memory management.
const programClass = "program"

// changes shows the figures of the report beside those of the report before the change.
func (t *textWriter) changes(r, before *doctor.Report) {
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{"", "before", "after"})
	tw.SetColumnConfigs([]table.ColumnConfig{
		{Number: 2, Align: text.AlignRight, AlignHeader: text.AlignRight}, {Number: 3, Align: text.AlignRight, AlignHeader: text.AlignRight},
	})
	for _, c := range compared(r, before) {
		tw.AppendRow(table.Row{c.Name, c.Before, c.After})
	}
	fmt.Fprintf(t.out, "\n%s\n", terminal.TrimLines(tw.Render()))
	for _, m := range []struct {
		word string
		list []string
	}{{" gone: ", moved(before, r)}, {" new:  ", moved(r, before)}} {
		if len(m.list) > 0 {
			t.wrap(m.word, "       ", strings.Join(m.list, ", "))
		}
	}
}

// A change is a figure before and after.
type change struct{ Name, Before, After string }

// compared are the figures of two reports that show whether the change was an improvement.
func compared(r, before *doctor.Report) []change {
	list := []change{
		{"collector, of the CPU", terminal.Percent(before.GCShare), terminal.Percent(r.GCShare)},
		{"allocation, of the CPU", terminal.Percent(before.AllocShare), terminal.Percent(r.AllocShare)},
		{"can be won back", terminal.Percent(before.WinnableShare), terminal.Percent(r.WinnableShare)},
		{"findings", fmt.Sprint(worthAChange(before)), fmt.Sprint(worthAChange(r))},
	}
	old := map[string]string{}
	for _, f := range heapFigures(before.Heap) {
		old[f.Name] = f.Value
	}
	for _, f := range heapFigures(r.Heap) {
		if v, ok := old[f.Name]; ok {
			list = append(list, change{f.Name, v, f.Value})
		}
	}
	return list
}

// worthAChange is the number of findings that are more than information.
func worthAChange(r *doctor.Report) (n int) {
	for _, f := range r.Findings {
		if f.Severity != doctor.SeverityInfo {
			n++
		}
	}
	return n
}

// settings has a row for each setting that the report knows of, and marks the one it proposes.
func (t *textWriter) settings(r *doctor.Report) {
	if len(r.Settings) == 0 {
		return
	}
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{settingsHead(r.Heap), "CPU saved", "collections", "more memory", ""})
	var configs []table.ColumnConfig
	for n := 2; n <= 4; n++ {
		configs = append(configs, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	tw.SetColumnConfigs(configs)
	for _, s := range r.Settings {
		mark := ""
		if s.Proposed {
			mark = "← wins most for its memory"
		}
		tw.AppendRow(table.Row{strings.Join(s.Environment(), " "), terminal.PercentError(s.Gain.SameGOGC, s.Gain.Error), terminal.Percent(s.CyclesLeft) + " of now", terminal.Bytes(s.MoreBytes), mark})
	}
	fmt.Fprintf(t.out, "\n%s\n", terminal.TrimLines(tw.Render()))
}

// severityColour is how much a finding matters.
var severityColour = map[doctor.Severity]text.Color{
	doctor.SeverityHigh: text.FgRed, doctor.SeverityMedium: text.FgYellow, doctor.SeverityLow: text.FgCyan, doctor.SeverityInfo: text.FgHiBlack,
}

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
	var configs []table.ColumnConfig
	for _, n := range []int{1, 4, 5, 6} {
		configs = append(configs, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
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
	fmt.Fprintf(t.out, "\n%s\n", terminal.TrimLines(tw.Render()))
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
// for none.
func (t *textWriter) finding(n int, f *doctor.Finding, same int) {
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
	if f.CPUShare != 0 {
		t.labelled("costs", terminal.Percent(f.CPUShare)+" of CPU now")
	}
	if f.Gain != (doctor.Gain{}) {
		t.labelled("gain", gains(f.Gain))
	}
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
	t.snippet(f.Remedy.Snippet)
	for i, check := range f.Check {
		if i == 0 {
			t.labelled("check", check)
		} else {
			t.labelled("", check)
		}
	}
	t.labelled("more", f.Remedy.Doc)
}

// snippet writes code as it stands, a diff in its colours.
func (t *textWriter) snippet(code string) {
	if code == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(code, "\n"), "\n") {
		colour := text.Reset
		switch {
		case strings.HasPrefix(line, "+"):
			colour = text.FgGreen
		case strings.HasPrefix(line, "-"):
			colour = text.FgRed
		}
		fmt.Fprintf(t.out, "%s%s\n", strings.Repeat(" ", labelWidth), t.Paint(colour, strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " ")))
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
