// SPDX-License-Identifier: Apache-2.0

package rss

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/freehold-go/freehold/cmd/page"
	"github.com/freehold-go/freehold/cmd/terminal"
)

//go:embed page.html
var pageText string

var pageTemplate = page.Parse("rss", pageText)

// pageData is what page.html shows.
type pageData struct {
	*Report
	Title, Total, ControlGroup string
	Rows                       []pageRow
	Plot                       *plot
}

type pageRow struct{ Class, Bytes, Share, Name, Note string }

// A plot has stacked areas of memory over time, in the units of its viewBox.
type plot struct {
	page.Frame
	Areas []area
}

type area struct{ Class, Name, Points string }

// WriteHTML writes a page without scripts that stands alone: the last report, and the lines over time if there are several.
func WriteHTML(out io.Writer, reports []*Report) error {
	if len(reports) == 0 {
		return errors.New("rss: -html: there is no account to draw")
	}
	r := reports[len(reports)-1]
	data := pageData{Report: r, Title: r.title()}
	values := []float64{}
	for _, l := range r.Lines {
		values = append(values, float64(l.Bytes))
	}
	total, parts := terminal.MiBParts(float64(r.RSS), values)
	data.Total = total + " MiB"
	if r.Group != nil {
		data.ControlGroup = r.Group.text()
	}
	for i, l := range r.Lines {
		data.Rows = append(data.Rows, pageRow{l.Key, parts[i], terminal.Percent(float64(l.Bytes) / float64(max(r.RSS, 1))), l.Name, l.Note})
	}
	if len(reports) > 1 {
		data.Plot = plotOf(reports)
	}
	return page.Write(out, pageTemplate, data)
}

// plotOf draws the lines of reports in the order of their times. Memory that was counted and is not there is taken off the lines of the
// heap, from the first on, so that the areas add up to RSS.
func plotOf(reports []*Report) *plot {
	p := &plot{Frame: page.Frame{Width: 900, Height: 420, Left: 80, Right: 850, Top: 20, Bottom: 370, Label: 392, Tick: 72}}
	first, last := reports[0].Time, reports[len(reports)-1].Time
	whole, high := last.Sub(first).Seconds(), int64(1)
	keys, names := []string{}, map[string]string{}
	for _, r := range reports {
		high = max(high, r.RSS)
		for _, l := range r.Lines {
			if names[l.Key] == "" {
				keys = append(keys, l.Key)
			}
			names[l.Key] = l.Name
		}
	}
	x := func(i int) int {
		if whole <= 0 {
			return p.Left + (p.Right-p.Left)*i/max(len(reports)-1, 1)
		}
		return p.Left + int(float64(p.Right-p.Left)*reports[i].Time.Sub(first).Seconds()/whole)
	}
	y := func(n int64) int { return p.Bottom - int(float64(p.Bottom-p.Top)*float64(n)/float64(high)*0.95) }
	below := make([]int64, len(reports))
	missing := make([]int64, len(reports))
	for i, r := range reports {
		missing[i] = -min(r.bytes(LineUntouched), 0) - r.bytes(LineSwapped)
	}
	for _, key := range keys {
		if key == LineUntouched || key == LineSwapped {
			continue
		}
		var upper, lower []string
		for i, r := range reports {
			n := max(r.bytes(key), 0)
			off := min(n, missing[i])
			missing[i] -= off
			lower = append(lower, fmt.Sprintf("%d,%d", x(i), y(below[i])))
			below[i] += n - off
			upper = append(upper, fmt.Sprintf("%d,%d", x(i), y(below[i])))
		}
		for i := len(lower) - 1; i >= 0; i-- {
			upper = append(upper, lower[i])
		}
		p.Areas = append(p.Areas, area{key, names[key], strings.Join(upper, " ")})
	}
	for i := range 5 {
		n := high * int64(i) / 4
		p.Up = append(p.Up, page.Tick{At: y(n), Text: mib(n)})
		p.Across = append(p.Across, page.Tick{At: p.Left + (p.Right-p.Left)*i/4, Text: "+" + terminal.Seconds(whole*float64(i)/4)})
	}
	return p
}
