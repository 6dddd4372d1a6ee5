// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/freehold-go/freehold/cmd/page"
	"github.com/freehold-go/freehold/cmd/terminal"
)

//go:embed page.html
var pageText string

var pageTemplate = page.Parse("sweep", pageText)

// pageData is what page.html shows.
type pageData struct {
	*Report
	Plot  *plot
	Lines []pageLine
}

type pageLine struct{ Class, Setting, CPU, Ratio, Interval, Wall, RSS, Collections string }

// A plot is the picture, in the units of its viewBox.
type plot struct {
	page.Frame
	Points   []plotPoint
	Frontier string
}

type plotPoint struct {
	X, Y, Low, High, TextX, TextY int
	Text, Label, Anchor           string
	Dim, Chosen                   bool
}

// WriteHTML writes a page without scripts that stands alone.
func (r *Report) WriteHTML(out io.Writer) error {
	data := pageData{Report: r, Plot: r.plot()}
	for i := range r.Rows {
		row := &r.Rows[i]
		line := pageLine{"", row.Setting.String(), terminal.Seconds(row.CPU), row.CPURatio.text(), row.CPURatio.interval(), terminal.Seconds(row.Wall),
			terminal.Bytes(row.PeakRSS), terminal.Count(float64(row.Collections))}
		switch {
		case i == r.Knee || i == r.Best:
			line.Class = "chosen"
		case row.Dominated:
			line.Class = "dim"
		}
		data.Lines = append(data.Lines, line)
	}
	return page.Write(out, pageTemplate, data)
}

// plot draws the rows. It is nil where memory is not known.
func (r *Report) plot() *plot {
	p := &plot{Frame: page.Frame{Width: 900, Height: 460, Left: 70, Right: 870, Top: 20, Bottom: 410, Label: 432, Tick: 62}}
	lowX, highX, lowY, highY := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, row := range r.Rows {
		if row.PeakRSS <= 0 || row.CPURatio.Ratio <= 0 {
			return nil
		}
		lowX, highX = min(lowX, row.PeakRSS), max(highX, row.PeakRSS)
		lowY, highY = min(lowY, row.CPURatio.Ratio), max(highY, row.CPURatio.Ratio, row.CPURatio.High)
	}
	lowX, highX, highY = lowX/1.15, highX*1.25, highY*1.05
	lowY = max(0, lowY-0.3*(highY-lowY))
	x := func(v float64) int {
		return p.Left + int(float64(p.Right-p.Left)*math.Log(v/lowX)/math.Log(highX/lowX))
	}
	y := func(v float64) int { return p.Bottom - int(float64(p.Bottom-p.Top)*(v-lowY)/(highY-lowY)) }
	for i := range 5 {
		v := lowX * math.Pow(highX/lowX, (float64(i)+0.5)/5)
		p.Across = append(p.Across, page.Tick{At: x(v), Text: terminal.Bytes(v)})
		v = lowY + (highY-lowY)*(float64(i)+0.5)/5
		p.Up = append(p.Up, page.Tick{At: y(v), Text: terminal.Percent(v)})
	}
	var frontier []string
	for i := range r.Rows {
		row := &r.Rows[i]
		at := plotPoint{X: x(row.PeakRSS), Y: y(row.CPURatio.Ratio), Text: row.Setting.String(), Dim: row.Dominated, Chosen: i == r.Knee || i == r.Best, Anchor: "start"}
		at.Low, at.High = at.Y, at.Y
		if row.CPURatio.Low > 0 {
			at.Low, at.High = y(max(row.CPURatio.Low, lowY)), y(row.CPURatio.High)
		}
		if at.Label = at.Text; row.GOGC == "off" {
			at.Label = "limit " + row.GOMEMLIMIT
		}
		at.TextX, at.TextY = at.X+10, at.Y-8
		if row.Dominated || row.GOGC == "off" { // so that neighbours' names do not cover each other
			at.TextY = at.Y + 20
		}
		if at.X > (p.Left+p.Right)*2/3 {
			at.TextX, at.Anchor = at.X-10, "end"
		}
		if !row.Dominated {
			frontier = append(frontier, fmt.Sprintf("%d,%d", at.X, at.Y))
		}
		p.Points = append(p.Points, at)
	}
	p.Frontier = strings.Join(frontier, " ")
	return p
}
