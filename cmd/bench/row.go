// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"math"

	"github.com/freehold-go/freehold/cmd/terminal"
)

// A Row is the result of one contestant at one size: the medians over all passes. Its JSON form is
// the output of -json, one object a line. A ratio is null where its baseline was not measured.
type Row struct {
	Workload   string   `json:"workload"`
	N          int      `json:"n"`
	Input      string   `json:"input,omitempty"` // the file, where the workload has inputs; n is its size
	Contestant string   `json:"contestant"`
	NsOp       float64  `json:"ns_op"`           // CPU nanoseconds an operation, user and system
	Spread     float64  `json:"spread"`          // largest less smallest pass, as a part of the median
	Ratio      *float64 `json:"ratio"`           // to the Go heap
	BoundRatio *float64 `json:"bound_ratio"`     // to the physical bound
	AllocsOp   float64  `json:"allocs_op"`       // Go heap objects an operation
	GCCycles   float64  `json:"gc_cycles"`       // in the measured rounds
	GCCPU      float64  `json:"gc_cpu_s"`        // in the measured rounds
	LiveHeap   float64  `json:"live_heap_bytes"` // the live heap after a collection when most memory is in use
	PeakRSS    float64  `json:"peak_rss_bytes"`  // of the child

	Op       string             `json:"op"`
	WallNsOp float64            `json:"wall_ns_op"`
	CPU      float64            `json:"cpu_s"`
	Ops      float64            `json:"ops"`
	Passes   int                `json:"passes"`
	Quick    bool               `json:"quick"`
	NsOps    []float64          `json:"ns_ops,omitempty"` // of every pass, in order
	Extra    map[string]float64 `json:"extra,omitempty"`
	Error    string             `json:"error,omitempty"`   // a child failed, or its checksum disagrees
	Skipped  string             `json:"skipped,omitempty"` // why nothing was measured

	series []Series
	w      *Workload
	c      *Contestant
}

// rows turns the jobs' samples into rows: it checks their checksums, then computes the ratios.
func (p *plan) rows() []*Row {
	checkSums(p.jobs)
	rows := make([]*Row, len(p.jobs))
	for i, j := range p.jobs {
		rows[i] = j.row()
	}
	for _, r := range rows {
		r.Ratio = ratioTo(r, findRow(rows, r, r.w.Heap))
		r.BoundRatio = ratioTo(r, findRow(rows, r, r.w.Bound))
		adjust(rows, r)
	}
	return rows
}

// adjust corrects r by the baseline of its workload. It removes the ratios of the baseline itself:
// it does nothing, so they mean nothing.
func adjust(rows []*Row, r *Row) {
	if r.c.Baseline {
		r.Ratio, r.BoundRatio = nil, nil
		return
	}
	if r.w.Adjust == nil || r.Passes == 0 {
		return
	}
	for _, base := range rows {
		if base.samePlace(r) && base.c.Baseline && base.Passes > 0 {
			r.w.Adjust(r, base)
		}
	}
}

func (j *job) row() *Row {
	r := &Row{
		Workload: j.w.Name, N: j.n, Input: j.input.Name, Contestant: j.c.Name, Op: j.w.Op, Passes: len(j.samples), Quick: j.quick,
		Error: j.failure, Skipped: j.skipped, w: j.w, c: j.c,
	}
	if len(j.samples) == 0 {
		return r
	}
	of := func(value func(*Sample) float64) float64 { return terminal.Median(j.values(value)) }
	r.NsOps = j.values(func(s *Sample) float64 { return s.NsOp })
	r.NsOp, r.Spread = terminal.Median(r.NsOps), spread(r.NsOps)
	r.WallNsOp = of(func(s *Sample) float64 { return s.WallNsOp })
	r.AllocsOp = of(func(s *Sample) float64 { return s.AllocsOp })
	r.GCCycles = of(func(s *Sample) float64 { return s.GCCycles })
	r.GCCPU = of(func(s *Sample) float64 { return s.GCCPU })
	r.LiveHeap = of(func(s *Sample) float64 { return s.LiveHeap })
	r.PeakRSS = of(func(s *Sample) float64 { return s.PeakRSS })
	r.CPU = of(func(s *Sample) float64 { return s.CPU })
	r.Ops = of(func(s *Sample) float64 { return s.Ops })
	for name := range j.samples[0].Extra {
		if r.Extra == nil {
			r.Extra = map[string]float64{}
		}
		r.Extra[name] = of(func(s *Sample) float64 { return s.Extra[name] })
	}
	r.series = j.samples[0].Series
	return r
}

func (j *job) values(value func(*Sample) float64) []float64 {
	vs := make([]float64, len(j.samples))
	for i := range j.samples {
		vs[i] = value(&j.samples[i])
	}
	return vs
}

// spread is the distance between the largest and the smallest value as a part of the median.
func spread(values []float64) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if m := terminal.Median(values); m > 0 {
		return (high - low) / m
	}
	return 0
}

// samePlace says whether two rows are compared with each other.
func (r *Row) samePlace(s *Row) bool {
	return r.Workload == s.Workload && r.N == s.N && r.Input == s.Input
}

// findRow finds the row of a contestant at the place of another row.
func findRow(rows []*Row, at *Row, contestant string) *Row {
	for _, r := range rows {
		if r.samePlace(at) && r.Contestant == contestant {
			return r
		}
	}
	return nil
}

func ratioTo(r, base *Row) *float64 {
	if base == nil || r.Passes == 0 || base.Passes == 0 || base.NsOp <= 0 {
		return nil
	}
	ratio := r.NsOp / base.NsOp
	return &ratio
}

// checkSums compares the checksums of contestants of the same workload and size, round by round as
// far as both went. The first job with samples is the reference; it is the Go heap if that was run.
func checkSums(jobs []*job) {
	type key struct {
		w *Workload
		Place
	}
	reference := map[key]*job{}
	for _, j := range jobs {
		if len(j.samples) == 0 || j.c.Baseline {
			continue
		}
		k := key{j.w, Place{j.n, j.input}}
		if reference[k] == nil {
			reference[k] = j
		}
		want := longestSums(reference[k])
		for _, s := range j.samples {
			if round := firstDifference(s.Checksums, want); round >= 0 && j.failure == "" {
				j.failure = fmt.Sprintf("checksum of round %d is %x, but %q has %x: the results do not agree",
					round, s.Checksums[round], reference[k].c.Name, want[round])
			}
		}
	}
}

// longestSums is the checksum list of the sample of j with the most rounds.
func longestSums(j *job) []uint64 {
	var longest []uint64
	for _, s := range j.samples {
		if len(s.Checksums) > len(longest) {
			longest = s.Checksums
		}
	}
	return longest
}

// firstDifference is the index of the first round on which a and b disagree, or -1.
func firstDifference(a, b []uint64) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
