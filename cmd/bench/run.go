// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"runtime"
	"time"
)

// A Spec is the task of a child. The parent passes it as JSON.
type Spec struct {
	Workload   string        `json:"workload"`
	N          int           `json:"n"`
	Contestant string        `json:"contestant"`
	MinTime    time.Duration `json:"min_time"`
	// Input is the file to work on, where the workload has inputs.
	Input Input `json:"input,omitzero"`
	// Flags are the values of flags that belong to workloads.
	Flags map[string]string `json:"flags,omitempty"`
	// Quick is set in the quick selection: a workload that is its own clock does less.
	Quick bool `json:"quick,omitempty"`
	// Profile is a file to which the child writes a CPU profile of the measured rounds, or empty.
	Profile string `json:"profile,omitempty"`
}

// A Series is a curve that a child recorded: values at several times.
type Series struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit"`
	Seconds []float64 `json:"seconds"`
	Values  []float64 `json:"values"`
}

// A Sample is the report of a child: one pass of one contestant.
type Sample struct {
	NsOp      float64            `json:"ns_op"`      // CPU nanoseconds an operation, user and system
	WallNsOp  float64            `json:"wall_ns_op"` // elapsed nanoseconds an operation
	AllocsOp  float64            `json:"allocs_op"`  // objects allocated on the Go heap an operation
	GCCycles  float64            `json:"gc_cycles"`  // in all measured rounds
	GCCPU     float64            `json:"gc_cpu_s"`   // in all measured rounds, as the runtime accounts it
	LiveHeap  float64            `json:"live_heap_bytes"`
	PeakRSS   float64            `json:"peak_rss_bytes"`
	Rounds    int                `json:"rounds"`
	Ops       float64            `json:"ops"`
	CPU       float64            `json:"cpu_s"`
	Checksums []uint64           `json:"checksums"`
	Extra     map[string]float64 `json:"extra,omitempty"`
	Series    []Series           `json:"series,omitempty"`
}

// A Run is one contestant's run in its child process. It is used by one goroutine.
type Run struct {
	Spec
	// Procs is GOMAXPROCS of the child.
	Procs int
	// Done is the number of operations in a round, if the size does not determine it. The round
	// sets it for its Measure.
	Done int

	w        *Workload
	sample   Sample
	atPeak   func()
	cleanups []func()
	fatal    error
}

// Peak is called by a round when most of its memory is in use. Once, after all measuring, the
// harness collects garbage there and takes the remaining heap as the live heap.
func (r *Run) Peak() {
	if r.atPeak != nil {
		r.atPeak()
	}
}

// Cleanup registers f to run after the last round, the last one first.
func (r *Run) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// Report adds a named value to the row. Values of several passes are reported as their median.
func (r *Run) Report(name string, value float64) {
	if r.sample.Extra == nil {
		r.sample.Extra = map[string]float64{}
	}
	r.sample.Extra[name] = value
}

// Plot adds a curve to the row. The curve of the first pass is shown.
func (r *Run) Plot(s Series) { r.sample.Series = append(r.sample.Series, s) }

// Fail makes the run fail with err, after the round in which it is called.
func (r *Run) Fail(err error) {
	if r.fatal == nil {
		r.fatal = err
	}
}

// maxChecksums is how many rounds the parent compares.
const maxChecksums = 64

// Checksum notes the checksum of the next round.
func (r *Run) Checksum(sum uint64) {
	if len(r.sample.Checksums) < maxChecksums {
		r.sample.Checksums = append(r.sample.Checksums, sum)
	}
}

// Err is the error that made the run fail, or nil.
func (r *Run) Err() error { return r.fatal }

// Sample is the measurement so far.
func (r *Run) Sample() Sample { return r.sample }

// Rounds is the usual measurement: one round to warm up, then rounds until the time is up, two at
// least. The time of an operation is the mean over the rounds. So a collection counts that one
// round causes and that runs in a later one.
func (r *Run) Rounds(c *Contestant) error {
	round := c.Prepare(r)
	r.Checksum(round())
	if r.fatal != nil {
		return r.fatal
	}
	runtime.GC()
	m, err := r.Start()
	if err != nil {
		return err
	}
	rounds := 0
	for m.elapsed() < r.MinTime || rounds < 2 {
		r.Checksum(round())
		rounds++
	}
	m.Stop(rounds, float64(rounds)*float64(r.w.Ops(r.N)))
	if r.fatal != nil {
		return r.fatal
	}
	r.LiveHeap(round)
	return nil
}

// LiveHeap runs one more round and notes the live heap after a collection at its Peak. A round that
// never calls Peak must still hold its memory at its end.
func (r *Run) LiveHeap(round func() uint64) { r.sample.LiveHeap = liveHeapAtPeak(r, round) }

// LastLiveHeap notes as the live heap the bytes that the last collection marked. It is for a task
// that cannot do one more round.
func (r *Run) LastLiveHeap() { r.sample.LiveHeap = readHeapLive() }

// liveHeapAtPeak runs one more round, which collects garbage where it calls Peak. A round that
// never calls Peak must still hold its memory at its end.
func liveHeapAtPeak(r *Run, round func() uint64) float64 {
	live := -1.0
	r.atPeak = func() {
		runtime.GC()
		live = max(live, readHeapLive())
	}
	round()
	r.atPeak = nil
	if live < 0 {
		runtime.GC()
		live = readHeapLive()
		runtime.KeepAlive(round) // and with it the memory that the rounds share
	}
	return live
}

// Run does the task of a child in this process.
func (s *Set) Run(spec Spec) (Sample, error) {
	w := s.find(spec.Workload)
	if w == nil {
		return Sample{}, fmt.Errorf("bench: there is no workload %q", spec.Workload)
	}
	c := w.contestant(spec.Contestant)
	if c == nil {
		return Sample{}, fmt.Errorf("bench: workload %q has no contestant %q", spec.Workload, spec.Contestant)
	}
	r := &Run{Spec: spec, Procs: runtime.GOMAXPROCS(0), w: w}
	measure := w.Measure
	if measure == nil {
		measure = (*Run).Rounds
	}
	err := measure(r, c)
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	if err == nil {
		err = r.fatal
	}
	return r.sample, err
}
