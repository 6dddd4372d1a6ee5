package bench

import (
	"math"
	"strings"
	"testing"
)

// barRow is a measured row of a registered contestant.
func barRow(workload string, n int, input, contestant string, ns float64) *Row {
	w := find(workload)
	return &Row{Workload: workload, N: n, Input: input, Contestant: contestant, NsOp: ns, Passes: 1, w: w, c: w.contestant(contestant)}
}

// reached finds the result of the bar whose name begins so.
func reached(t *testing.T, rows []*Row, name string) BarResult {
	t.Helper()
	for _, b := range judge(rows) {
		if strings.HasPrefix(b.Name, name) {
			return b
		}
	}
	t.Fatalf("no bar %q was judged", name)
	return BarResult{}
}

func TestArenaBars(t *testing.T) {
	heap := barRow("objects", 1_000_000, "", heapName, 32)
	of := barRow("objects", 1_000_000, "", arenaOf, 3.9)
	slab := barRow("objects", 1_000_000, "", slabName, 2)
	name := "objects, 1M reused, arena Of by 1/8"
	if b := reached(t, []*Row{heap, of, slab}, name); b.Value != 3.9/4 || !b.Met {
		t.Errorf("an eighth of the heap is more: %+v", b)
	}
	slab.NsOp = 10
	if b := reached(t, []*Row{heap, of, slab}, name); b.Value != 3.9/13 {
		t.Errorf("1.3 × the slab is more: %+v", b)
	}
	if b := reached(t, []*Row{heap, of, slab}, "objects, 1M reused, arena Of by the slab"); b.Value != 0.39 || !b.Met {
		t.Errorf("by the slab: %+v", b)
	}
}

func TestWorstOfAllSizes(t *testing.T) {
	var rows []*Row
	for n, ns := range map[int]float64{100: 5, 1000: 30, 10_000: 7} {
		rows = append(rows, barRow("objects/fresh", n, "", heapName, 20), barRow("objects/fresh", n, "", arenaOf, ns))
	}
	if b := reached(t, rows, "objects, made and freed"); b.Value != 1.5 || b.Met || !strings.HasPrefix(b.Detail, "1k, ") {
		t.Errorf("%+v", b)
	}
}

func TestDocumentBars(t *testing.T) {
	heap := barRow("json", 7, "twitter_status", heapName, 100)
	of := barRow("json", 7, "twitter_status", arenaOf, 61)
	other := barRow("json", 7, "canada_geometry", arenaOf, 1)
	heap.Ops, heap.GCCycles, of.Ops, of.GCCycles = 100, 10, 200, 4
	rows := []*Row{other, heap, of}
	if b := reached(t, rows, "json, twitter_status, arena Of"); b.Value != 0.61 || b.Met {
		t.Errorf("%+v", b)
	}
	if b := reached(t, rows, "json, twitter_status, GC cycles"); math.Abs(b.Value-0.2) > 1e-12 {
		t.Errorf("%+v", b)
	}
	for _, b := range judge(rows) {
		if strings.Contains(b.Name, "canada") {
			t.Errorf("judged without the Go heap's row: %+v", b)
		}
	}
}

func TestFrameBars(t *testing.T) {
	heap, of := barRow("frame", 100_000, "", heapName, 9), barRow("frame", 100_000, "", arenaOf, 1)
	heap.Extra = map[string]float64{"frame_p99.9_ns": 20e6, "frame_gc_cycles": 30}
	of.Extra = map[string]float64{"frame_p99.9_ns": 5e6, "frame_gc_cycles": 1}
	rows := []*Row{heap, of}
	if b := reached(t, rows, "frame, p99.9"); b.Value != 0.25 || !b.Met || !strings.Contains(b.Detail, "5000 µs") {
		t.Errorf("%+v", b)
	}
	if b := reached(t, rows, "frame, collector cycles"); b.Value != 1 || b.Met {
		t.Errorf("%+v", b)
	}
}
