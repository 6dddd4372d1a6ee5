// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// A GateError says why a report does not pass [Gate].
type GateError struct {
	// Undecided says that the evidence does not tell whether there is a finding above the limit.
	Undecided bool

	text string
}

// Error names the finding, its gain and the limit.
func (e *GateError) Error() string { return e.text }

// Gate returns a [GateError] if a finding of the report gains more than limit, a share of the CPU
// time. Name is the error's name for the limit, such as the flag that sets it.
//
// Evidence without a CPU profile shows no places. The lack of findings is then no answer, and the
// error is undecided if collections take more than the limit, or if no cost is known at all, as of
// heap profiles or benchmarks alone.
func Gate(e *evidence.Evidence, r *Report, limit float64, name string) error {
	if worst := r.Worst(); worst != nil && worst.Gain.Best() > limit {
		return &GateError{text: fmt.Sprintf("%s would gain %s of CPU, which is above %s", worst.ID, terminal.Percent(worst.Gain.Best()), name)}
	}
	if r.Confidence == None && e.CPU != nil {
		return &GateError{Undecided: true, text: "no answer: the CPU profile does not show the cost, so " + name + " cannot be judged"}
	}
	if r.Confidence == None {
		return &GateError{Undecided: true, text: "no answer: without a CPU profile the cost is unknown, so " + name + " cannot be judged"}
	}
	profiled := e.CPU != nil && len(e.CPU.Sample) > 0
	if share := r.GCShare + r.AllocShare; !profiled && share > limit {
		return &GateError{Undecided: true, text: fmt.Sprintf("no answer: collections take %s of CPU, which is above %s, and without a CPU profile their causes are unknown",
			terminal.Percent(share), name)}
	}
	return nil
}

// Worst returns the finding with the largest gain, nil if there is no finding.
func (r *Report) Worst() (worst *Finding) {
	for i := range r.Findings {
		if f := &r.Findings[i]; worst == nil || f.Gain.Best() > worst.Gain.Best() {
			worst = f
		}
	}
	return worst
}
