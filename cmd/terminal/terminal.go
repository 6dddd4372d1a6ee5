// SPDX-License-Identifier: Apache-2.0

// Package terminal writes for people: every verb of the command takes its figures, tables, colours
// and progress lines from here.
//
// Start with [Percent], [Bytes], [Nanoseconds], [Quantity] and [Ratio] for figures, [Median] and
// [Quantile] for the values of many runs, [NewTable] for tables, [NewProgress] for the line with the
// present step, and [UsageError] for wrong flags. Figures are formatted nowhere else, so that a
// figure looks the same in a verdict, a finding and a table.
//
// [Width] and [Colours] ask the terminal what it can show.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"
)

// Is says whether w is a terminal.
func Is(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colours reports whether output to w may have colours: w is a terminal that knows them, and
// the variable NO_COLOR is not set (https://no-color.org).
func Colours(w io.Writer) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && Is(w)
}

// Where lines are broken if nothing is known of the reader, and at most: longer lines are hard to
// read.
const (
	defaultWidth = 110
	leastWidth   = 60
	mostWidth    = 140
)

// Width is where lines that are written to w should be broken, in columns, between 60 and 140: the
// width of the terminal, else the variable COLUMNS, else 110.
func Width(w io.Writer) int { return min(max(columns(w), leastWidth), mostWidth) }

// columns is the width as it is.
func columns(w io.Writer) int {
	width := defaultWidth
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		width = n
	}
	if f, ok := w.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			width = n
		}
	}
	return width
}

// A Progress shows the current step: one line that is rewritten on a terminal, a line now and
// then in a log. It is for one goroutine at a time. The zero value is not usable; see NewProgress.
type Progress struct {
	out      io.Writer
	terminal bool
	last     time.Time
}

// logEvery keeps a log of a long run readable.
const logEvery = 10 * time.Second

// NewProgress writes progress to w, usually the standard error.
func NewProgress(w io.Writer) *Progress {
	return &Progress{out: w, terminal: Is(w)}
}

// Show replaces the line. In a log it is left out if the one before is younger than ten seconds.
func (p *Progress) Show(line string) {
	if p.terminal {
		width := columns(p.out)
		if r := []rune(line); len(r) >= width { // a line that wraps cannot be rewritten
			line = string(r[:width-1])
		}
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
		return
	}
	if time.Since(p.last) >= logEvery {
		p.last = time.Now()
		fmt.Fprintln(p.out, line)
	}
}

// Say writes a line that stays.
func (p *Progress) Say(line string) {
	p.End()
	fmt.Fprintln(p.out, line)
}

// End takes the line away.
func (p *Progress) End() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
