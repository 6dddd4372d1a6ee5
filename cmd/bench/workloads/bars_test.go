// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"math"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/bench"
)

// barRow is a measured row of a contestant.
func barRow(t *testing.T, name string, n int, input, contestantName string, ns float64) *bench.Row {
	t.Helper()
	if contestant(workload(t, name), contestantName) == nil {
		t.Fatalf("%s has no contestant %s", name, contestantName)
	}
	return &bench.Row{Workload: name, N: n, Input: input, Contestant: contestantName, NsOp: ns, Passes: 1}
}

// reached finds the result of the bar whose name begins so.
func reached(t *testing.T, rows []*bench.Row, name string) bench.BarResult {
	t.Helper()
	for _, b := range all.Judge(rows) {
		if strings.HasPrefix(b.Name, name) {
			return b
		}
	}
	t.Fatalf("no bar %q was judged", name)
	return bench.BarResult{}
}

func TestArenaBars(t *testing.T) {
	heap := barRow(t, "objects", 1_000_000, "", heapName, 32)
	of := barRow(t, "objects", 1_000_000, "", arenaOf, 3.9)
	slab := barRow(t, "objects", 1_000_000, "", slabName, 2)
	name := "objects, 1M reused, arena Of by 1/8"
	if b := reached(t, []*bench.Row{heap, of, slab}, name); b.Value != 3.9/4 || !b.Met {
		t.Errorf("an eighth of the heap is more: %+v", b)
	}
	slab.NsOp = 10
	if b := reached(t, []*bench.Row{heap, of, slab}, name); b.Value != 3.9/13 {
		t.Errorf("1.3 × the slab is more: %+v", b)
	}
	if b := reached(t, []*bench.Row{heap, of, slab}, "objects, 1M reused, arena Of by the slab"); b.Value != 0.39 || !b.Met {
		t.Errorf("by the slab: %+v", b)
	}
}

func TestWorstOfAllSizes(t *testing.T) {
	var rows []*bench.Row
	for n, ns := range map[int]float64{100: 5, 1000: 30, 10_000: 7} {
		rows = append(rows, barRow(t, "objects/fresh", n, "", heapName, 20), barRow(t, "objects/fresh", n, "", arenaOf, ns))
	}
	if b := reached(t, rows, "objects, made and freed"); b.Value != 1.5 || b.Met || !strings.HasPrefix(b.Detail, "1k, ") {
		t.Errorf("%+v", b)
	}
}

func TestDocumentBars(t *testing.T) {
	heap := barRow(t, "json", 7, "twitter_status", heapName, 100)
	of := barRow(t, "json", 7, "twitter_status", arenaOf, 61)
	other := barRow(t, "json", 7, "canada_geometry", arenaOf, 1)
	heap.Ops, heap.GCCycles, of.Ops, of.GCCycles = 100, 10, 200, 4
	rows := []*bench.Row{other, heap, of}
	if b := reached(t, rows, "json, twitter_status, arena Of"); b.Value != 0.61 || b.Met {
		t.Errorf("%+v", b)
	}
	if b := reached(t, rows, "json, twitter_status, GC cycles"); math.Abs(b.Value-0.2) > 1e-12 {
		t.Errorf("%+v", b)
	}
	for _, b := range all.Judge(rows) {
		if strings.Contains(b.Name, "canada") {
			t.Errorf("judged without the Go heap's row: %+v", b)
		}
	}
}

func TestFrameBars(t *testing.T) {
	heap, of := barRow(t, "frame", 100_000, "", heapName, 9), barRow(t, "frame", 100_000, "", arenaOf, 1)
	heap.Extra = map[string]float64{"frame_p99.9_ns": 20e6, "frame_gc_cycles": 30}
	of.Extra = map[string]float64{"frame_p99.9_ns": 5e6, "frame_gc_cycles": 1}
	rows := []*bench.Row{heap, of}
	if b := reached(t, rows, "frame, p99.9"); b.Value != 0.25 || !b.Met || !strings.Contains(b.Detail, "5000 µs") {
		t.Errorf("%+v", b)
	}
	if b := reached(t, rows, "frame, collector cycles"); b.Value != 1 || b.Met {
		t.Errorf("%+v", b)
	}
}

// TestListBar has a limit of its own where goroutines cannot be pinned.
func TestListBar(t *testing.T) {
	rows := []*bench.Row{barRow(t, "list", 0, "", heapName, 50.25), barRow(t, "list", 0, "", "offheap New", 12.125)}
	if b := reached(t, rows, "list, offheap New by the Go heap"); b.Value != 12.125/50.25 || b.Limit != listBar || !b.Met {
		t.Errorf("%+v", b)
	}
}
