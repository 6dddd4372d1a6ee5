// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/json"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
)

func TestLastPauses(t *testing.T) {
	ring := make([]float64, 256)
	for i := range ring {
		ring[i] = float64(i + 1) // the pause of cycle 1 lies at 0
	}
	if got := (MemStats{Pauses: ring}).LastPauses(3, 2); !slices.Equal(got, []float64{3, 2}) {
		t.Errorf("%v", got)
	}
	if got := (MemStats{Pauses: ring}).LastPauses(257, 2); !slices.Equal(got, []float64{1, 256}) {
		t.Errorf("around the end: %v", got)
	}
	if got := (MemStats{Pauses: ring}).LastPauses(1000, 300); len(got) != 256 {
		t.Errorf("the ring holds 256, not %d", len(got))
	}
	if got := (MemStats{}).LastPauses(5, 3); got != nil {
		t.Errorf("of an empty ring: %v", got)
	}
}

func TestReadMemStats(t *testing.T) {
	const text = "heap profile: 0: 0 [0: 0] @ heap/1048576\n# runtime.MemStats\n# PauseNs = [13000 2000 0]\n# MaxRSS = 1234\n"
	if m := ReadMemStats([]byte(text)); m.MaxRSS != 1234 || !slices.Equal(m.Pauses, []float64{13e-6, 2e-6, 0}) {
		t.Errorf("%+v", m)
	}
	const figures = "1: 2 [3: 4] @ 0x1\n# HeapAlloc = 1\n# runtime.MemStats\n# HeapAlloc = 98304\n# Stack = 65536 / 98304\r\n# GCCPUFraction = 0.5\n"
	if v := ReadMemStats([]byte(figures)).Values; v["HeapAlloc"] != 98304 || v["StackInuse"] != 65536 || v["StackSys"] != 98304 || len(v) != 3 {
		t.Errorf("%v", v)
	}
	if m := ReadMemStats([]byte("# PauseNs = nothing")); m.MaxRSS != 0 || m.Pauses != nil {
		t.Errorf("of other text: %+v", m)
	}
}

func TestCounter(t *testing.T) {
	vars := []byte(`{"cmdline": ["x"], "done": 12.5, "queued": 3}`)
	if v, err := Counter(vars, "done"); v != 12.5 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	for name, want := range map[string]string{"cmdline": `the variable "cmdline" is no number`, "gone": `there is no variable "gone"; the numbers are ["done" "queued"]`} {
		if _, err := Counter(vars, name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := Counter([]byte("<html>"), "done"); err == nil {
		t.Error("a page is read")
	}
}

// A limit of 100 MiB comes out of the figures of a program that ran under it, exactly.
func TestShownLimit(t *testing.T) {
	old := debug.SetMemoryLimit(100 << 20)
	defer debug.SetMemoryLimit(old)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var stats struct {
		MemStats runtime.MemStats `json:"memstats"`
	}
	runtime.ReadMemStats(&stats.MemStats)
	data, err := json.Marshal(stats)
	if err != nil {
		t.Fatal(err)
	}
	var e Evidence
	if err := e.ReadBytes("vars", data); err != nil {
		t.Fatal(err)
	}
	if limit, ok := e.Metrics[1].Get(MetricShownLimit); !ok || math.Abs(limit-(100<<20)) > 4096 {
		t.Errorf("the limit is %.0f (%t), want %d", limit, ok, 100<<20)
	}
}
