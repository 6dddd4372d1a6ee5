package bench

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"time"
)

const (
	metricGCCycles = "/gc/cycles/total:gc-cycles"
	metricGCCPU    = "/cpu/classes/gc/total:cpu-seconds"
	metricLiveHeap = "/gc/heap/live:bytes"
)

// A meter holds the readings at the start of what is measured.
type meter struct {
	begin  time.Time
	cpu    time.Duration
	allocs uint64
	gc     gcReading
}

// automaticCycles counts the collections that the runtime began by itself.
func automaticCycles() float64 {
	s := []metrics.Sample{{Name: "/gc/cycles/automatic:gc-cycles"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

type gcReading struct{ cycles, cpuSeconds float64 }

func readGC() gcReading {
	s := []metrics.Sample{{Name: metricGCCycles}, {Name: metricGCCPU}}
	metrics.Read(s)
	return gcReading{float64(s[0].Value.Uint64()), s[1].Value.Float64()}
}

// readHeapLive is what the last collection marked, in bytes.
func readHeapLive() float64 {
	s := []metrics.Sample{{Name: metricLiveHeap}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// readAllocs counts the objects ever allocated on the Go heap. ReadMemStats is exact where runtime/metrics counts an
// object only when its span is given back; it stops the world, so it stands outside of what is timed.
func readAllocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func startMeter() *meter {
	m := &meter{gc: readGC(), allocs: readAllocs()}
	m.begin, m.cpu = time.Now(), processCPU()
	return m
}

func (m *meter) elapsed() time.Duration { return time.Since(m.begin) }

// stop writes what happened since startMeter into s.
func (m *meter) stop(s *Sample, ops float64) {
	cpu, wall := processCPU()-m.cpu, time.Since(m.begin)
	allocs, gc := readAllocs(), readGC()
	s.Ops = ops
	s.CPU = cpu.Seconds()
	s.NsOp = float64(cpu.Nanoseconds()) / ops
	s.WallNsOp = float64(wall.Nanoseconds()) / ops
	s.AllocsOp = float64(allocs-m.allocs) / ops
	s.GCCycles = gc.cycles - m.gc.cycles
	s.GCCPU = gc.cpuSeconds - m.gc.cpuSeconds
	s.PeakRSS = peakRSS()
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
