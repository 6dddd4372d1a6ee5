package render

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"percent": terminal.Percent, "gain": terminal.PercentError, "gains": gains, "inSameMemory": inSameMemory, "place": place, "where": where, "figures": figures, "collected": collected,
	"heap": heapFigures, "diff": diffLines, "next": func(i int) int { return i + 1 }, "same": sameRemedy,
}).Parse(pageText))

// A Subject is a program that was diagnosed, as a page shows it.
type Subject struct {
	Report *doctor.Report
	// Attributed is the profile that doctor.Attributed made, nil for a page without flame graph.
	Attributed *profile.Profile
}

// pageData is what page.html shows.
type pageData struct {
	*doctor.Report
	Before  *doctor.Report
	Changes []change
	Gone    []string
	New     []string
	Bars    []pageBar
	Legend  []pagePart
	Flames  bool
	Style   template.CSS
	Script  template.JS
	// Data is the report as JSON: page.js reads it, and other tools can.
	Data template.JS
}

// A pageBar is the CPU time of one program by class.
type pageBar struct {
	Title string
	Parts []pagePart
}

type pagePart struct {
	Name, Kind, Share string
	Width             template.CSS
	Label             bool // wide enough for its name
}

// HTML writes one self-contained page: the verdict, the CPU time by class, the findings, and a
// flame graph in which the collector's work is charged to its causes. Before is the program to
// compare it with, nil for none.
func HTML(w io.Writer, after Subject, before *Subject) error {
	data := pageData{Report: after.Report, Style: template.CSS(pageStyle), Script: template.JS(pageScript)}
	now := "CPU time"
	var flames []*flame
	if before != nil {
		now = "after"
		data.Before, data.Changes = before.Report, compared(after.Report, before.Report)
		data.Gone, data.New = moved(before.Report, after.Report), moved(after.Report, before.Report)
		data.addBar("before", before.Report)
		if f := newFlame("before", before.Attributed); f != nil {
			flames = append(flames, f)
		}
	}
	data.addBar(now, after.Report)
	if f := newFlame(now, after.Attributed); f != nil {
		flames = append(flames, f)
	}
	data.Flames = len(flames) > 0
	text, err := json.Marshal(map[string]any{"report": withBefore{after.Report, data.Before}, "flames": flames})
	if err != nil {
		return fmt.Errorf("doctor: write the page: %w", err)
	}
	data.Data = template.JS(text) // Marshal writes no character that could end the element
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, &data); err != nil {
		return fmt.Errorf("doctor: write the page: %w", err)
	}
	_, err = w.Write(b.Bytes())
	return err
}

// classOrder is how the parts of a bar follow each other, so that two bars can be compared.
var classOrder = []string{
	programClass, "allocation", "zeroing", "mark", "mark (idle)", "assist", "sweep", "write barrier", "pause", "scavenge", "profiler",
}

// letterWidth is the share of a bar that a letter takes, about.
const letterWidth = 0.0078

func (d *pageData) addBar(title string, r *doctor.Report) {
	b := pageBar{Title: title}
	classes := slices.Clone(r.Classes)
	slices.SortStableFunc(classes, func(x, y doctor.ClassShare) int {
		return cmp.Compare(slices.Index(classOrder, x.Name), slices.Index(classOrder, y.Name))
	})
	for _, c := range classes {
		if c.Share < leastShown {
			continue
		}
		share := terminal.Percent(c.Share)
		b.Parts = append(b.Parts, pagePart{
			Name: c.Name, Kind: strings.NewReplacer(" ", "-", "(", "", ")", "").Replace(c.Name), Share: share,
			Width: template.CSS(fmt.Sprintf("%.3f%%", c.Share*100)), Label: c.Share >= letterWidth*float64(len(c.Name)+len(share)+2),
		})
	}
	if len(b.Parts) == 0 {
		return
	}
	d.Bars = append(d.Bars, b)
	for _, p := range b.Parts {
		if !slices.ContainsFunc(d.Legend, func(l pagePart) bool { return l.Name == p.Name }) {
			d.Legend = append(d.Legend, p)
		}
	}
}

// A diffLine is a line of a snippet, and whether it is removed, added or unchanged.
type diffLine struct{ Kind, Text string }

func diffLines(code string) (lines []diffLine) {
	if code == "" {
		return nil
	}
	for line := range strings.SplitSeq(strings.TrimRight(code, "\n"), "\n") {
		kind := "same"
		switch {
		case strings.HasPrefix(line, "+"):
			kind = "new"
		case strings.HasPrefix(line, "-"):
			kind = "old"
		}
		lines = append(lines, diffLine{kind, strings.ReplaceAll(line, "\t", "    ")})
	}
	return lines
}
