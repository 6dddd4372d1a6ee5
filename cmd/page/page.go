// SPDX-License-Identifier: Apache-2.0

// Package page has what the pages of verbs have in common: colours and forms, light, dark and printed, and the frame of a picture.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
)

//go:embed style.css
var style string

// Parse makes the template of a page, in whose style {{style}} stands for what all pages have.
func Parse(verb, text string) *template.Template {
	return template.Must(template.New(verb).Funcs(template.FuncMap{"style": func() template.CSS { return template.CSS(style) }}).Parse(text))
}

// Write writes a page, or nothing if it cannot be made.
func Write(out io.Writer, t *template.Template, data any) error {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return fmt.Errorf("%s: make the page: %w", t.Name(), err)
	}
	if _, err := out.Write(b.Bytes()); err != nil {
		return fmt.Errorf("%s: write the page: %w", t.Name(), err)
	}
	return nil
}

// A Frame is that of a picture, in the units of its viewBox: the edges of the field, and the ticks with their texts.
type Frame struct {
	Width, Height, Left, Right, Top, Bottom int
	Label                                   int // the height at which texts across stand
	Tick                                    int // where texts at the left end
	Across, Up                              []Tick
}

// A Tick is a mark at an edge.
type Tick struct {
	At   int
	Text string
}
