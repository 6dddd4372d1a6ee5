package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// report judges all programs that were kept, prints the tables, and reports whether a bar is
// missed.
func report(o options) (bad bool, err error) {
	var outcomes []*outcome
	for _, p := range selected(o.run) {
		out, err := judge(filepath.Join(o.keep, p.name), p)
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(os.Stderr, "%s: was not run\n", p.name)
			bad = true
			continue
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", p.name, err)
		}
		outcomes = append(outcomes, out)
	}
	if len(outcomes) == 0 {
		return false, fmt.Errorf("no program of %s was run", o.run)
	}
	var text bytes.Buffer
	found := bars(outcomes)
	tables(&text, outcomes, found)
	for _, b := range found {
		bad = bad || !b.met
	}
	os.Stdout.Write(text.Bytes())
	if o.doc != "" {
		err = insert(o.doc, text.String())
	}
	return bad, err
}

// tables writes the predicted and measured gains, in Markdown.
func tables(w *bytes.Buffer, outcomes []*outcome, found []bar) {
	fmt.Fprintf(w, "Go %s on %s/%s, %d processors; %s.\n\n", strings.TrimPrefix(runtime.Version(), "go"), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), pairs(outcomes))
	fmt.Fprintln(w, "| bar | reached | |\n|---|---|---|")
	for _, b := range found {
		fmt.Fprintf(w, "| %s | %s | %s |\n", b.demand, b.got, mark(b.met))
	}
	fmt.Fprintln(w, "\n| program | runs | change | must find | first | predicted | measured | error | after the change |\n|---|---|---|---|---|---:|---:|---:|---|")
	for _, o := range outcomes {
		if o.finding == "" {
			continue
		}
		predicted, off := "–", "–"
		if o.found {
			predicted = terminal.PercentError(o.predicted(), o.gain.Error)
			off = terminal.Percent(o.off())
		}
		fmt.Fprintf(w, "| %s | %s | %s, %s | %s | %s | %s | %s | %s | %s |\n", o.name, or(o.module, "own code"), o.change, o.quantity,
			o.finding, first(o), predicted, terminal.Percent(o.measured()), off, silence(o))
	}
	fmt.Fprintln(w, "\n| program whose cost is elsewhere | runs | findings | verdict |\n|---|---|---|---|")
	for _, o := range outcomes {
		if o.finding == "" {
			fmt.Fprintf(w, "| %s | %s | %s | %s |\n", o.name, or(o.module, "own code"), or(strings.Join(o.others, ", "), "none"), o.verdict)
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

func mark(met bool) string {
	if met {
		return "met"
	}
	return "**missed**"
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// The tables stand between these lines of the page.
const (
	begin = "<!-- tables: make accuracy -->\n"
	end   = "<!-- end of tables -->\n"
)

// insert replaces what stands between the marks of a page.
func insert(path, tables string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s: the lines %q and %q are missing, between which the tables go", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(head+begin+"\n"+tables+"\n"+end+tail), 0o666)
}
