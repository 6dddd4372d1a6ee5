// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"

	"github.com/jedib0t/go-pretty/v6/text"
)

// Lines writes a report line by line, and keeps the first error.
type Lines struct {
	Out   io.Writer
	Width int    // where Wrapped breaks lines, in columns
	Verb  string // in front of the error
	Err   error
}

// Line writes one line, or several that belong together, such as a table.
func (w *Lines) Line(s string) {
	if _, err := fmt.Fprintln(w.Out, TrimLines(s)); err != nil && w.Err == nil {
		w.Err = fmt.Errorf("%s: write the report: %w", w.Verb, err)
	}
}

// Wrapped writes a text in lines of at most Width columns where words can be broken.
func (w *Lines) Wrapped(s string) { w.Line(text.WrapSoft(s, w.Width)) }
