// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// Whatever the stacks are, nothing is lost and nothing added, and no time of the collector stays
// where it was.
func TestAttributedTotal(t *testing.T) {
	leaves := []string{
		"main.work", "runtime.mallocgc", "runtime.memclrNoHeapPointers;runtime.mallocgcLarge;runtime.makeslice", "runtime.gcAssistAlloc;runtime.mallocgc",
		"runtime.(*sweepLocked).sweep;runtime.mallocgc", "runtime.scanobject;runtime.gcBgMarkWorker", "runtime.sweepone;runtime.bgsweep", "runtime.gcWriteBarrier",
		"runtime.mProf_Malloc;runtime.mallocgc", "runtime.gcStart;runtime.mallocgc",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		f := newFake()
		for range 1 + r.IntN(20) {
			f.Ran(fmt.Sprintf("%s;example.com/shop.f%d;main.main", leaves[r.IntN(len(leaves))], r.IntN(5)), r.Int64N(1000))
		}
		e := &evidence.Evidence{CPU: f.CPU}
		if r.IntN(4) > 0 {
			for range r.IntN(10) {
				f.Made(fmt.Sprintf("example.com/shop.f%d;main.main", r.IntN(5)), 1+r.Int64N(5000), r.Int64N(1e6), r.Int64N(1e5))
			}
			e = f.evidence()
		}
		if r.IntN(2) > 0 {
			with(e, map[string]float64{evidence.MetricScanHeap: float64(r.IntN(1e8)), evidence.MetricScanStack: float64(r.IntN(1e6)), evidence.MetricLiveHeap: 1e8})
		}
		if _, err := json.Marshal(Diagnose(t.Context(), e)); err != nil {
			t.Fatalf("round %d: the report is no JSON: %v", round, err)
		}
		p := Attributed(e)
		if got, want := fmt.Sprint(profiletest.Sums(p)), fmt.Sprint(profiletest.Sums(f.CPU)); got != want {
			t.Fatalf("round %d: totals %s, want %s", round, got, want)
		}
		if err := p.CheckValid(); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if _, err := profile.ParseData(profiletest.Written(t, p, true)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

func TestAttributed(t *testing.T) {
	f := newFake()
	f.Ran("main.work;main.main", 500)
	f.Ran("runtime.mallocgcSmallScanNoHeader;runtime.newobject;main.tree;main.main", 100)
	f.Ran("runtime.mallocgcSmallScanNoHeader;runtime.newobject;main.cache;main.main", 0)
	f.Collector(300, 100)
	f.Made("main.tree;main.main", 64, 1_000_000, 0)
	f.Made("main.cache;main.main", 64, 0, 1_000_000)
	p := Attributed(with(f.evidence(), map[string]float64{evidence.MetricScanHeap: 64e6, evidence.MetricScanStack: 16e6, evidence.MetricScanGlobals: 0, evidence.MetricLiveHeap: 64e6}))
	got := map[string]int64{}
	for _, s := range p.Sample {
		name := ""
		for _, l := range s.Location[:min(2, len(s.Location))] {
			name += l.Line[0].Function.Name + ";"
		}
		got[strings.TrimSuffix(name, ";")+" "+s.Label[CostLabel][0]] += s.Value[0]
	}
	// Half of marking is charged by bytes allocated: the tree's, all of them. The other half is
	// charged by bytes scanned: four fifths are the cache's.
	for name, want := range map[string]int64{
		"main.work;main.main program":                                    500,
		"runtime.mallocgcSmallScanNoHeader;runtime.newobject allocation": 100,
		ChargedMark + ";main.tree mark":                                  150,
		ChargedMark + ";main.cache mark":                                 120,
		ChargedRoots + " mark":                                           30,
		ChargedSweep + ";main.tree sweep":                                100,
	} {
		if math.Abs(float64(got[name]-want)) > 1 {
			t.Errorf("%s: %d samples, want %d", name, got[name], want)
		}
	}
	if Attributed(&evidence.Evidence{}) != nil {
		t.Error("a profile without a CPU profile")
	}
}

func TestSplit(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		causes := make([]cause, 1+r.IntN(50))
		for i := range causes {
			causes[i].weight = r.ExpFloat64() * math.Pow(10, float64(r.IntN(20)-10))
		}
		total := r.Int64N(math.MaxInt64 >> r.IntN(63))
		sum := int64(0)
		for _, p := range split(total, causes) {
			if p < 0 {
				t.Fatalf("a part of %d", p)
			}
			sum += p
		}
		if sum != total {
			t.Fatalf("%d split into parts of %d", total, sum)
		}
	}
}
