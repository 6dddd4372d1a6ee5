// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// The window is the time between the heap profiles that were read.
func TestWindowOfProfiles(t *testing.T) {
	f := newFake()
	late, early := f.Heap.Copy(), f.Heap.Copy()
	late.TimeNanos, early.TimeNanos = 20e9, 5e9
	var e evidence.Evidence
	for _, p := range []*profile.Profile{late, early} {
		if err := e.Read("file", bytes.NewReader(profiletest.Written(t, p, true))); err != nil {
			t.Fatal(err)
		}
	}
	if w := newAccount(&e).window; w != 15*time.Second {
		t.Errorf("the window is %v, want 15 s", w)
	}
}

// Metrics of several sources make one account.
func TestAccountOfMetrics(t *testing.T) {
	var e evidence.Evidence
	for _, text := range profiletest.MetricsTexts {
		if err := e.Read("file", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	a := newAccount(&e)
	for name, want := range map[string]float64{
		evidence.MetricLiveHeap: 77, evidence.MetricHeapGoal: 4096, evidence.MetricCyclesTotal: 12, evidence.MetricGCFraction: 0.25, evidence.MetricStackBytes: 65536, evidence.MetricCyclesForced: 5, evidence.MetricMemProfileRate: 524288,
	} {
		if got, ok := a.metric(name); !ok || got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got, _ := a.counter(evidence.MetricAllocBytes); got != 2000 {
		t.Errorf("allocated %v in the window, want 2000", got)
	}
}

// A heap profile in text form makes the sites that one in the other form makes.
func TestAccountOfHeapText(t *testing.T) {
	var e evidence.Evidence
	if err := e.Read("heap", strings.NewReader(profiletest.HeapText)); err != nil {
		t.Fatal(err)
	}
	a := newAccount(&e)
	if len(a.sites) != 1 {
		t.Fatalf("%d sites, want 1", len(a.sites))
	}
	s := a.sites[0]
	if s.at.Func != "bytes.makeSlice" || s.owner.Func != "main.(*page[...]).read" || s.owner.Line != 10 {
		t.Errorf("site %+v, owner %+v", siteAt(s.at), siteAt(s.owner))
	}
	// 1 MiB at one sample in 512 KiB: of such blocks 1-exp(-2) are sampled.
	if want := 3 * float64(1<<20) / (1 - math.Exp(-2)); math.Abs(s.allocBytes-want) > 2 || s.sizes[1<<20] != 3 {
		t.Errorf("%.0f bytes allocated, want %.0f; sizes %v", s.allocBytes, want, s.sizes)
	}
	if rate, _ := a.metric(evidence.MetricMemProfileRate); rate != 512<<10 {
		t.Errorf("rate %v", rate)
	}
}

// A trace has shares of its own; with the CPU time of the process there are some to judge by.
func TestVerdictOfTrace(t *testing.T) {
	var e evidence.Evidence
	if err := e.Read("log", strings.NewReader(profiletest.TraceText)); err != nil {
		t.Fatal(err)
	}
	r := Diagnose(t.Context(), &e)
	if r.Confidence != None || !strings.Contains(r.Verdict, "8.0 %") {
		t.Errorf("confidence %s, verdict %q; want none, and the trace's 8.0 %%", r.Confidence, r.Verdict)
	}
	// With the time of the process the times of the trace have something to be a share of: 31.6 ms
	// of 316 ms.
	e.Metrics[1].Set(evidence.MetricProcessCPU, 0.31586)
	if r := Diagnose(t.Context(), &e); r.GCShare < 0.0995 || r.GCShare > 0.1005 {
		t.Errorf("the collector's share is %.4f, want 0.100", r.GCShare)
	}
}

// Whatever is read, diagnosing does not panic, and the attributed profile keeps its total.
func FuzzDiagnose(f *testing.F) {
	for _, pair := range profiletest.Inputs(f) {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var e evidence.Evidence
		for _, data := range [][]byte{one, two} {
			_ = e.ReadBytes("file", data) // most of it is nothing that can be read
		}
		r := Diagnose(t.Context(), &e)
		if r.Verdict == "" {
			t.Error("no verdict")
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("the report is no JSON: %v", err)
		}
		for _, share := range []float64{r.GCShare, r.AllocShare, r.WinnableShare} {
			if !(share >= 0 && share <= 1+1e-9) {
				t.Errorf("shares %v, %v, %v", r.GCShare, r.AllocShare, r.WinnableShare)
			}
		}
		if e.CPU == nil {
			return
		}
		want, got := profiletest.Sums(e.CPU), profiletest.Sums(Attributed(&e))
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("totals %v, want %v", got, want)
			}
		}
	})
}
