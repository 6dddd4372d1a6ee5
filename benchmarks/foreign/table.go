package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/doctor/render"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// pageMarks are the lines that the tables stand between.
var pageMarks = proof.Marks{Begin: "<!-- tables: go run ./foreign -->\n", End: "<!-- end of tables of foreign programs -->\n"}

// report judges all programs that were kept, prints the tables, and reports whether a bar is
// missed.
func report(ctx context.Context, o options) (bad bool, err error) {
	name := func(p program) string { return p.name }
	outcomes, missing, err := proof.Outcomes(selected(o.run), name, func(p program) (*outcome, error) { return judge(ctx, o.keep, p) })
	if err != nil {
		return false, err
	}
	if len(outcomes) == 0 {
		return false, fmt.Errorf("no program of %s was run", o.run)
	}
	var text, short bytes.Buffer
	found := bars(outcomes)
	tables(&text, outcomes, found)
	if err := screens(&text, outcomes); err != nil {
		return false, err
	}
	page(&short, outcomes, found)
	missed, err := proof.Publish(text.String(), short.String(), found, pageMarks, o.doc)
	return missing || missed, err
}

// page writes what the page of docs has, in Markdown: the bars, and a row for each program.
func page(w *bytes.Buffer, outcomes []*outcome, found []proof.Bar) {
	head(w, outcomes, found)
	fmt.Fprintln(w, "\n| program | the expert | the doctor: now; in code | setting: predicted, measured | line: predicted, measured |\n|---|---|---|---|---|")
	for _, o := range outcomes {
		setting, line := "–", "–"
		if r, ok := o.shownRow(); ok {
			setting = r.form + ": " + r.gain() + ", " + terminal.PercentError(r.measured, r.doubt())
		}
		if r := o.changed; r != nil {
			line = r.gain() + ", " + terminal.PercentError(r.measured, r.doubt())
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", o.label(), o.expert(), o.firstCell(), setting, line)
	}
}

// shownRow is the row of the setting that the report proposes, or else the second one.
func (o *outcome) shownRow() (row, bool) {
	if len(o.rows) == 0 {
		return row{}, false
	}
	shown := o.rows[min(1, len(o.rows)-1)]
	for _, r := range o.rows {
		if slices.ContainsFunc(o.report.Settings, func(s doctor.Setting) bool { return s.Proposed && s.Name() == r.form }) {
			shown = r
		}
	}
	return shown, true
}

// head writes what holds for all tables, and the bars.
func head(w *bytes.Buffer, outcomes []*outcome, found []proof.Bar) {
	least, most := rounds(outcomes)
	fmt.Fprintf(w, "%s on %s; %d to %d rounds. The intervals behind ± hold in nine cases of ten; a gain within the noise has no error.\n\n", outcomes[0].kept.Go, outcomes[0].kept.Machine, least, most)
	proof.WriteBars(w, found)
}

// tables writes the bars, the judgements and the gains, in Markdown.
func tables(w *bytes.Buffer, outcomes []*outcome, found []proof.Bar) {
	head(w, outcomes, found)
	fmt.Fprintln(w, "\n| program | version | an expert would first | because | the report has first: now, in code | harmful |\n|---|---|---|---|---|---|")
	for _, o := range outcomes {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", o.label(), o.version, o.expert(), o.why, o.firstCell(), o.harmCell())
	}
	fmt.Fprintln(w, "\n| program | settings | predicted | measured | error | memory predicted | measured | peak RSS, before and after |\n|---|---|---:|---:|---:|---:|---:|---:|")
	for _, o := range outcomes {
		for _, r := range o.rows {
			memory := "–"
			switch {
			case r.absent:
			case r.heaps > 0:
				memory = fmt.Sprintf("%.0f × live heap", r.heaps)
			default:
				memory = mib(r.memory)
			}
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s → %s |\n", o.label(), r.form, r.gains(), memory, mib(r.rss-r.base), mib(r.base), mib(r.rss))
		}
	}
	fmt.Fprintln(w, "\n| program | change | finding | predicted | measured | error | peak RSS, before and after |\n|---|---|---|---:|---:|---:|---:|")
	for _, o := range outcomes {
		if r := o.changed; r != nil {
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s → %s |\n", o.label(), o.applied.what, o.applied.finding, r.gains(), mib(r.base), mib(r.rss))
		}
	}
}

// screens writes the reports on programs that were not looked at before, as the terminal shows them.
func screens(w *bytes.Buffer, outcomes []*outcome) error {
	for _, o := range outcomes {
		if !o.unseen {
			continue
		}
		fmt.Fprintf(w, "\n<details><summary>The report on %s</summary>\n\n```\n", o.name)
		if err := render.Text(w, o.report, nil, render.Style{Width: screenWidth}); err != nil {
			return err
		}
		fmt.Fprint(w, "```\n\n</details>\n")
	}
	return nil
}

// screenWidth is the width of a page's block of code, in columns.
const screenWidth = 110

// rounds is how many rounds the programs had, the fewest and the most.
func rounds(outcomes []*outcome) (least, most int) {
	least = len(outcomes[0].kept.Forms[formBase])
	for _, o := range outcomes {
		n := len(o.kept.Forms[formBase])
		least, most = min(least, n), max(most, n)
	}
	return least, most
}

// expert is what an expert would do first.
func (o *outcome) expert() string {
	if o.answer == "" {
		return strings.Join(o.right, " or ")
	}
	return string(o.answer) + ": " + cmp.Or(join(slices.DeleteFunc([]string{o.advice.now, o.advice.line}, func(s string) bool { return s == "" })), "–")
}

// label is the name; programs that were not seen before are in italics.
func (o *outcome) label() string {
	if o.unseen {
		return "*" + o.name + "*"
	}
	return o.name
}

// firstCell names the two lines of the report, in bold if they are wrong.
func (o *outcome) firstCell() string {
	now := "–"
	for _, s := range o.report.Settings {
		if s.Proposed && o.now.Finding != "" {
			now = s.Name()
		}
	}
	code := cmp.Or(o.code.Finding, "–")
	if at := o.code.Site; at.File != "" {
		code += fmt.Sprintf(" %s:%d", path.Base(filepath.ToSlash(at.File)), at.Line)
	}
	if o.rightFirst() {
		return now + "; " + code
	}
	return "**" + now + "; " + code + "**"
}

func (o *outcome) harmCell() string {
	var ids []string
	for _, r := range o.harmful {
		ids = append(ids, "**"+r.id+"**: "+r.why)
	}
	return cmp.Or(join(ids), "none")
}

// gains are three cells: predicted, measured, and the error.
func (r row) gains() string {
	off := "–"
	if r.certain() {
		off = terminal.Percent(r.off())
	}
	return r.gain() + " | " + terminal.PercentError(r.measured, r.doubt()) + " | " + off
}

func mib(b float64) string { return fmt.Sprintf("%.0f MiB", b/(1<<20)) }

// gain is the predicted gain.
func (r row) gain() string {
	switch {
	case r.absent:
		return "–"
	case r.vague:
		return "a word"
	}
	return terminal.PercentError(r.predicted, r.interval)
}
