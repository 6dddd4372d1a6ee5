// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"regexp"
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
	"percent": terminal.Percent, "bytes": terminal.Bytes, "quantity": terminal.Quantity, "gain": terminal.PercentError, "gains": gains, "briefGain": briefGain,
	"inSameMemory": inSameMemory, "place": place, "where": where, "figures": figures, "collected": collected, "heap": heapFigures, "settingsHead": settingsHead,
	"allocator": allocatorPlace, "adviceName": adviceName, "plural": plural, "diff": diffLines, "prose": prose,
	"labelRows": labelRows, "labelNote": func() string { return labelNote }, "perFigures": perFigures, "benchmarkRows": benchmarkRows, "benchmarkNote": benchmarkNote,
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
	Shown   []pageFinding // on the screen
	Rest    []pageFinding // folded
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
}

// A pageFinding is a finding in the order of the page.
type pageFinding struct {
	doctor.Finding
	Number     int
	Same       int      // the number of an earlier finding with the same remedy, 0 for none
	CodeAt     int      // the number of an earlier finding with the same code, 0 for none
	MorePlaces string   // the number of places besides the first, in words
	Listed     []string // the places that cost most
	HasGain    bool
}

// HTML writes one self-contained page, in the order of the text: the verdict, the two first lines, the CPU
// time by class, the heap, the settings, and the findings, of which all but the first are folded. A flame graph
// follows, in which the collector's work is charged to its causes. Before is the program to compare
// it with, nil for none.
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
	data.addFindings()
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
		b.Parts = append(b.Parts, pagePart{Name: c.Name, Kind: partKind(c.Name), Share: terminal.Percent(c.Share), Width: template.CSS(fmt.Sprintf("%.3f%%", c.Share*100))})
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

// partKind is the name of a class of CPU time in page.css.
func partKind(class string) string {
	return strings.NewReplacer(" ", "-", "(", "", ")", "").Replace(class)
}

func (d *pageData) addFindings() {
	first, rest := split(d.Findings)
	all := slices.Concat(first, rest)
	codes := map[string]int{"": 0} // the number of the finding that shows each snippet
	for i, f := range all {
		p := pageFinding{Finding: f, Number: i + 1, Same: sameRemedy(all, i+1), Listed: placeLines(f.Places), HasGain: f.Gain != doctor.Gain{}}
		if n := len(f.Places) - 1; n > 0 {
			p.MorePlaces = plural(n, "more place")
		}
		if at, ok := codes[f.Remedy.Snippet]; ok {
			p.CodeAt = at
		} else {
			codes[f.Remedy.Snippet] = p.Number
		}
		if i < len(first) {
			d.Shown = append(d.Shown, p)
		} else {
			d.Rest = append(d.Rest, p)
		}
	}
}

// unit is a figure and its unit.
var unit = regexp.MustCompile(`([0-9]) (%|(?:[KMGT]i)?B\b|[mµn]?s\b)`)

// Names of at least 24 letters may break before a dot, because a phone has no room for them.
var (
	longName = regexp.MustCompile(`\S{24,}`)
	inName   = regexp.MustCompile(`\.\pL`)
)

// prose is a text of the report for the page: words in backticks are code, and no line breaks
// between a figure and its error or unit.
func prose(s string) template.HTML {
	s = strings.ReplaceAll(template.HTMLEscapeString(s), " ± ", "\u00a0±\u00a0")
	s = unit.ReplaceAllString(s, "$1\u00a0$2")
	s = longName.ReplaceAllStringFunc(s, func(name string) string { return inName.ReplaceAllString(name, "<wbr>$0") })
	parts := strings.Split(s, "`")
	if len(parts)%2 == 0 {
		return template.HTML(s) // a backtick without a partner
	}
	for i := 1; i < len(parts); i += 2 {
		parts[i] = "<code>" + parts[i] + "</code>"
	}
	return template.HTML(strings.Join(parts, ""))
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
