// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// changes shows the figures of the report beside those of the report before the change.
func (t *textWriter) changes(r, before *doctor.Report) {
	tw := terminal.NewTable()
	tw.AppendHeader(table.Row{"", "before", "after"})
	tw.SetColumnConfigs(terminal.RightAligned(2, 3))
	for _, c := range compared(r, before) {
		tw.AppendRow(table.Row{c.Name, c.Before, c.After})
	}
	t.draw(tw)
	if note := unlikeLoads(r, before); note != "" {
		t.wrap("", "  ", note)
	}
	for _, m := range []struct {
		word string
		list []string
	}{{" gone: ", moved(before, r)}, {" new:  ", moved(r, before)}} {
		if len(m.list) > 0 {
			t.wrap(m.word, "       ", strings.Join(m.list, ", "))
		}
	}
}

// compared are the figures of two reports that show whether the change was an improvement.
func compared(r, before *doctor.Report) []change {
	list := append(comparedBenchmarks(r, before), comparedPerOperation(r.PerOperation, before.PerOperation)...)
	if r.Confidence == doctor.None && before.Confidence == doctor.None && len(list) > 0 {
		return list // the benchmarks are all that is known
	}
	list = append(list, []change{
		{"collector, of the CPU", terminal.Percent(before.GCShare), terminal.Percent(r.GCShare)},
		{"allocation, of the CPU", terminal.Percent(before.AllocShare), terminal.Percent(r.AllocShare)},
		{"can be won back", terminal.Percent(before.WinnableShare), terminal.Percent(r.WinnableShare)},
		{"findings", fmt.Sprint(worthAChange(before)), fmt.Sprint(worthAChange(r))},
	}...)
	old := map[string]string{}
	for _, f := range heapFigures(before.Heap) {
		old[f.Name] = f.Value
	}
	for _, f := range heapFigures(r.Heap) {
		if v, ok := old[f.Name]; ok {
			list = append(list, change{f.Name, v, f.Value})
		}
	}
	return list
}

// worthAChange is the number of findings that are more than information.
func worthAChange(r *doctor.Report) (n int) {
	for _, f := range r.Findings {
		if f.Severity != doctor.SeverityInfo {
			n++
		}
	}
	return n
}
