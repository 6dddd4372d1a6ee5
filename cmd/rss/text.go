// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// WriteText writes the report for people, with colours or without, in lines of at most width columns where words can be broken. all
// adds what the advice does not mention: files, sites and goroutines.
func (r *Report) WriteText(out io.Writer, colours bool, width int, all bool) error {
	p := terminal.Painter{On: colours}
	w := &terminal.Lines{Out: out, Width: width, Verb: "rss"}
	w.Wrapped(r.title())
	values := []float64{}
	for _, l := range r.Lines {
		values = append(values, float64(l.Bytes))
	}
	total, parts := terminal.MiBParts(float64(r.RSS), values)
	w.Line(p.Bold(fmt.Sprintf("RSS %10s MiB", total)))
	for i, l := range r.Lines {
		share := ""
		if s := float64(l.Bytes) / float64(max(r.RSS, 1)); s >= 0.01 {
			share = terminal.Percent(s)
		}
		line := fmt.Sprintf("  %12s  %5s  %s", parts[i], share, l.Name)
		if g := r.Growth; g != nil {
			line += g.since(l.Name)
		}
		if l.Note != "" {
			line += p.Paint(text.Faint, " ("+l.Note+")")
		}
		w.Line(line)
	}
	if r.Swap > 0 {
		w.Line(fmt.Sprintf("swap %9s", mib(r.Swap)))
	}
	if r.Group != nil {
		w.Wrapped(r.Group.text())
	}
	for _, a := range r.Advice {
		w.Wrapped(p.Bold("do") + "  " + a.Text)
	}
	if len(r.Advice) == 0 && !r.NotGo() {
		w.Wrapped("Nothing stands out.")
	}
	for _, n := range r.Notes {
		w.Wrapped("Note: " + n + ".")
	}
	if g := r.Goroutines; g != nil { // these were asked for
		numbers(w, "goroutines by the function that started them", g.Creators)
		numbers(w, "leaked goroutines by the function that they began in", g.Leaks)
	}
	if all {
		r.details(w)
	}
	return w.Err
}

func (r *Report) title() string {
	s := short(r.Command)
	if r.PID > 0 {
		s = fmt.Sprintf("process %d: %s", r.PID, s)
	}
	if r.Go != "" {
		s += " · " + r.Go
	}
	return s + " · " + r.Time.Format("2006-01-02 15:04:05")
}

// since writes how a line changed.
func (g *Growth) since(name string) string {
	for _, p := range g.Lines {
		if p.Name == name && p.Bytes > 0 {
			return ", +" + mib(p.Bytes)
		} else if p.Name == name && p.Bytes < 0 {
			return ", " + mib(p.Bytes)
		}
	}
	return ""
}

// text is the account of the group in one line.
func (g *Group) text() string {
	of := mib(g.Current)
	if g.Limit > 0 {
		of = fmt.Sprintf("%s of %s (%s)", mib(g.Current), mib(g.Limit), terminal.Percent(float64(g.Current)/float64(g.Limit)))
	}
	s := fmt.Sprintf("control group %s = this process %s + others %s + shmem %s + kernel %s + file cache %s (inactive %s: reclaimable; active %s: counts in kubelet's working set)",
		of, mib(g.This), mib(g.Others), mib(g.Shmem), mib(g.Kernel), mib(g.Cache), mib(g.Inactive), mib(g.Active))
	if g.Rest != 0 {
		s += " + rest " + mib(g.Rest)
	}
	if g.Swap > 0 {
		s += "; swap " + mib(g.Swap)
	}
	if g.Above {
		s += fmt.Sprintf("; this is the group %s above the process's own, which is not visible here", g.Path)
	}
	return s
}

// details are the tables that the advice does not show.
func (r *Report) details(w *terminal.Lines) {
	table := func(title string, parts []Part) {
		if len(parts) > 0 {
			w.Line(title)
		}
		for _, p := range parts {
			w.Line(fmt.Sprintf("  %12s  %s", mib(p.Bytes), p.Name))
		}
	}
	table("live memory by the function that allocated it (sampled)", r.Sites[:min(len(r.Sites), mostParts)])
	table("mapped files", r.Files)
	table("freehold's purposes", r.Purposes)
	if len(r.Libraries) > 0 {
		w.Wrapped("libraries: " + strings.Join(r.Libraries, ", "))
	}
	if g := r.Goroutines; g != nil {
		numbers(w, "goroutines by the function that they began in", g.Begin)
		numbers(w, "goroutines by the function that they are parked in", g.Parked)
	}
}

// numbers writes counts of goroutines.
func numbers(w *terminal.Lines, title string, list []Count) {
	if len(list) > 0 {
		w.Line(title)
	}
	for _, c := range list {
		w.Line(fmt.Sprintf("  %12d  %s", c.Count, c.Name))
	}
}
