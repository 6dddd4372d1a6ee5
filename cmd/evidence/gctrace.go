// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"slices"
	"time"
)

// GCTrace is the output of a program under GODEBUG=gctrace=1.
//
// The CPU times in it are wall time multiplied by the number of Ps: on a machine with other work to
// do they say too much, so that shares are taken from a CPU profile where there is one.
type GCTrace struct {
	Cycles []GCCycle
}

// GCCycle is one line of the trace.
type GCCycle struct {
	// Number counts cycles from 1, At is when the cycle ended since the program's start, and
	// Percent is the share of CPU time that collections took since then.
	Number  int
	At      time.Duration
	Percent float64
	// Wall times of the phases: the pause that stops the world for sweeping, the concurrent phase,
	// and the pause that ends marking.
	SweepTermination, Mark, MarkTermination time.Duration
	// CPU times of the phases. Marking is divided into assists, workers in the background, and
	// workers on Ps that had nothing else to do.
	CPUSweepTermination, CPUAssist, CPUBackground, CPUIdle, CPUMarkTermination time.Duration
	// Heap sizes in bytes, rounded to MiB by the runtime: at the cycle's start, at its end, and
	// what of it was live; then the goal.
	HeapStart, HeapEnd, Live, Goal int64
	// Stacks and Globals are the bytes of roots that could be scanned.
	Stacks, Globals int64
	// Procs is the number of Ps, and Forced whether the program asked for the cycle.
	Procs  int
	Forced bool
}

// IsTraceLine reports whether the runtime wrote the line: "gc 12 @3.1s 4%: …", as GODEBUG=gctrace=1
// has it.
func IsTraceLine(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("gc "))
	digits := bytes.TrimLeft(rest, "0123456789")
	return ok && len(digits) < len(rest) && bytes.HasPrefix(digits, []byte(" @"))
}

// CPU returns the CPU time of a cycle, without that of workers on Ps that had nothing else to do.
// The trace counts a pause once for each P, but the other Ps rest in it.
func (c GCCycle) CPU() time.Duration { return c.Pause() + c.CPUAssist + c.CPUBackground }

// Pause returns how long the cycle stopped the program.
func (c GCCycle) Pause() time.Duration { return c.SweepTermination + c.MarkTermination }

// Metrics returns the values that follow from the trace: sizes are medians over the second half of
// the program's own cycles, because a heap grows at first. Cycles that the program asked for, such
// as one at its end, count only where there are no others. A nil trace has no values.
func (t *GCTrace) Metrics() Metrics {
	m := Metrics{Source: "gctrace"}
	if t == nil || len(t.Cycles) == 0 {
		return m
	}
	own := slices.DeleteFunc(slices.Clone(t.Cycles), func(c GCCycle) bool { return c.Forced })
	forced := len(t.Cycles) - len(own)
	if len(own) == 0 {
		own = t.Cycles
	}
	half := own[len(own)/2:]
	median := func(of func(GCCycle) int64) float64 {
		values := make([]int64, len(half))
		for i, c := range half {
			values[i] = of(c)
		}
		slices.Sort(values)
		return float64(values[len(values)/2])
	}
	m.Set(MetricLiveHeap, median(func(c GCCycle) int64 { return c.Live }))
	m.Set(MetricHeapGoal, median(func(c GCCycle) int64 { return c.Goal }))
	m.Set(MetricScanStack, median(func(c GCCycle) int64 { return c.Stacks }))
	m.Set(MetricScanGlobals, median(func(c GCCycle) int64 { return c.Globals }))
	m.Set(MetricCyclesTotal, float64(len(t.Cycles)))
	m.Set(MetricCyclesForced, float64(forced))
	last := t.Cycles[len(t.Cycles)-1]
	m.Set(MetricProcs, float64(last.Procs))
	m.Set(MetricUptime, last.At.Seconds())
	return m
}
