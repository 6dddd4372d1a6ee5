// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"slices"
)

// ReportVersion is the version of the report's JSON. It changes when a field changes its meaning or
// goes away, not when one is added.
const ReportVersion = 1

// A Report is the result of Run. Its JSON is a stable contract, described in docs/compare.md.
type Report struct {
	Version int `json:"version"`
	// Kind says what A and B are: commands, benchmarks, revisions, servers, or versions of one program.
	Kind string `json:"kind"`
	// A and B are the sides as they were given, addresses without a password.
	A string `json:"a"`
	B string `json:"b"`
	// Environment is one line about the machine and versions of the measurement.
	Environment string `json:"environment"`
	// Verdict is the answer in one line.
	Verdict string `json:"verdict"`
	// Confidence is the confidence of all intervals, 0.95, or 0.99 for versions; Precision is the requested width.
	Confidence float64 `json:"confidence"`
	Precision  float64 `json:"precision"`
	// Interrupted is set if the runs were ended from outside.
	Interrupted bool `json:"interrupted"`
	// Comparisons has one element, or one for each benchmark.
	Comparisons []Comparison `json:"comparisons"`
	// Notes are further remarks, one sentence each.
	Notes []string `json:"notes"`
}

// A Comparison compares A and B in one piece of work.
type Comparison struct {
	// Name is the benchmark's, empty for commands and servers.
	Name string `json:"name"`
	// Per is the unit of work: process, op, second, or the counter of a server.
	Per string `json:"per"`
	// Operations is how many of them a run of a benchmark has, 0 for others.
	Operations int `json:"operations"`
	// Ended says why no more pairs were run: tight, count, budget, pairs or interrupted.
	Ended string `json:"ended"`
	// Verdict is the answer in one line.
	Verdict string `json:"verdict"`
	// Measures are in the order of the table. A measure that no side has is left out.
	Measures []Measure `json:"measures"`
	// Prediction compares the doctor's gain with the measured one. It is null without a doctor's
	// report.
	Prediction *Prediction `json:"prediction"`
	// Notes are further remarks on the comparison.
	Notes []string `json:"notes"`
}

// A Measure is one quantity on both sides.
type Measure struct {
	// Name is cpu, wall, gc_cpu, gc_cycles, pause_p50, pause_p99, pause_max, pauses_per_minute,
	// paused_per_minute, peak_heap, peak_rss, alloc_bytes, allocs, or the unit of a metric that a benchmark
	// reports.
	Name string `json:"name"`
	// Unit is the unit of a and b: s, B or 1, with the unit of work after a slash (s/op).
	Unit string `json:"unit"`
	// A and B are medians over the runs.
	A float64 `json:"a"`
	B float64 `json:"b"`
	// Ratio estimates B/A, and Low and High bound it with the report's confidence. Ratio is null if a run
	// has the value 0. The bounds are null then, too, and with less than six pairs (eight for versions).
	Ratio *float64 `json:"ratio"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// Width is the farther bound's distance from the ratio as a part of it: the figure behind ±.
	Width *float64 `json:"width"`
	// AValues and BValues are the values of the runs. Values at the same index are a pair.
	AValues []float64 `json:"a_values"`
	BValues []float64 `json:"b_values"`
}

// Measure finds a measure by name, or returns nil.
func (c *Comparison) Measure(name string) *Measure {
	i := slices.IndexFunc(c.Measures, func(m Measure) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Measures[i]
}

// Decisive is the measure that the verdict is about: the CPU time, or the elapsed time if the CPU
// time is not known. It is nil if there is neither.
func (c *Comparison) Decisive() *Measure {
	for _, name := range []string{MeasureCPU, MeasureWall} {
		if m := c.Measure(name); m != nil && m.Ratio != nil {
			return m
		}
	}
	return nil
}

// Slower reports whether B is known to take more than 1+share times what A takes, in any
// comparison: the whole interval lies above.
func (r *Report) Slower(share float64) bool {
	return slices.ContainsFunc(r.Comparisons, func(c Comparison) bool {
		m := c.Decisive()
		return m != nil && m.Low != nil && *m.Low > 1+share
	})
}

// Above says in which comparisons B is known to have more than 1+share times A's value of a measure: the whole interval lies above.
// It is false as its second result if no comparison has the measure.
func (r *Report) Above(measure string, share float64) (names []string, known bool) {
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		m := c.Measure(measure)
		if m == nil {
			continue
		}
		known = true
		if m.above(1 + share) {
			names = append(names, c.Name)
		}
	}
	return names, known
}

// above reports whether B is known to be above so many times A. Counts that never vary, such as allocations, may have no interval: a
// side that has 0 is above by any share.
func (m *Measure) above(ratio float64) bool {
	if m.Low != nil {
		return *m.Low > ratio
	}
	return m.Ratio == nil && m.A == 0 && m.B > 0
}

// A Prediction compares the gain that the doctor predicted with the measured one. Gains are shares
// of the CPU time of A.
type Prediction struct {
	// Finding and Title are the doctor's.
	Finding string `json:"finding"`
	Title   string `json:"title"`
	// SameGOGC is predicted for a B that runs with the same GOGC, SameMemory for one whose GOGC or
	// limit is set so that it takes the memory that A takes. Error is the half-width of the
	// interval around both that holds in nine cases of ten.
	SameGOGC   float64 `json:"same_gogc"`
	SameMemory float64 `json:"same_memory"`
	Error      float64 `json:"error"`
	// Measured is 1 less the ratio of the CPU times, with the bounds of its 95 % interval; all null
	// if the ratio has none.
	Measured *float64 `json:"measured"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	// Decided says whether the measured interval decides: it is at most 0.2 wide, or has no point in
	// common with a prediction that applies.
	Decided bool `json:"decided"`
	// Applies says which prediction applies: same_memory if the peak RSS of B is within 15 % of that
	// of A, else same_gogc. It is empty if the RSS is not known; both are compared then.
	Applies string `json:"applies"`
	// AgreesSameGOGC and AgreesSameMemory say whether the prediction applies, the measured interval
	// decides, and both intervals have a point in common.
	AgreesSameGOGC   bool `json:"agrees_same_gogc"`
	AgreesSameMemory bool `json:"agrees_same_memory"`
}
