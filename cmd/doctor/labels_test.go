// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"maps"
	"math"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// shop is a service of two endpoints. One allocates three times as many bytes as the other, and a
// loop without a label allocates none. Its workers take 200 samples of 1000 for marking and 80 for
// sweeping.
func shop() *evidence.Evidence {
	f := newFake()
	labels := func(endpoint string) {
		f.CPU.Sample[len(f.CPU.Sample)-1].Label = map[string][]string{"endpoint": {endpoint}}
	}
	f.Ran("main.use;main.buy;main.main", 300)
	labels("/buy")
	f.Ran("main.use;main.list;main.main", 150)
	labels("/list")
	f.Ran(newSmall+"main.basket;main.buy;main.main", 60)
	labels("/buy")
	f.Ran("runtime.gcAssistAlloc;runtime.mallocgc;runtime.newobject;main.basket;main.buy;main.main", 20)
	labels("/buy")
	f.Ran(newSmall+"main.page;main.list;main.main", 30)
	labels("/list")
	f.Ran("main.tick;main.main", 160)
	f.Collector(200, 80)
	f.Made("main.basket;main.buy;main.main", 64, 3_000_000, 1_000_000)
	f.Made("main.page;main.list;main.main", 64, 1_000_000, 0)
	return with(f.evidence(), map[string]float64{evidence.MetricScanHeap: 64e6, evidence.MetricScanStack: 16e6, evidence.MetricScanGlobals: 0, evidence.MetricLiveHeap: 64e6})
}

// Work on goroutines goes to their labels. Of the workers' marking, half is divided by the bytes
// allocated (three quarters are /buy's) and half by the bytes scanned (four fifths are /buy's, the
// rest is that of stacks). Sweeping is divided by the bytes allocated.
func TestLabelSplit(t *testing.T) {
	e := shop()
	if r := Diagnose(t.Context(), e); len(r.LabelKeys) != 1 || r.LabelKeys[0].Key != "endpoint" || r.Labels != nil {
		t.Errorf("without a choice: %+v, %+v", r.LabelKeys, r.Labels)
	}
	if err := e.ChooseLabel("endpoint"); err != nil {
		t.Fatal(err)
	}
	r := Diagnose(t.Context(), e)
	l := r.Labels
	if l == nil || len(l.Costs) != 2 || l.Costs[0].Value != "/buy" || l.Costs[1].Value != "/list" {
		t.Fatalf("the split is %+v", l)
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"/buy CPU": {l.Costs[0].CPUShare, 0.38}, "/buy allocation": {l.Costs[0].AllocShare, 0.06}, "/buy assists": {l.Costs[0].GCShare, 0.02},
		"/buy charged": {l.Costs[0].ChargedShare, 0.1*0.75 + 0.1*0.8 + 0.08*0.75}, "/list CPU": {l.Costs[1].CPUShare, 0.18},
		"/list charged": {l.Costs[1].ChargedShare, 0.1*0.25 + 0.08*0.25}, "no label": {l.Unlabelled.CPUShare, 0.16}, "no label, charged": {l.Unlabelled.ChargedShare, 0},
		"background": {l.BackgroundShare, 0.28}, "not charged": {l.NotChargedShare, 0.1 * 0.2}, "/list error": {l.Costs[1].Error, nineInTen * math.Sqrt(180) / 1000},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

// Under one value of a label stand the findings whose lines allocate under it, and the figures of
// the whole program stay.
func TestLabelRestricts(t *testing.T) {
	all := Diagnose(t.Context(), shop())
	for value, want := range map[string]map[string]float64{"/list": {"main.page": 1}, "/buy": {}} {
		e := shop()
		if err := e.ChooseLabel("endpoint=" + value); err != nil {
			t.Fatal(err)
		}
		r := Diagnose(t.Context(), e)
		parts := map[string]float64{}
		for _, f := range r.Findings {
			for _, s := range f.sites {
				parts[s.at.Func] = f.LabelPart
			}
		}
		if !maps.Equal(parts, want) {
			t.Errorf("%s: the lines and their parts are %v, want %v", value, parts, want)
		}
		if all.WinnableShare != r.WinnableShare || all.Verdict != r.Verdict || !r.Labels.Restricted || r.Labels.Value != value {
			t.Errorf("%s: the figures of the whole program changed: %q, %q; %+v", value, all.Verdict, r.Verdict, r.Labels)
		}
	}
}

// Whatever the labels and stacks are, the rows of the split add up to the whole.
func TestLabelsAddUp(t *testing.T) {
	e := shop()
	for _, noHeap := range []bool{false, true} {
		if noHeap {
			e.Heap = [2]*profile.Profile{}
		}
		if err := e.ChooseLabel("endpoint"); err != nil {
			t.Fatal(err)
		}
		l := Diagnose(t.Context(), e).Labels
		cpu, charged := l.Unlabelled.CPUShare+l.BackgroundShare, l.Unlabelled.ChargedShare+l.NotChargedShare
		for _, c := range l.Costs {
			cpu, charged = cpu+c.CPUShare, charged+c.ChargedShare
		}
		if math.Abs(cpu-1) > 1e-9 || math.Abs(charged-l.BackgroundShare) > 1e-9 {
			t.Errorf("without a heap profile %v: %v of the CPU, %v of %v charged", noHeap, cpu, charged, l.BackgroundShare)
		}
	}
}
