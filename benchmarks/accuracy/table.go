package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/freehold-go/freehold/benchmarks/internal/proof"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// report judges all programs that were kept, first without their runtime metrics and then with them,
// prints the tables, and reports whether a bar is missed.
func report(ctx context.Context, o options) (bad bool, err error) {
	var text, short bytes.Buffer
	var all []proof.Bar
	for _, part := range []struct {
		title string
		files []string
	}{
		{"### From profiles alone", load.Files},
		{"\n### With runtime metrics", withMetrics},
	} {
		name := func(p program) string { return p.name }
		judged := func(p program) (*outcome, error) { return judge(ctx, filepath.Join(o.keep, p.name), p, part.files) }
		outcomes, missing, err := proof.Outcomes(selected(o.run), name, judged)
		if err != nil {
			return false, err
		}
		if len(outcomes) == 0 {
			return false, fmt.Errorf("no program of %s was run", o.run)
		}
		found := bars(outcomes)
		fmt.Fprintf(&text, "%s\n\n", part.title)
		tables(&text, outcomes, found)
		fmt.Fprintf(&short, "%s\n\n", part.title)
		misses(&short, outcomes, found)
		all, bad = append(all, found...), bad || missing
	}
	missed, err := proof.Publish(text.String(), short.String(), all, pageMarks, o.doc)
	return bad || missed, err
}

// misses writes what the page of docs has: the bars, and the programs that the doctor is wrong about.
func misses(w *bytes.Buffer, outcomes []*outcome, found []proof.Bar) {
	head(w, outcomes, found)
	fmt.Fprintln(w, "\n| program | must find | first | predicted | measured |\n|---|---|---|---:|---:|")
	for _, o := range outcomes {
		if o.finding != "" && (!o.rightFirst() || o.off() > farOff) {
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", o.name, o.finding, first(o), o.prediction(), terminal.Percent(o.measured()))
		}
	}
}

// farOff is the error from which a prediction is wrong, as a share of the measured gain.
const farOff = 0.35

// prediction is the predicted gain.
func (o *outcome) prediction() string {
	if !o.found {
		return "–"
	}
	return terminal.PercentError(o.predicted(), o.gain.Error)
}

// head writes what the figures are of, and the bars.
func head(w *bytes.Buffer, outcomes []*outcome, found []proof.Bar) {
	fmt.Fprintf(w, "Go %s on %s/%s, %d processors; %s.\n\n", strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), pairs(outcomes))
	proof.WriteBars(w, found)
}

// tables writes the predicted and measured gains, in Markdown.
func tables(w *bytes.Buffer, outcomes []*outcome, found []proof.Bar) {
	head(w, outcomes, found)
	fmt.Fprintln(w, "\n| program | runs | change | must find | first | predicted | measured | error | after the change |\n|---|---|---|---|---|---:|---:|---:|---|")
	for _, o := range outcomes {
		if o.finding == "" {
			continue
		}
		off := "–"
		if o.found {
			off = terminal.Percent(o.off())
		}
		fmt.Fprintf(w, "| %s | %s | %s, %s | %s | %s | %s | %s | %s | %s |\n", o.name, cmp.Or(o.module, "own code"), o.change, o.quantity,
			o.finding, first(o), o.prediction(), terminal.Percent(o.measured()), off, silence(o))
	}
	fmt.Fprintln(w, "\n| program whose cost is elsewhere | runs | findings | verdict |\n|---|---|---|---|")
	for _, o := range outcomes {
		if o.finding == "" {
			fmt.Fprintf(w, "| %s | %s | %s | %s |\n", o.name, cmp.Or(o.module, "own code"), cmp.Or(strings.Join(o.others, ", "), "none"), o.verdict)
		}
	}
}

// pairs says how many pairs of runs the measurements are the medians of.
func pairs(outcomes []*outcome) string {
	least, most := 0, 0
	for _, o := range outcomes {
		if n := len(o.runs.Before); n > 0 {
			if least == 0 || n < least {
				least = n
			}
			most = max(most, n)
		}
	}
	if least == most {
		return fmt.Sprintf("medians of %d pairs of runs", least)
	}
	return fmt.Sprintf("medians of %d to %d pairs of runs", least, most)
}

func first(o *outcome) string {
	if o.rightFirst() {
		return "yes"
	}
	return "**" + o.first + "**"
}

// silence says what the doctor finds after the change.
func silence(o *outcome) string {
	switch {
	case len(o.others) > 0:
		return "**still " + o.finding + "**"
	case len(o.extra) > 0:
		return "gone; " + strings.Join(o.extra, ", ")
	}
	return "silent"
}

// pageMarks are the lines that the tables stand between.
var pageMarks = proof.Marks{Begin: "<!-- tables: make accuracy -->\n", End: "<!-- end of tables -->\n"}
