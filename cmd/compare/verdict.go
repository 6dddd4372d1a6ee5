// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/cmd/terminal"
)

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
		return fmt.Sprintf("B takes %s the %s of A in %s, too few for an interval", terminal.FineRatio(ratio), what, pairsText(len(m.AValues)))
	}
	text := fmt.Sprintf("no difference shown: B takes %s the %s of A", terminal.FineRatio(ratio), what)
	switch {
	case *m.High < 1:
		text = fmt.Sprintf("B takes %s less %s than A", terminal.Percent(1-ratio), what)
	case *m.Low > 1:
		text = fmt.Sprintf("B takes %s more %s than A", terminal.Percent(ratio-1), what)
	}
	text += fmt.Sprintf(" (%s, %.0f %% interval %s, %s)", terminal.FineRatio(ratio), 100*o.confidence(), terminal.Interval(*m.Low, *m.High), pairsText(len(m.AValues)))
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
			text += fmt.Sprintf(": %d pairs are the limit", mostPairs)
		}
	}
	if o.kind() == KindVersions {
		text += c.others()
	}
	return text
}

// others is what the verdict on two versions says besides: which side takes more memory, and allocates more.
func (c *Comparison) others() string {
	var differ, same []string
	for _, name := range []string{MeasureAllocBytes, MeasureAllocs, MeasurePeakHeap, MeasurePeakRSS} {
		m := c.Measure(name)
		switch {
		case m == nil || m.Ratio != nil && m.Low == nil:
		case m.Ratio == nil && m.A == m.B || m.Low != nil && *m.Low <= 1 && *m.High >= 1:
			same = append(same, kindOf(name).label)
		case m.Ratio == nil && m.A == 0:
			differ = append(differ, kindOf(name).label+" more than none")
		case m.Ratio != nil && *m.Ratio > 1:
			differ = append(differ, fmt.Sprintf("%s %s more", kindOf(name).label, terminal.Percent(*m.Ratio-1)))
		case m.Ratio != nil:
			differ = append(differ, fmt.Sprintf("%s %s less", kindOf(name).label, terminal.Percent(1-*m.Ratio)))
		}
	}
	text := ""
	if len(differ) > 0 {
		text += "; " + strings.Join(differ, ", ")
	}
	if len(same) > 0 {
		text += "; no difference shown in " + strings.Join(same, ", ")
	}
	return text
}

func pairsText(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d pairs", n)
}

// verdict is the verdict of the report: the only comparison's, or the numbers of comparisons by
// result.
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
		text += fmt.Sprintf("; for %d the time was too short", unknown)
	}
	return text
}
