// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// TestProfilerAlone reads parts of a program that spends nine tenths of its time in the memory
// profiler: without metrics. The records that are freed with sampled objects are no finalizers, and
// a rate that no file gives is not made up.
func TestProfilerAlone(t *testing.T) {
	for _, c := range []struct {
		files  []string
		known  bool
		detail string
	}{
		{[]string{"cpu.pb.gz"}, false, "The memory profiler takes 91 % of CPU."},
		{[]string{"cpu.pb.gz", "heap1.pb.gz"}, true, "it samples one allocation per 1 B on average."},
	} {
		r := Diagnose(t.Context(), keptEvidence(t, profilerID, c.files...))
		f := r.Findings[0]
		if f.ID != profilerID || !strings.Contains(f.Detail, c.detail) || !strings.Contains(f.Remedy.Snippet, "+     runtime.MemProfileRate = 524288 ") {
			t.Errorf("%q: %s, %s\n%s", c.files, f.ID, f.Detail, f.Remedy.Snippet)
		}
		if _, ok := f.Evidence["mem_profile_rate_bytes"]; ok != c.known || strings.Contains(f.Remedy.Snippet, "-     ") != c.known {
			t.Errorf("%q: evidence %v and\n%s", c.files, f.Evidence, f.Remedy.Snippet)
		}
		for _, g := range r.Findings[1:] {
			if g.ID == "finalizers" {
				t.Errorf("%q: %s", c.files, g.Detail)
			}
		}
		if r.WinnableShare > 0.97 {
			t.Errorf("%q: %s", c.files, r.Verdict)
		}
	}
}

// TestProfilerOff wants no smaller rate where the memory profiler is off.
func TestProfilerOff(t *testing.T) {
	f := newFake()
	f.Ran("runtime/pprof.(*profileBuilder).flush;runtime/pprof.profileWriter", 50)
	f.Ran("main.work;main.main", 50)
	for _, found := range Diagnose(t.Context(), with(f.evidence(), map[string]float64{evidence.MetricMemProfileRate: 0})).Findings {
		if found.ID == profilerID {
			t.Errorf("%s\n%s", found.Detail, found.Remedy.Snippet)
		}
	}
}

// TestEmptiedPools: the line on emptied pools offers pool.Pool only for pools of the user's code.
func TestEmptiedPools(t *testing.T) {
	const offer = "a pool.Pool in their place is not emptied"
	for _, c := range []struct {
		get  string // Which calls Get of the pool.
		want bool
	}{{"main.borrow;main.main", true}, {"fmt.newPrinter;fmt.Sprint;main.main", false}} {
		f := newFake()
		made := "main.newBuffer;sync.(*Pool).Get;" + c.get
		f.Ran("main.use;main.main", 400)
		f.Ran("runtime.memclrNoHeapPointers;runtime.mallocgc;runtime.newobject;"+made, 200)
		f.Collector(300, 20)
		f.Made(made, 2048, 1_000_000, 3)
		r := Diagnose(t.Context(), with(f.evidence(), map[string]float64{
			evidence.MetricGOGC: 20, evidence.MetricLiveHeap: 100e6, evidence.MetricHeapGoal: 120e6, evidence.MetricCyclesTotal: 100,
		}))
		found := findingOf(r, "gc-too-often")
		if found == nil {
			t.Fatalf("gc-too-often is not found: %s", list(r))
		}
		if !strings.Contains(found.Detail, "empties the program's sync.Pools") || strings.Contains(found.Detail, offer) != c.want {
			t.Errorf("Get in %s: %s", c.get, found.Detail)
		}
	}
}
