// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/evidence"
)

func TestGate(t *testing.T) {
	profiled := &evidence.Evidence{CPU: &profile.Profile{Sample: []*profile.Sample{{}}}}
	empty := &evidence.Evidence{CPU: &profile.Profile{}}
	gains := func(list ...Gain) (findings []Finding) {
		for _, g := range list {
			findings = append(findings, Finding{ID: "growing-map", Gain: g})
		}
		return findings
	}
	for name, c := range map[string]struct {
		e         *evidence.Evidence
		r         Report
		limit     float64
		want      string // "" if the report passes
		undecided bool
	}{
		"above": {profiled, Report{Findings: gains(Gain{SameGOGC: 0.02}, Gain{SameGOGC: -0.1, SameMemory: 0.3})}, 0.2,
			"growing-map would gain 30 % of CPU, which is above -fail-above 20%", false},
		"at the limit":   {profiled, Report{Findings: gains(Gain{SameGOGC: 0.2}), GCShare: 0.9}, 0.2, "", false},
		"no finding":     {profiled, Report{GCShare: 0.9}, 0.2, "", false},
		"no profile":     {&evidence.Evidence{}, Report{GCShare: 0.15, AllocShare: 0.1}, 0.2, "no answer: collections take 25 % of CPU, which is above -fail-above 20%, and without a CPU profile their causes are unknown", true},
		"no sample":      {empty, Report{GCShare: 0.25}, 0.2, "no answer: collections take 25 % of CPU, which is above -fail-above 20%, and without a CPU profile their causes are unknown", true},
		"no costs":       {&evidence.Evidence{}, Report{Confidence: None}, 0.2, "no answer: without a CPU profile the cost is unknown, so -fail-above 20% cannot be judged", true},
		"little to find": {&evidence.Evidence{}, Report{GCShare: 0.1}, 0.2, "", false},
	} {
		err := Gate(c.e, &c.r, c.limit, "-fail-above 20%")
		var gate *GateError
		if !errors.As(err, &gate) {
			if err != nil || c.want != "" {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			continue
		}
		if gate.Error() != c.want || gate.Undecided != c.undecided {
			t.Errorf("%s: %q, undecided %v; want %q and %v", name, gate, gate.Undecided, c.want, c.undecided)
		}
	}
}
