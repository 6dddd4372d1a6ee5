// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// A Painter colours text, or leaves it as it is.
type Painter struct{ On bool }

// Paint returns s in the colour c.
func (p Painter) Paint(c text.Color, s string) string {
	if !p.On || c == text.Reset {
		return s
	}
	return c.Sprint(s)
}

// Bold returns s in bold type.
func (p Painter) Bold(s string) string { return p.Paint(text.Bold, s) }

// NewTable is an empty table in the style of all reports: no borders, a line below the header.
func NewTable() table.Writer {
	tw := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Options.SeparateHeader = true
	style.Format.Header = text.FormatDefault
	tw.SetStyle(style)
	return tw
}

// RightAligned are the settings of columns of figures, counted from 1.
func RightAligned(columns ...int) []table.ColumnConfig {
	configs := make([]table.ColumnConfig, len(columns))
	for i, n := range columns {
		configs[i] = table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	return configs
}

// TrimLines takes the blanks from the ends of lines, which tables leave there.
func TrimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}
