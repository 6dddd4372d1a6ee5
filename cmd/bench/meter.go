// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"time"

	"github.com/freehold-go/freehold/cmd/bench/usage"
)

const (
	metricGCCycles = "/gc/cycles/total:gc-cycles"
	metricGCCPU    = "/cpu/classes/gc/total:cpu-seconds"
	metricLiveHeap = "/gc/heap/live:bytes"
)

// A Meter holds the readings at the start of a measurement.
type Meter struct {
	run    *Run
	end    func() // of the CPU profile
	begin  time.Time
	cpu    time.Duration
	allocs uint64
	gc     gcReading
}

type gcReading struct{ cycles, cpuSeconds float64 }

func readGC() gcReading {
	s := []metrics.Sample{{Name: metricGCCycles}, {Name: metricGCCPU}}
	metrics.Read(s)
	return gcReading{float64(s[0].Value.Uint64()), s[1].Value.Float64()}
}

// readHeapLive is the number of bytes that the last collection marked.
func readHeapLive() float64 {
	s := []metrics.Sample{{Name: metricLiveHeap}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// readAllocs counts the objects ever allocated on the Go heap. ReadMemStats is exact, while
// runtime/metrics counts an object only when its span is returned. ReadMemStats stops the world, so
// it is called outside the timed part.
func readAllocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// Start begins to measure: it reads the clocks and counters, and starts the CPU profile if one is wanted.
func (r *Run) Start() (*Meter, error) {
	end, err := r.startProfile()
	if err != nil {
		return nil, err
	}
	m := &Meter{run: r, end: end, gc: readGC(), allocs: readAllocs()}
	m.begin, m.cpu = time.Now(), usage.CPU()
	return m, nil
}

func (m *Meter) elapsed() time.Duration { return time.Since(m.begin) }

// Stop writes the measurements since Start into the run's sample.
func (m *Meter) Stop(rounds int, ops float64) {
	cpu, wall := usage.CPU()-m.cpu, time.Since(m.begin)
	allocs, gc := readAllocs(), readGC()
	s := &m.run.sample
	s.Rounds, s.Ops = rounds, ops
	s.CPU = cpu.Seconds()
	s.NsOp = float64(cpu.Nanoseconds()) / ops
	s.WallNsOp = float64(wall.Nanoseconds()) / ops
	s.AllocsOp = float64(allocs-m.allocs) / ops
	s.GCCycles = gc.cycles - m.gc.cycles
	s.GCCPU = gc.cpuSeconds - m.gc.cpuSeconds
	s.PeakRSS = usage.PeakRSS()
	m.end()
}

// startProfile starts a CPU profile if one is wanted and returns the function that ends it.
func (r *Run) startProfile() (stop func(), err error) {
	if r.Profile == "" {
		return func() {}, nil
	}
	f, err := os.Create(r.Profile)
	if err != nil {
		return nil, fmt.Errorf("bench: create the CPU profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("bench: start the CPU profile: %w", err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			r.Fail(fmt.Errorf("bench: write the CPU profile: %w", err))
		}
	}, nil
}
