// SPDX-License-Identifier: Apache-2.0

// Package render writes a report of the doctor's: as text, as JSON, as SARIF, or as one page of
// HTML.
package render

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// mostShown is how many findings the screen has. Those that follow gain less, and a second screen is
// seldom read.
const mostShown = 5

// Text writes the report for people on one screen: the verdict, the settings, and the findings with
// the largest gains. Style.Verbose adds the rest. Before is the report that it is compared with, nil
// for none.
func Text(w io.Writer, r, before *doctor.Report, style Style) error {
	var b bytes.Buffer
	t := &textWriter{out: &b, Style: style, Painter: terminal.Painter{On: style.Colours}}
	t.verdict(r)
	t.warnings(r)
	t.first(r)
	if style.Verbose {
		t.classes(r)
	}
	t.heap(r)
	t.perOperation(r.PerOperation)
	t.allocators(r)
	t.benchmarks(r)
	t.labels(r)
	if before != nil {
		t.changes(r, before)
	}
	t.settings(r)
	if style.Verbose {
		t.details(r)
	} else {
		t.findings(r)
	}
	if style.Measure != "" && len(r.Settings) > 0 {
		fmt.Fprintln(t.out)
		t.wrap("", "  ", "Gains are predicted. This measures what each setting costs: "+style.Measure)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (t *textWriter) verdict(r *doctor.Report) {
	// The text is wrapped before it is coloured, so that each line has its own colour.
	for line := range strings.SplitSeq(text.WrapSoft(r.Verdict, t.Width), "\n") {
		fmt.Fprintln(t.out, t.Bold(strings.TrimRight(line, " ")))
	}
	t.wrap("", "  ", collected(r))
}

// first shows the two lines that stand first, each with its command or edit.
func (t *textWriter) first(r *doctor.Report) {
	const indent = "         "
	for _, v := range r.First {
		fmt.Fprintln(t.out)
		t.wrap(t.Bold(fmt.Sprintf("%-9s", adviceName(v))), indent, v.Text)
		t.snippet(indent, v.Try, mostTried)
	}
	if len(r.First) > 0 {
		fmt.Fprintln(t.out)
	}
}

// mostTried is how many lines of an edit stand below the line that proposes it.
const mostTried = 4

// heap shows the state of the heap.
func (t *textWriter) heap(r *doctor.Report) {
	var parts []string
	for _, f := range heapFigures(r.Heap) {
		parts = append(parts, f.Name+" "+f.Value)
	}
	if len(parts) > 0 {
		t.wrap("", "  ", "heap: "+strings.Join(parts, ", "))
	}
}

// leastRow is the gain from which on the rows of settings are worth a table.
const leastRow = 0.01

// settings has a row for each setting that the report knows of, and marks the one it proposes.
func (t *textWriter) settings(r *doctor.Report) {
	if !slices.ContainsFunc(r.Settings, func(s doctor.Setting) bool { return s.Gain.SameGOGC >= leastRow }) {
		return // The line about the setting says so.
	}
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{settingsHead(r.Heap), "CPU saved", "collections left", "more memory", ""})
	tw.SetColumnConfigs(terminal.RightAligned(2, 3, 4))
	for _, s := range r.Settings {
		mark := ""
		if s.Proposed {
			mark = "← most for its memory"
		}
		tw.AppendRow(table.Row{s.Name(), terminal.PercentError(s.Gain.SameGOGC, s.Gain.Error), terminal.Percent(s.CyclesLeft), s.Memory(), mark})
	}
	t.draw(tw)
}

// findings shows the findings with the largest gains: a line that names each, a line that says why,
// and one or two that say what to do.
func (t *textWriter) findings(r *doctor.Report) {
	shown, _ := split(r.Findings)
	for i := range shown {
		f := &shown[i]
		head := fmt.Sprintf("%d  %s", i+1, f.ID)
		rest := " · " + where(*f)
		if part := labelPart(r, f); part != "" {
			rest = " · " + part + rest
		}
		if g := briefGain(f.Gain); g != "" {
			rest = " · " + g + rest
		}
		if n := len(f.Places) - 1; n > 0 {
			rest += " and " + plural(n, "more place")
		}
		rest = text.Snip(rest, max(t.Width-len(head), 20), "…")
		fmt.Fprintf(t.out, "\n%s%s\n", t.Paint(severityColour[f.Severity], t.Bold(head)), rest)
		t.lines("why", f.Detail, 1)
		if len(f.Places) > 1 {
			t.lines("at", t.briefPlaces(f.Places), 1)
		}
		switch same := sameRemedy(shown, i+1); {
		case same > 0:
			t.lines("do", fmt.Sprintf("as for %d", same), 1)
		case !stated(r, f): // The first lines have it.
			t.lines("do", f.Remedy.Text, 2)
		}
	}
	t.footer(r, len(shown))
}

// stated reports whether one of the two first lines is about the finding.
func stated(r *doctor.Report, f *doctor.Finding) bool {
	return slices.ContainsFunc(r.First, func(v doctor.Advice) bool {
		return v.Finding == f.ID && (v.Site == f.Owner || v.Site == f.Site)
	})
}

// briefPlaces names as many of the first places as fit on a line. Places on one line of source, with
// several owners, are one; those that cost nothing are left out.
func (t *textWriter) briefPlaces(list []doctor.Place) string {
	var merged []doctor.Place
	for _, p := range list {
		i := slices.IndexFunc(merged, func(q doctor.Place) bool { return q.Site == p.Site })
		if i < 0 {
			merged = append(merged, p)
			continue
		}
		merged[i].AllocBytesPerSecond += p.AllocBytesPerSecond
		merged[i].CPUShare += p.CPUShare
	}
	line := ""
	for _, p := range merged[:min(len(merged), mostPlaces)] {
		if p.CPUShare < leastShown {
			continue
		}
		s := shortFunc(p.Site.Func)
		if file := filepath.ToSlash(p.Site.File); file != "" {
			s = fmt.Sprintf("%s/%s:%d", path.Base(path.Dir(file)), path.Base(file), p.Site.Line)
		}
		if p.AllocBytesPerSecond > 0 {
			s += " " + terminal.Bytes(p.AllocBytesPerSecond) + "/s"
		}
		s += " " + terminal.Percent(p.CPUShare)
		if line != "" {
			s = line + ", " + s
		}
		if line != "" && text.StringWidthWithoutEscSequences(s) > t.Width-8 {
			break
		}
		line = s
	}
	return line
}

// split parts the findings in those that the screen shows, and the rest. Information is among the
// rest: the first lines say what not-gc says, and data that should stay where it is needs no line on
// the screen.
func split(findings []doctor.Finding) (shown, rest []doctor.Finding) {
	for _, f := range findings {
		if f.Severity != doctor.SeverityInfo && len(shown) < mostShown {
			shown = append(shown, f)
		} else {
			rest = append(rest, f)
		}
	}
	return shown, rest
}

// lines writes the beginning of s that fits on n lines.
func (t *textWriter) lines(label, s string, n int) {
	if s == "" {
		return
	}
	indent := strings.Repeat(" ", 8)
	width := max(t.Width-len(indent), 20)
	s = brief(s, width+(n-1)*(width-12)) // lines break between words
	t.wrap("   "+t.Paint(text.FgHiBlack, fmt.Sprintf("%-5s", label)), indent, s)
}

// footer says what the screen leaves out. Without an answer, the missing evidence is the answer, so
// it is shown in full.
func (t *textWriter) footer(r *doctor.Report, shown int) {
	if r.Confidence == doctor.None {
		t.missing(r)
		return
	}
	var more, unknown []string
	if n := len(r.Findings) - shown; n > 0 {
		more = append(more, plural(n, "more finding"))
	}
	if shown > 0 {
		more = append(more, "the code of each change")
	}
	if len(r.Classes) > 0 {
		more = append(more, "the CPU time by class")
	}
	for _, m := range r.Missing {
		if !slices.Contains(unknown, m.What) {
			unknown = append(unknown, m.What)
		}
	}
	if len(unknown) > 0 {
		more = append(more, "how to get the missing evidence ("+strings.Join(unknown, ", ")+")")
	}
	if len(more) > 0 {
		fmt.Fprintln(t.out)
		t.wrap("", "  ", "-v shows "+strings.Join(more, ", ")+".")
	}
}

// warnings lists the problems of the evidence, before any figure that may be wrong for them.
func (t *textWriter) warnings(r *doctor.Report) {
	if len(r.Warnings) == 0 {
		return
	}
	fmt.Fprintln(t.out)
	for _, w := range r.Warnings {
		t.wrap("  "+t.Paint(text.FgRed, "warning:")+" ", "           ", w.What+"; "+w.How)
	}
}

// allocators lists the lines that allocate most, in a report on heap profiles alone.
func (t *textWriter) allocators(r *doctor.Report) {
	if len(r.Allocators) == 0 {
		return
	}
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{"bytes", "", "objects", "", "in use", "", "where"})
	tw.SetColumnConfigs(terminal.RightAligned(1, 2, 3, 4, 5, 6))
	for _, a := range r.Allocators {
		tw.AppendRow(table.Row{
			terminal.Bytes(a.AllocBytes), terminal.Percent(a.AllocBytesShare), terminal.Quantity(a.AllocObjects), terminal.Percent(a.AllocObjectsShare),
			terminal.Bytes(a.InUseBytes), terminal.Percent(a.InUseShare), text.Snip(allocatorPlace(a), max(t.Width-66, 30), "…"),
		})
	}
	t.draw(tw)
}
