// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// counted is the shop's evidence with a counter that was read twice, so many seconds apart, and with
// the process's own figures if process is set.
func counted(seconds float64, process bool) *evidence.Evidence {
	e := shop()
	e.Per.Counter = "requests"
	for i := range e.Metrics {
		m := &e.Metrics[i]
		if process {
			m.Set(evidence.MetricProcessCPU, float64(100+20*i))
			m.Set(evidence.MetricAllocBytes, float64(1e6*i))
			m.Set(evidence.MetricAllocObjects, float64(1e4*i))
		}
		m.SetReading("requests", float64(1000*(i+1)))
		if seconds > 0 {
			m.SetReadAt(50 + seconds*float64(i))
		}
	}
	return e
}

// The cost of one operation has the CPU time of the same window as the operations: that of the
// process if it was read with the counter, or else the profile's, at the counter's rate. The profile
// has 10 s of CPU in 10 s, and the heap profiles 256 MB in 10 s.
func TestPerOperation(t *testing.T) {
	number := shop()
	number.Per.Number = 500
	single := counted(0, false)
	single.Heap[0] = nil
	for name, c := range map[string]struct {
		e                  *evidence.Evidence
		cpu, bytes, rate   float64
		cpuFrom, allocFrom Origin
		assumed            bool
	}{
		"times known":   {counted(20, false), 10.0 / 500, 256e6 / 500, 50, FromProfiles, FromProfiles, false},
		"times unknown": {counted(0, false), 10.0 / 1000, 256e6 / 1000, 100, FromProfiles, FromProfiles, true},
		"process":       {counted(20, true), 20.0 / 1000, 1e6 / 1000, 50, FromProcess, FromProcess, false},
		"number":        {number, 10.0 / 500, 256e6 / 500, 50, FromProfiles, FromProfiles, false},
		"single heap":   {single, 10.0 / 1000, 0, 100, FromProfiles, "", true},
	} {
		r := Diagnose(t.Context(), c.e)
		p := r.PerOperation
		if p == nil {
			t.Errorf("%s: none", name)
			continue
		}
		if math.Abs(p.CPUSeconds/c.cpu-1) > 1e-9 || math.Abs(p.AllocBytes-c.bytes) > 1e-6*c.bytes || p.PerSecond != c.rate || p.CPUFrom != c.cpuFrom || p.AllocFrom != c.allocFrom || p.WindowAssumed != c.assumed {
			t.Errorf("%s: %+v, want %+v", name, p, c)
		}
		if math.Abs(p.GCSeconds-r.GCShare*p.CPUSeconds) > 1e-12 || math.Abs(p.AllocSeconds-r.AllocShare*p.CPUSeconds) > 1e-12 {
			t.Errorf("%s: the parts are %v and %v", name, p.GCSeconds, p.AllocSeconds)
		}
	}
	if p := Diagnose(t.Context(), shop()).PerOperation; p != nil {
		t.Errorf("without a counter: %+v", p)
	}
}
