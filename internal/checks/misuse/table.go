// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// Table is the corpus in Markdown: a table for each family of wrong programs, with a row for all
// programs that the same modes catch.
func Table() string {
	var b strings.Builder
	for _, f := range Families() {
		rows := rowsOf(f.Cases)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "**%s**\n\n", f.Title)
		if f.Cases[0].Blind != "" {
			b.WriteString("| the program | why no mode finds it |\n|---|---|\n")
			for _, c := range f.Cases {
				fmt.Fprintf(&b, "| %s | %s |\n", c.Text, c.Blind)
			}
		} else {
			b.WriteString("| the program | kinds |")
			for _, m := range All {
				fmt.Fprintf(&b, " %s |", m)
			}
			b.WriteString("\n|" + strings.Repeat("---|", len(All)+2) + "\n")
			for _, r := range rows {
				fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(r.texts, "; "), r.cells)
			}
		}
		b.WriteString("\n")
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// A row is the programs that the same modes catch.
type row struct {
	cells string
	texts []string
}

func rowsOf(cases []Case) (rows []row) {
	for i := range cases {
		c := &cases[i]
		if c.Correct() {
			continue
		}
		cells := []string{variantNames(c.variants())}
		for _, m := range All {
			cells = append(cells, c.cell(m))
		}
		all := strings.Join(cells, " | ")
		at := slices.IndexFunc(rows, func(r row) bool { return r.cells == all })
		if at < 0 {
			at, rows = len(rows), append(rows, row{cells: all})
		}
		rows[at].texts = append(rows[at].texts, c.Text)
	}
	return rows
}

// variants are those that there are of the program.
func (c *Case) variants() (list []Variant) {
	for _, v := range Variants {
		if c.Run[v] != nil {
			list = append(list, v)
		}
	}
	return list
}

// cell says of which variants the mode catches the program.
func (c *Case) cell(m Mode) string {
	var in []Variant
	for _, v := range c.variants() {
		if c.By(m, v) != nil || c.By(Always, v) != nil {
			in = append(in, v)
		}
	}
	if len(in) == len(c.variants()) {
		return "yes"
	}
	return variantNames(in)
}

func variantNames(list []Variant) string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}
