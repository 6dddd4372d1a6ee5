// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"maps"
	"slices"

	"github.com/freehold-go/freehold/cmd/compare/child"
	"github.com/freehold-go/freehold/cmd/compare/pairs"
	"github.com/freehold-go/freehold/cmd/debugport"
	"github.com/freehold-go/freehold/cmd/terminal"
)

func newReport(o *Options, contests []*contest, notes []string, finding *chosen, interrupted bool) *Report {
	r := &Report{
		Version: ReportVersion, Kind: o.kind(), A: o.A, B: o.B, Environment: child.Machine(), Confidence: o.confidence(), Precision: o.Precision,
		Interrupted: interrupted, Comparisons: []Comparison{}, Notes: append([]string{}, notes...),
	}
	if r.Kind == KindVersions {
		r.A, r.B = o.A+" ("+o.labels[0]+")", o.A+" ("+o.labels[1]+")"
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

func (c *contest) comparison(o *Options, finding *chosen) Comparison {
	r := Comparison{Name: c.name, Per: c.per, Operations: c.ops, Ended: c.ended, Notes: append([]string{}, c.notes...)}
	all := measured(c.plain)
	maps.Copy(all, measured(c.traced)) // no measure is in both
	for _, name := range slices.SortedFunc(maps.Keys(all), kindOrder) {
		r.Measures = append(r.Measures, newMeasure(name, c.per, all[name], o.confidence()))
	}
	if c.traces && len(c.traced) > 0 && noCollections(&r) {
		r.Notes = append(r.Notes, "no collection was traced: the programs made no collection, or are no Go programs")
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

func newMeasure(name, per string, s *series, confidence float64) Measure {
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
	i, ok := pairs.Ratio(s.a, s.b, confidence)
	if !ok {
		return m
	}
	m.Ratio = &i.Ratio
	if i.Known() {
		width := i.Width()
		m.Low, m.High, m.Width = &i.Low, &i.High, &width
	}
	return m
}
