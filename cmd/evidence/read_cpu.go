// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"strings"

	"github.com/google/pprof/profile"
)

// assumedPeriod is the CPU time of a sample in nanoseconds if a profile of counts does not say it:
// that of Go's own profiler.
const assumedPeriod = 10e6

// isSampled reports whether a profile has nothing but numbers of samples, as profilers by eBPF write
// it (Parca, Polar Signals).
func isSampled(p *profile.Profile) bool {
	return len(p.SampleType) == 1 && p.SampleType[0].Type == "samples" && p.SampleType[0].Unit == "count"
}

// addSampled adds a profile of counts as a CPU profile.
func (e *Evidence) addSampled(p *profile.Profile) error {
	period := int64(0)
	if t := p.PeriodType; t != nil && t.Unit == "nanoseconds" && p.Period > 0 {
		period = p.Period
	}
	if period == 0 {
		period, e.PeriodAssumed = assumedPeriod, true
		e.Note("the CPU profile counts samples and does not say how often they were taken; 100 a second are assumed, so its shares are right and its seconds may not be (19 and 99 are usual as well)",
			"export the profile with its period")
	}
	cpu := &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
	p.SampleType, p.PeriodType, p.Period = append(p.SampleType, cpu), cpu, period
	for _, s := range p.Sample {
		s.Value = append(s.Value, s.Value[0]*period)
		n := 0
		for n < len(s.Location)-1 && isKernel(s.Location[n]) {
			n++
		}
		s.Location = s.Location[n:]
	}
	return e.addCPU(p)
}

// isKernel reports whether a location is in the kernel. Go's own profiles end at the system call, so
// the doctor knows no kernel functions.
func isKernel(l *profile.Location) bool {
	return l.Mapping != nil && strings.HasPrefix(l.Mapping.File, "[kernel")
}

func (e *Evidence) addCPU(p *profile.Profile) error {
	i := SampleIndex(p, "cpu")
	if unit := p.SampleType[i].Unit; unit != "nanoseconds" {
		return inputError("a CPU profile in " + unit + " instead of nanoseconds; give one that runtime/pprof wrote")
	}
	for _, s := range p.Sample {
		if s.Value[i] < 0 {
			return inputError("a difference of two CPU profiles; give one of them")
		}
	}
	if e.CPU == nil {
		e.CPU = p
		return nil
	}
	if how := apart(e.CPU, p); how != "" {
		e.Note("the CPU profiles are of "+how+", and were merged", sameBuild)
	}
	merged, err := profile.Merge([]*profile.Profile{e.CPU, p})
	if err != nil {
		return inputError("cannot be merged with the other CPU profile (" + err.Error() + "); give profiles of one program")
	}
	e.CPU = merged
	return nil
}
