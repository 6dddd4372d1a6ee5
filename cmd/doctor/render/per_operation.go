// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// perOperation shows the cost of one operation in a line.
func (t *textWriter) perOperation(p *doctor.PerOperation) {
	if p == nil {
		return
	}
	var parts []string
	if p.CPUSeconds > 0 {
		cpu := terminal.Nanoseconds(p.CPUSeconds*1e9) + " of CPU"
		if p.GCSeconds+p.AllocSeconds > 0 {
			cpu += fmt.Sprintf(" (collector %s, allocation %s)", terminal.Nanoseconds(p.GCSeconds*1e9), terminal.Nanoseconds(p.AllocSeconds*1e9))
		}
		parts = append(parts, cpu)
	}
	if p.AllocFrom != "" {
		parts = append(parts, fmt.Sprintf("%s in %s objects", terminal.Bytes(p.AllocBytes), terminal.Count(p.AllocObjects)))
	}
	text := fmt.Sprintf("cost per %s: %s", p.Name, strings.Join(parts, ", "))
	if len(parts) == 0 {
		text = fmt.Sprintf("the cost per %s is unknown: there is no CPU profile, and there are no two heap profiles", p.Name)
	}
	if p.PerSecond > 0 {
		text += fmt.Sprintf("; %s/s", terminal.Quantity(p.PerSecond))
	}
	if p.WindowAssumed {
		text += ", if the counter was read at both ends of the CPU profile"
	}
	t.wrap("", "  ", text)
}

// perFigures are the figures of one operation for the page.
func perFigures(p *doctor.PerOperation) (list []figure) {
	add := func(name string, v float64, value string) {
		if v > 0 {
			list = append(list, figure{name, value})
		}
	}
	add("CPU", p.CPUSeconds, terminal.Nanoseconds(p.CPUSeconds*1e9))
	add("collector", p.GCSeconds, terminal.Nanoseconds(p.GCSeconds*1e9))
	add("allocation", p.AllocSeconds, terminal.Nanoseconds(p.AllocSeconds*1e9))
	add("bytes", p.AllocBytes, terminal.Bytes(p.AllocBytes))
	add("objects", p.AllocObjects, terminal.Count(p.AllocObjects))
	add("rate", p.PerSecond, terminal.Quantity(p.PerSecond)+"/s")
	return list
}

// A change is a figure before and after.
type change struct{ Name, Before, After string }

// comparedPerOperation are the costs of one operation in two reports, nil unless both have them.
func comparedPerOperation(p, before *doctor.PerOperation) (list []change) {
	if p == nil || before == nil {
		return nil
	}
	add := func(name string, old, now float64, write func(float64) string) {
		if old > 0 && now > 0 {
			list = append(list, change{name, write(old), fmt.Sprintf("%s (%s)", write(now), terminal.Ratio(now/old))})
		}
	}
	seconds := func(s float64) string { return terminal.Nanoseconds(s * 1e9) }
	add("CPU per "+p.Name, before.CPUSeconds, p.CPUSeconds, seconds)
	add("collector per "+p.Name, before.GCSeconds, p.GCSeconds, seconds)
	add("allocation per "+p.Name, before.AllocSeconds, p.AllocSeconds, seconds)
	add("bytes per "+p.Name, before.AllocBytes, p.AllocBytes, terminal.Bytes)
	add("objects per "+p.Name, before.AllocObjects, p.AllocObjects, terminal.Count)
	add(p.Name+" per second", before.PerSecond, p.PerSecond, terminal.Quantity)
	return list
}

// unlikeLoads says that two reports without a count of operations may be of different loads, "" if
// both have one, both are of benchmarks, or one lacks CPU times.
func unlikeLoads(r, before *doctor.Report) string {
	if r.PerOperation != nil && before.PerOperation != nil || len(r.Benchmarks) > 0 && len(before.Benchmarks) > 0 || r.CPUSeconds == 0 || before.CPUSeconds == 0 {
		return ""
	}
	load := func(r *doctor.Report) string {
		text := terminal.Seconds(r.CPUSeconds) + " of CPU"
		if r.WindowSeconds > 0 {
			text += " in " + terminal.Seconds(r.WindowSeconds)
		}
		return text
	}
	return fmt.Sprintf("The table compares totals of two windows, which may differ in load (%s before, %s after). The cost of one operation compares better: "+
		"-per COUNTER, with a counter of /metrics or /debug/vars, or -per BEFORE,AFTER, with the numbers of operations.", load(before), load(r))
}
