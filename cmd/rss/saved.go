// SPDX-License-Identifier: Apache-2.0

package rss

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// ReadReport reads a report that was saved with WriteJSON.
func ReadReport(file string) (*Report, error) {
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("rss: there is no file %s", file)
	case err != nil:
		return nil, fmt.Errorf("rss: %w", err)
	}
	r := &Report{}
	if err := json.Unmarshal(data, r); err != nil || r.Version == 0 || len(r.Lines) == 0 {
		return nil, fmt.Errorf("rss: %s is no report; write one with freehold rss -save %s PID", file, file)
	}
	if r.Version > ReportVersion {
		return nil, fmt.Errorf("rss: %s was written by a later version of freehold; update this one", file)
	}
	r.isGo = r.Go != ""
	return r, nil
}

// Since compares the report with an earlier one of the same process, and puts the growth in front of the advice.
func (r *Report) Since(old *Report) error {
	if r.PID != old.PID || r.Command != old.Command {
		return fmt.Errorf("rss: the reports are of two processes: %d (%s) and %d (%s)", old.PID, short(old.Command), r.PID, short(r.Command))
	}
	if r.Time.Before(old.Time) {
		return errors.New("rss: give the earlier report first")
	}
	g := &Growth{Seconds: r.Time.Sub(old.Time).Seconds(), RSS: r.RSS - old.RSS, Lines: []Part{}, Goroutines: []Count{}}
	bytes := map[string]int64{}
	for _, l := range r.Lines {
		bytes[l.Name] += l.Bytes
	}
	for _, l := range old.Lines {
		bytes[l.Name] -= l.Bytes
	}
	for name, n := range bytes {
		g.Lines = append(g.Lines, Part{name, n})
	}
	slices.SortFunc(g.Lines, largest)
	g.Sites = grown(old.Sites, r.Sites)
	if old.Goroutines != nil && r.Goroutines != nil {
		was := map[string]int{}
		for _, c := range old.Goroutines.Begin {
			was[c.Name] = c.Count
		}
		for _, c := range r.Goroutines.Begin {
			if c.Count > was[c.Name] {
				g.Goroutines = append(g.Goroutines, Count{c.Name, c.Count - was[c.Name]})
			}
		}
		slices.SortFunc(g.Goroutines, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	}
	r.Growth = g
	r.adviseGrowth()
	return nil
}

// grown are the parts that grew.
func grown(old, now []Part) []Part {
	was := map[string]int64{}
	for _, p := range old {
		was[p.Name] = p.Bytes
	}
	list := []Part{}
	for _, p := range now {
		if p.Bytes > was[p.Name] {
			list = append(list, Part{p.Name, p.Bytes - was[p.Name]})
		}
	}
	slices.SortFunc(list, largest)
	return list
}

// adviseGrowth puts the line that grew most in front, if it grew by as much as is worth a word.
func (r *Report) adviseGrowth() {
	g := r.Growth
	if len(g.Lines) == 0 || g.Lines[0].Bytes < leastAdvice || float64(g.Lines[0].Bytes) < adviceShare*float64(r.RSS) {
		return
	}
	first := g.Lines[0]
	text := fmt.Sprintf("%s grew by %s in %s.", first.Name, mib(first.Bytes), time.Duration(g.Seconds*float64(time.Second)).Round(time.Second))
	if len(g.Sites) > 0 && strings.Contains(first.Name, "heap") {
		text += " What grew was allocated in: " + partsText(g.Sites) + "."
	}
	if len(g.Goroutines) > 0 && strings.Contains(first.Name, "stacks") {
		text += fmt.Sprintf(" %d goroutines more began in %s.", g.Goroutines[0].Count, g.Goroutines[0].Name)
	}
	text += " Two reports show a direction; a third one, later, shows whether it ends."
	r.Advice = append([]Advice{{"growth", first.Bytes, text}}, r.Advice...)
}
