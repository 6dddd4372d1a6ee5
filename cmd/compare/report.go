package compare

import (
	"fmt"
	"maps"
	"runtime"
	"slices"

	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// ReportVersion is the version of the report's JSON. It changes when a field changes its meaning or goes away, not when one is added.
const ReportVersion = 1

// A Report is what Run measured. Its JSON is a stable contract, described in docs/compare.md.
type Report struct {
	Version int `json:"version"`
	// Kind says what A and B are: commands, benchmarks, revisions or servers.
	Kind string `json:"kind"`
	// A and B are the sides as they were given, addresses without a password.
	A string `json:"a"`
	B string `json:"b"`
	// Environment is what the figures were measured on, in one line.
	Environment string `json:"environment"`
	// Verdict is the answer in one line.
	Verdict string `json:"verdict"`
	// Confidence is that of all intervals, 0.95, and Precision the width of them that was asked for.
	Confidence float64 `json:"confidence"`
	Precision  float64 `json:"precision"`
	// Interrupted is set if the runs were ended from outside.
	Interrupted bool `json:"interrupted"`
	// Comparisons has one element, or one for each benchmark.
	Comparisons []Comparison `json:"comparisons"`
	// Notes are what else is to be known, one sentence each.
	Notes []string `json:"notes"`
}

// A Comparison holds A and B against each other in one piece of work.
type Comparison struct {
	// Name is the benchmark's, empty for commands and servers.
	Name string `json:"name"`
	// Per is what measures are counted by: process, op, second, or the counter of a server.
	Per string `json:"per"`
	// Operations is how many of them a run of a benchmark has, 0 for others.
	Operations int `json:"operations"`
	// Ended says why no more pairs were run: tight, count, budget, pairs or interrupted.
	Ended string `json:"ended"`
	// Verdict is the answer in one line.
	Verdict string `json:"verdict"`
	// Measures are in the order of the table. What no side told is left out.
	Measures []Measure `json:"measures"`
	// Prediction holds the doctor's gain against the measured one. It is null without a doctor's report.
	Prediction *Prediction `json:"prediction"`
	// Notes are what else is to be known of it.
	Notes []string `json:"notes"`
}

// A Measure is one quantity on both sides.
type Measure struct {
	// Name is cpu, wall, gc_cpu, gc_cycles, pause_p50, pause_p99, pause_max, pauses_per_minute, paused_per_minute, peak_rss, alloc_bytes,
	// allocs, or the unit of a metric that a benchmark reports.
	Name string `json:"name"`
	// Unit is that of a and b: s, B or 1, with what they are counted by behind a slash (s/op).
	Unit string `json:"unit"`
	// A and B are medians over the runs.
	A float64 `json:"a"`
	B float64 `json:"b"`
	// Ratio estimates B/A, and Low and High bound it with 95 % confidence. Ratio is null where a run has the value 0, the bounds
	// also where there are less than six pairs.
	Ratio *float64 `json:"ratio"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	// Width is the farther bound's distance from the ratio as a part of it: the figure behind ±.
	Width *float64 `json:"width"`
	// AValues and BValues are the runs: those at the same place are a pair.
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

// Decisive is the measure that the verdict is about: the CPU time, or the elapsed time where that is not known. It is nil if
// there is neither.
func (c *Comparison) Decisive() *Measure {
	for _, name := range []string{MeasureCPU, MeasureWall} {
		if m := c.Measure(name); m != nil && m.Ratio != nil {
			return m
		}
	}
	return nil
}

// Slower reports whether B is known to take more than 1+share times what A takes, in any comparison: the whole interval lies above.
func (r *Report) Slower(share float64) bool {
	return slices.ContainsFunc(r.Comparisons, func(c Comparison) bool {
		m := c.Decisive()
		return m != nil && m.Low != nil && *m.Low > 1+share
	})
}

func newReport(o *Options, contests []*contest, notes []string, finding *chosen, interrupted bool) *Report {
	r := &Report{
		Version: ReportVersion, Kind: o.kind(), A: o.A, B: o.B, Environment: environment(), Confidence: 0.95, Precision: o.Precision,
		Interrupted: interrupted, Comparisons: []Comparison{}, Notes: append([]string{}, notes...),
	}
	if r.Kind == KindServers {
		r.A, r.B = debugport.Redacted(o.A), debugport.Redacted(o.B)
	}
	for _, c := range contests {
		r.Comparisons = append(r.Comparisons, c.comparison(o, finding))
	}
	r.Verdict = r.verdict()
	return r
}

// environment is what the figures depend on besides the programs.
func environment() string {
	return fmt.Sprintf("%s/%s · %d CPUs · GOMAXPROCS=%d", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.GOMAXPROCS(0))
}

func (c *contest) comparison(o *Options, finding *chosen) Comparison {
	r := Comparison{Name: c.name, Per: c.per, Operations: c.ops, Ended: c.ended, Notes: append([]string{}, c.notes...)}
	all := measured(c.plain)
	maps.Copy(all, measured(c.traced)) // no measure is in both
	for _, name := range slices.SortedFunc(maps.Keys(all), kindOrder) {
		r.Measures = append(r.Measures, newMeasure(name, c.per, all[name]))
	}
	if c.traces && len(c.traced) > 0 && noCollections(&r) {
		r.Notes = append(r.Notes, "no collection was traced: the programs collect nothing, or are not Go's")
		r.Measures = slices.DeleteFunc(r.Measures, func(m Measure) bool { return !slices.Contains(plainMeasures, m.Name) && isListed(m.Name) })
	}
	r.Verdict = r.verdict(o)
	if finding != nil {
		r.Prediction = finding.against(&r)
	}
	return r
}

// plainMeasures do not come from the collector's trace.
var plainMeasures = []string{MeasureCPU, MeasureWall, MeasurePeakRSS, MeasureAllocBytes, MeasureAllocs}

func isListed(name string) bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.name == name })
}

func noCollections(c *Comparison) bool {
	m := c.Measure(MeasureGCCycles)
	return m != nil && m.A == 0 && m.B == 0
}

func newMeasure(name, per string, s *series) Measure {
	k := kindOf(name)
	m := Measure{Name: name, Unit: k.unit, A: terminal.Median(s.a), B: terminal.Median(s.b), AValues: s.a, BValues: s.b}
	if m.Unit == "" {
		m.Unit = "1"
	}
	if k.per {
		m.Unit += "/" + per
	}
	if !isListed(name) {
		m.Unit = name
	}
	i, ok := ratioOf(s.a, s.b)
	if !ok {
		return m
	}
	m.Ratio = &i.ratio
	if i.known() {
		width := i.width()
		m.Low, m.High, m.Width = &i.low, &i.high, &width
	}
	return m
}

// verdict says in one line which side takes less, and how sure that is.
func (c *Comparison) verdict(o *Options) string {
	m := c.Decisive()
	if m == nil {
		switch {
		case len(c.Measures) > 0:
			return "nothing to compare: a side took no CPU time that could be measured"
		case c.Ended == endInterrupted:
			return "interrupted before a pair was measured"
		}
		return "not measured: there was no time left; raise -budget, or select less with -bench"
	}
	what := "CPU time"
	if m.Name == MeasureWall {
		what = "time"
	}
	ratio := *m.Ratio
	if m.Low == nil {
		return fmt.Sprintf("B takes %.3f × the %s of A in %s, too few for an interval", ratio, what, pairsText(len(m.AValues)))
	}
	text := fmt.Sprintf("no difference shown: B takes %.3f × the %s of A", ratio, what)
	switch {
	case *m.High < 1:
		text = fmt.Sprintf("B takes %s less %s than A", terminal.Percent(1-ratio), what)
	case *m.Low > 1:
		text = fmt.Sprintf("B takes %s more %s than A", terminal.Percent(ratio-1), what)
	}
	text += fmt.Sprintf(" (× %.3f, 95 %% interval %.3f to %.3f, %s)", ratio, *m.Low, *m.High, pairsText(len(m.AValues)))
	if *m.Width > o.Precision {
		text += fmt.Sprintf("; the interval is ±%s, wider than ±%s", terminal.Percent(*m.Width), terminal.Percent(o.Precision))
		switch c.Ended {
		case endBudget:
			text += ": -budget ended the runs"
		case endInterrupted:
			text += ": the runs were interrupted"
		case endCount:
			text += ": -count ended the runs"
		case endPairs:
			text += fmt.Sprintf(": %d pairs are the most", mostPairs)
		}
	}
	return text
}

func pairsText(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", n)
}

// verdict of the whole report: the only comparison's, or how many went which way.
func (r *Report) verdict() string {
	switch len(r.Comparisons) {
	case 0:
		return "interrupted before anything was measured"
	case 1:
		return r.Comparisons[0].Verdict
	}
	less, more, same, unknown := 0, 0, 0, 0
	for i := range r.Comparisons {
		m := r.Comparisons[i].Decisive()
		switch {
		case m == nil || m.Low == nil:
			unknown++
		case *m.High < 1:
			less++
		case *m.Low > 1:
			more++
		default:
			same++
		}
	}
	text := fmt.Sprintf("of %d benchmarks B takes less in %d, more in %d, and shows no difference in %d", len(r.Comparisons), less, more, same)
	if unknown > 0 {
		text += fmt.Sprintf("; for %d the time was too short to tell", unknown)
	}
	return text
}
