package evidence

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"time"
)

// GCTrace is what a program printed under GODEBUG=gctrace=1.
//
// The CPU times in it are wall time multiplied by the number of Ps: on a machine with other work to do they say too much, so that
// shares are taken from a CPU profile where there is one.
type GCTrace struct {
	Cycles []GCCycle
}

// GCCycle is one line of the trace.
type GCCycle struct {
	// Number counts cycles from 1, At is when the cycle ended since the program's start, and Percent is the share of CPU time that collections took since then.
	Number  int
	At      time.Duration
	Percent float64
	// Wall times of the phases: the pause that stops the world for sweeping, the concurrent phase, and the pause that ends marking.
	SweepTermination, Mark, MarkTermination time.Duration
	// CPU times of the phases. Marking is told apart: assists, workers in the background, and workers on Ps that had nothing else to do.
	CPUSweepTermination, CPUAssist, CPUBackground, CPUIdle, CPUMarkTermination time.Duration
	// Heap sizes in bytes, rounded to MiB by the runtime: at the cycle's start, at its end, and what of it was live; then the goal.
	HeapStart, HeapEnd, Live, Goal int64
	// Stacks and Globals are the bytes of roots that could be scanned.
	Stacks, Globals int64
	// Procs is the number of Ps, and Forced whether the program asked for the cycle.
	Procs  int
	Forced bool
}

// traceLine is a line of the trace as Go 1.19 and later print it; "go doc runtime" has its meaning. It may follow other output on its line.
var traceLine = regexp.MustCompile(`gc (\d+) @([\d.]+)s (\d+)%(?: \(checking for goroutine leaks\))?: ([\d.]+)\+([\d.]+)\+([\d.]+) ms clock, ` +
	`([\d.]+)\+([\d.]+)/([\d.]+)/([\d.]+)\+([\d.]+) ms cpu, (\d+)->(\d+)->(\d+) MB, (\d+) MB goal,` +
	`(?: (\d+) MB stacks, (\d+) MB globals,)? (\d+) P( \(forced\))?`)

// IsTraceLine reports whether the runtime wrote the line: "gc 12 @3.1s 4%: …", as GODEBUG=gctrace=1 has it.
func IsTraceLine(line []byte) bool {
	rest, ok := bytes.CutPrefix(line, []byte("gc "))
	digits := bytes.TrimLeft(rest, "0123456789")
	return ok && len(digits) < len(rest) && bytes.HasPrefix(digits, []byte(" @"))
}

// parseTrace finds the trace in a log, nil if there is none.
func parseTrace(log []byte) *GCTrace {
	var t GCTrace
	for _, m := range traceLine.FindAllSubmatch(log, -1) {
		num := func(i int) float64 {
			v, err := strconv.ParseFloat(string(m[i]), 64) // "" where stacks and globals are missing
			if err != nil {
				return 0
			}
			return v
		}
		ms := func(i int) time.Duration {
			return time.Duration(min(num(i)*float64(time.Millisecond), math.MaxInt64/2))
		}
		mib := func(i int) int64 { return int64(min(num(i)*(1<<20), math.MaxInt64/2)) }
		t.Cycles = append(t.Cycles, GCCycle{
			Number: int(min(num(1), math.MaxInt32)), At: time.Duration(min(num(2)*float64(time.Second), math.MaxInt64/2)), Percent: num(3),
			SweepTermination: ms(4), Mark: ms(5), MarkTermination: ms(6),
			CPUSweepTermination: ms(7), CPUAssist: ms(8), CPUBackground: ms(9), CPUIdle: ms(10), CPUMarkTermination: ms(11),
			HeapStart: mib(12), HeapEnd: mib(13), Live: mib(14), Goal: mib(15), Stacks: mib(16), Globals: mib(17),
			Procs: int(min(num(18), math.MaxInt32)), Forced: len(m[19]) > 0,
		})
	}
	if t.Cycles == nil {
		return nil
	}
	return &t
}

// addTrace adds a trace behind what there is.
func (e *Evidence) addTrace(t *GCTrace) {
	if e.Trace == nil {
		e.Trace = &GCTrace{}
	}
	e.Trace.Cycles = append(e.Trace.Cycles, t.Cycles...)
}

// CPU returns the CPU time of a cycle, without that of workers on Ps that had nothing else to do.
func (c GCCycle) CPU() time.Duration {
	return c.CPUSweepTermination + c.CPUAssist + c.CPUBackground + c.CPUMarkTermination
}

// Metrics returns the values that follow from the trace, as of its last cycle. A nil trace has none.
func (t *GCTrace) Metrics() Metrics {
	m := Metrics{Source: "gctrace"}
	if t == nil || len(t.Cycles) == 0 {
		return m
	}
	last := t.Cycles[len(t.Cycles)-1]
	forced := 0
	for _, c := range t.Cycles {
		if c.Forced {
			forced++
		}
	}
	m.Set(MetricLiveHeap, float64(last.Live))
	m.Set(MetricHeapGoal, float64(last.Goal))
	m.Set(MetricScanStack, float64(last.Stacks))
	m.Set(MetricScanGlobals, float64(last.Globals))
	m.Set(MetricCyclesTotal, float64(len(t.Cycles)))
	m.Set(MetricCyclesForced, float64(forced))
	m.Set(MetricProcs, float64(last.Procs))
	m.Set(MetricUptime, last.At.Seconds())
	return m
}
