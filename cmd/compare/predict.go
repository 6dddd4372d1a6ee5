// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor"
)

// ReadDoctorReport reads the output of freehold doctor -json.
func ReadDoctorReport(name string, r io.Reader) (*doctor.Report, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("compare: -doctor: %w", err)
	}
	var report doctor.Report
	if err := json.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("compare: -doctor: %s is no report in JSON (%w); freehold doctor -json writes one", name, err)
	}
	if report.Version == 0 || report.Version > doctor.ReportVersion {
		return nil, fmt.Errorf("compare: -doctor: %s is no doctor's report of version %d; freehold doctor -json writes one", name, doctor.ReportVersion)
	}
	return &report, nil
}

// chosen is the finding whose remedy B contains.
type chosen struct{ doctor.Finding }

// chooseFinding returns the finding that -finding names, or the first with a gain or a loss. It is
// nil without a report.
func (o *Options) chooseFinding() (*chosen, error) {
	if o.Doctor == nil {
		return nil, nil
	}
	var ids []string
	for _, f := range o.Doctor.Findings {
		if o.Finding == f.ID || o.Finding == "" && (f.Gain.SameGOGC != 0 || f.Gain.SameMemory != 0) {
			return &chosen{f}, nil
		}
		if !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	if o.Finding == "" && len(ids) > 0 {
		return nil, fmt.Errorf("compare: -doctor: no finding of the report has a gain or a loss; name one with -finding: %s", strings.Join(ids, ", "))
	}
	if o.Finding == "" {
		return nil, fmt.Errorf("compare: -doctor: the report has no findings to compare with the measurement: %q", o.Doctor.Verdict)
	}
	return nil, fmt.Errorf("compare: -finding: the report has no finding %q; it has %s", o.Finding, orNone(ids))
}

func orNone(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

// against compares the finding's gain with the measured ratio of the CPU times.
func (f *chosen) against(c *Comparison) *Prediction {
	p := &Prediction{Finding: f.ID, Title: f.Title, SameGOGC: f.Gain.SameGOGC, SameMemory: f.Gain.SameMemory, Error: math.Abs(f.Gain.Error)}
	m := c.Measure(MeasureCPU)
	if m == nil || m.Ratio == nil {
		return p
	}
	measured := 1 - *m.Ratio
	p.Measured = &measured
	low, high := measured, measured
	if m.Low != nil {
		low, high = 1-*m.High, 1-*m.Low
		p.Low, p.High = &low, &high
	}
	p.Applies = c.applies()
	gogc := p.Applies != AppliesSameMemory && overlaps(p.SameGOGC, p.Error, low, high)
	memory := p.Applies != AppliesSameGOGC && overlaps(p.SameMemory, p.Error, low, high)
	p.Decided = high-low <= widestDecision || !gogc && !memory
	p.AgreesSameGOGC, p.AgreesSameMemory = gogc && p.Decided, memory && p.Decided
	return p
}

// Which of the two predictions applies to a measurement.
const (
	AppliesSameGOGC   = "same_gogc"
	AppliesSameMemory = "same_memory"
)

const (
	// sameMemory is the greatest part by which the peak RSS of B may differ from that of A for the
	// prediction at the same memory to apply.
	sameMemory = 0.15
	// widestDecision is the width of the measured interval, as a share of CPU, up to which it can
	// confirm a prediction. A wider interval overlaps with nearly every prediction.
	widestDecision = 0.2
)

// applies says which prediction applies, by the measured peak RSS. It is "" if the RSS is not known.
func (c *Comparison) applies() string {
	m := c.Measure(MeasurePeakRSS)
	switch {
	case m == nil || m.Ratio == nil:
		return ""
	case math.Abs(*m.Ratio-1) <= sameMemory:
		return AppliesSameMemory
	}
	return AppliesSameGOGC
}

// overlaps says whether predicted ± err and low to high have a point in common.
func overlaps(predicted, err, low, high float64) bool {
	return predicted-err <= high && low <= predicted+err
}
