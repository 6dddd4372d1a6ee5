package bench

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// A Bar is what a contestant must reach, computed from the rows of a full run.
type Bar struct {
	// Name says what is bounded.
	Name string
	// Limit is the most that the value may be.
	Limit float64
	// Value computes the figure and the detail that is shown with it. It returns false where a row is missing.
	Value func(rows Rows) (value float64, detail string, ok bool)
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

// bars is filled by init functions and read-only after that.
var bars []Bar

// AddBar adds a bar. It is called from init functions.
func AddBar(b Bar) { bars = append(bars, b) }

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
func TimeRatio(workload string, n int, contestant, base string) func(Rows) (float64, string, bool) {
	return func(rows Rows) (float64, string, bool) {
		return timeRatio(rows.Find(workload, n, contestant), rows.Find(workload, n, base))
	}
}

// InputRatio is TimeRatio on an input, for a workload that has inputs in place of sizes.
func InputRatio(workload, input, contestant, base string) func(Rows) (float64, string, bool) {
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
func ExtraValue(workload, contestant, name string) func(Rows) (float64, string, bool) {
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
func ExtraRatio(workload, contestant, base, name string) func(Rows) (float64, string, bool) {
	return func(rows Rows) (float64, string, bool) {
		a, b := rows.Find(workload, 0, contestant), rows.Find(workload, 0, base)
		if a == nil || b == nil || b.Extra[name] == 0 {
			return 0, "", false
		}
		detail := fmt.Sprintf("%s: %s, %s: %s", contestant, extraValue(name, a.Extra[name]), base, extraValue(name, b.Extra[name]))
		return a.Extra[name] / b.Extra[name], detail, true
	}
}

// judge computes every bar whose rows were measured.
func judge(rows []*Row) []BarResult {
	var results []BarResult
	for _, b := range bars {
		if value, detail, ok := b.Value(rows); ok {
			results = append(results, BarResult{b.Name, b.Limit, value, detail, value <= b.Limit})
		}
	}
	slices.SortStableFunc(results, func(a, b BarResult) int { return barOrder(a.Name) - barOrder(b.Name) })
	return results
}

// barOrder is the place of the first workload whose task the bar's name starts with.
func barOrder(name string) int {
	return slices.IndexFunc(registry, func(w *Workload) bool { return strings.HasPrefix(name, w.family()) })
}
