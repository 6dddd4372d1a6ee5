// SPDX-License-Identifier: Apache-2.0

package promstats

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/freehold-go/freehold/gctune"
)

func TestTuner(t *testing.T) {
	for name := range gather(t) {
		if strings.HasPrefix(name, "freehold_gctune_") {
			t.Errorf("%s although no tuner runs", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	tuner, err := gctune.Start(ctx, gctune.Options{
		Interval: -1, Limit: func() (int64, error) { return 1 << 40, nil }, Other: func() int64 { return 1 << 38 }, KeepGOGC: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); <-tuner.Done() }()
	s := tuner.Stats()
	values := gather(t)
	for name, want := range map[string]float64{
		"freehold_gctune_total_bytes":              1 << 40,
		"freehold_gctune_other_bytes":              1 << 38,
		"freehold_gctune_headroom_bytes":           float64(s.Headroom),
		"freehold_gctune_limit_bytes":              float64(s.Limit),
		"freehold_gctune_room_bytes":               float64(s.Room),
		"freehold_gctune_squeezed_bytes":           float64(s.Squeezed),
		"freehold_gctune_runtime_bytes":            float64(s.Runtime),
		"freehold_gctune_live_bytes":               float64(s.Live),
		"freehold_gctune_gc_cpu_ratio":             s.GCShare,
		"freehold_gctune_gogc_percent":             float64(s.GOGC),
		`freehold_gctune_state{state="ample"}`:     1,
		`freehold_gctune_state{state="thrashing"}`: 0,
		"freehold_gctune_looks_total":              1,
		"freehold_gctune_errors_total":             0,
		"freehold_gctune_thrashing_looks_total":    0,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %g (%v), want %g", name, got, ok, want)
		}
	}
	if problems, err := testutil.CollectAndLint(NewCollector()); err != nil || len(problems) > 0 {
		t.Errorf("%v, error %v", problems, err)
	}
}
