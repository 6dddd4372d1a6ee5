// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// A CPU profile that shows nothing is no sign that the cost is elsewhere.
func TestUnknownCPU(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples int64
		rate    int64 // MiB allocated in a second
		cut     int   // frames left of each stack, -1 for all
		why     string
	}{
		{"empty", 0, 186, -1, "less than the allocations"},
		{"one sample", 1, 186, -1, "less than the allocations"},
		{"idle", 1, 0, -1, ""},
		{"empty and idle", 0, 0, -1, ""},
		{"without stacks", 900, 186, 0, "no stacks"},
		{"without callers", 900, 186, 1, "no stacks"},
		{"whole", 900, 186, -1, ""},
	} {
		f := newFake()
		if c.samples > 0 {
			f.Ran("main.use;main.main", (c.samples+1)/2)
		}
		if c.samples > 1 {
			f.Ran("runtime.mallocgc;main.use;main.main", c.samples/2)
		}
		if c.rate > 0 {
			f.Made("main.use;main.main", 1<<10, c.rate*10<<10, 100)
		}
		f.CPU.DurationNanos = 10e9
		for _, s := range f.CPU.Sample {
			if c.cut >= 0 {
				s.Location = s.Location[:c.cut]
			}
		}
		e := f.evidence()
		r := Diagnose(t.Context(), e)
		var gate *GateError
		undecided := errors.As(Gate(e, r, 0.05, "-fail-above 5%"), &gate) && gate.Undecided
		unknown := c.why != ""
		if undecided != unknown || (r.Confidence == None) != unknown || strings.HasPrefix(r.Verdict, "The cost is unknown: ") != unknown || !strings.Contains(r.Verdict, c.why) {
			t.Errorf("%s: undecided %t, confidence %s: %s", c.name, undecided, r.Confidence, r.Verdict)
		}
		if unknown && (len(r.Settings) > 0 || findingOf(r, "not-gc") != nil) {
			t.Errorf("%s: rows %v, findings %v", c.name, r.Settings, r.Findings)
		}
	}
	e := newFake().evidence()
	e.CPU, e.Heap = &profile.Profile{SampleType: e.CPU.SampleType, DurationNanos: 10e9}, [2]*profile.Profile{}
	if r := Diagnose(t.Context(), e); r.Confidence != None || !strings.Contains(r.Verdict, "it is empty") {
		t.Errorf("alone: %s", r.Verdict)
	}
}
