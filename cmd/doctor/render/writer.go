// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// Style is the layout of text.
type Style struct {
	// Width is where lines are broken, in columns; code and paths may be longer.
	Width int
	// Colours says whether to use those of terminals.
	Colours bool
	// Verbose adds the CPU time by class, and of each finding its figures, its code and its checks.
	Verbose bool
	// Measure is the command that measures what the settings cost, or empty.
	Measure string
}

// textWriter writes a report as text.
type textWriter struct {
	out *bytes.Buffer
	Style
	terminal.Painter
}

// wrap breaks text into lines that begin with indent, the first with first in its place.
func (t *textWriter) wrap(first, indent, s string) {
	width := max(t.Width-text.StringWidthWithoutEscSequences(indent), 20)
	for i, line := range strings.Split(terminal.TrimLines(text.WrapSoft(s, width)), "\n") {
		if i == 0 {
			fmt.Fprintf(t.out, "%s%s\n", first, line)
			continue
		}
		fmt.Fprintf(t.out, "%s%s\n", indent, line)
	}
}

// draw writes a table below an empty line.
func (t *textWriter) draw(tw table.Writer) {
	fmt.Fprintf(t.out, "\n%s\n", terminal.TrimLines(tw.Render()))
}

// severityColour is how much a finding matters.
var severityColour = map[doctor.Severity]text.Color{
	doctor.SeverityHigh: text.FgRed, doctor.SeverityMedium: text.FgYellow, doctor.SeverityLow: text.FgCyan, doctor.SeverityInfo: text.FgHiBlack,
}
