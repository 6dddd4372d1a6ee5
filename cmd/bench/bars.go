// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"math"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// A Bar is what a contestant must reach, computed from the rows of a full run.
type Bar struct {
	// Name names the bounded figure.
	Name string
	// Limit is the most that the value may be.
	Limit float64
	Value Value
}

// A BarResult is a bar with the figure that was reached.
type BarResult struct {
	Name   string
	Limit  float64
	Value  float64
	Detail string
	Met    bool
}

// Rows are the rows of one run, for a Bar to read.
type Rows []*Row

// AtMost returns a bar.
func AtMost(name string, limit float64, value Value) Bar { return Bar{name, limit, value} }

// A Value computes the figure of a bar and the detail that is shown with it. It returns false where a row is missing.
type Value func(rows Rows) (value float64, detail string, ok bool)

// Find returns the measured row of a contestant, of the only size if n is 0, or nil.
func (rows Rows) Find(workload string, n int, contestant string) *Row {
	for _, r := range rows {
		if r.Workload == workload && r.Contestant == contestant && (n == 0 || r.N == n) && r.Passes > 0 && r.Error == "" {
			return r
		}
	}
	return nil
}

// FindInput returns the measured row of a contestant on an input, or nil.
func (rows Rows) FindInput(workload, input, contestant string) *Row {
	for _, r := range rows {
		if r.Workload == workload && r.Contestant == contestant && r.Input == input && r.Passes > 0 && r.Error == "" {
			return r
		}
	}
	return nil
}

// TimeRatio is the Value of a bar on the CPU time of one contestant as a part of another's.
func TimeRatio(workload string, n int, contestant, base string) Value {
	return func(rows Rows) (float64, string, bool) {
		return timeRatio(rows.Find(workload, n, contestant), rows.Find(workload, n, base))
	}
}

// InputRatio is TimeRatio on an input, for a workload that has inputs in place of sizes.
func InputRatio(workload, input, contestant, base string) Value {
	return func(rows Rows) (float64, string, bool) {
		return timeRatio(rows.FindInput(workload, input, contestant), rows.FindInput(workload, input, base))
	}
}

func timeRatio(a, b *Row) (float64, string, bool) {
	if a == nil || b == nil || b.NsOp == 0 {
		return 0, "", false
	}
	return a.NsOp / b.NsOp, fmt.Sprintf("%s: %s, %s: %s", a.Contestant, terminal.Nanoseconds(a.NsOp), b.Contestant, terminal.Nanoseconds(b.NsOp)), true
}

// ExtraValue is the Value of a bar on a named value of a row.
func ExtraValue(workload, contestant, name string) Value {
	return func(rows Rows) (float64, string, bool) {
		r := rows.Find(workload, 0, contestant)
		if r == nil {
			return 0, "", false
		}
		v, ok := r.Extra[name]
		return v, workload + ", " + contestant, ok
	}
}

// ExtraRatio is the Value of a bar on a named value of one contestant as a part of another's.
func ExtraRatio(workload, contestant, base, name string) Value {
	return func(rows Rows) (float64, string, bool) {
		a, b := rows.Find(workload, 0, contestant), rows.Find(workload, 0, base)
		if a == nil || b == nil || b.Extra[name] == 0 {
			return 0, "", false
		}
		detail := fmt.Sprintf("%s: %s, %s: %s", contestant, extraValue(name, a.Extra[name]), base, extraValue(name, b.Extra[name]))
		return a.Extra[name] / b.Extra[name], detail, true
	}
}

// A Part is a share of a contestant's time.
type Part struct {
	Share      float64
	Contestant string
}

// MostRatio is the Value of a bar on the CPU time of a contestant as a part of the largest of some limits. A limit
// whose contestant cannot run on this machine does not count.
func MostRatio(workload string, n int, contestant string, limits ...Part) Value {
	return func(rows Rows) (float64, string, bool) {
		r := rows.Find(workload, n, contestant)
		most, from := 0.0, Part{}
		for _, limit := range limits {
			if base := rows.Find(workload, n, limit.Contestant); base != nil && limit.Share*base.NsOp > most {
				most, from = limit.Share*base.NsOp, limit
			}
		}
		if r == nil || most == 0 {
			return 0, "", false
		}
		detail := fmt.Sprintf("%s: %s, %s × %s: %s", contestant, terminal.Nanoseconds(r.NsOp), terminal.Significant(from.Share), from.Contestant, terminal.Nanoseconds(most))
		return r.NsOp / most, detail, true
	}
}

// WorstRatio is the Value of a bar on the CPU time of one contestant as a part of another's, at the size where it is
// largest.
func WorstRatio(workload, contestant, base string) Value {
	return func(rows Rows) (worst float64, detail string, ok bool) {
		for _, r := range rows {
			if r.Workload != workload || r.Contestant != contestant {
				continue
			}
			if ratio, text, found := TimeRatio(workload, r.N, contestant, base)(rows); found && ratio > worst {
				worst, detail, ok = ratio, terminal.ExactCount(r.N)+", "+text, true
			}
		}
		return worst, detail, ok
	}
}

// CycleRatio is the Value of a bar on the collector's cycles an operation, as a part of another contestant's.
func CycleRatio(workload, input, contestant, base string) Value {
	return func(rows Rows) (float64, string, bool) {
		a, b := rows.FindInput(workload, input, contestant), rows.FindInput(workload, input, base)
		if a == nil || b == nil || a.Ops == 0 || b.Ops == 0 || b.GCCycles == 0 {
			return 0, "", false
		}
		detail := fmt.Sprintf("%s: %s cycles in %s operations, %s: %s in %s",
			contestant, terminal.Count(a.GCCycles), terminal.Count(math.Round(a.Ops)), base, terminal.Count(b.GCCycles), terminal.Count(math.Round(b.Ops)))
		return a.GCCycles / a.Ops * b.Ops / b.GCCycles, detail, true
	}
}

// Judge computes every bar whose rows were measured, in the order of the workloads.
func (s *Set) Judge(rows Rows) (results []BarResult) {
	for _, w := range s.workloads {
		for _, b := range w.Bars {
			if value, detail, ok := b.Value(rows); ok {
				results = append(results, BarResult{b.Name, b.Limit, value, detail, value <= b.Limit})
			}
		}
	}
	return results
}
