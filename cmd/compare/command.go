// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/freehold-go/freehold/cmd/compare/child"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// A commandSide is a program with fixed work. Its cost is that of the whole process.
type commandSide struct{ child.Process }

// newCommandSide divides a command line into words as a shell does. Variables may stand in front:
// "GOGC=400 ./prog -n 5".
func newCommandSide(name, line string) (*commandSide, error) {
	env, args, err := child.ParseWords(line)
	if err != nil {
		return nil, fmt.Errorf("compare: %s, %q: %w", name, line, err)
	}
	return &commandSide{child.Process{Name: "compare: " + name, Args: args, Env: env}}, nil
}

func (c *commandSide) measure(ctx context.Context, traced bool) (sample, error) {
	o, err := c.Run(ctx, traced)
	if err != nil {
		return nil, err
	}
	if !traced {
		return plain(o), nil
	}
	cycles, err := o.Cycles(c.Name)
	if err != nil {
		return nil, err
	}
	s := collectorSample(cycles, o.Wall)
	if allocated, ok := allocatedBytes(cycles); ok {
		s[MeasureAllocBytes] = allocated
	}
	return s, nil
}

// plain has the system's figures of a process.
func plain(o *child.Outcome) sample {
	s := sample{MeasureWall: o.Wall.Seconds(), MeasureCPU: o.CPU.Seconds()}
	if o.PeakRSS > 0 {
		s[MeasurePeakRSS] = o.PeakRSS
	}
	return s
}

// collectorSample sums up cycles. A cycle stops the world twice.
func collectorSample(cycles []evidence.GCCycle, wall time.Duration) sample {
	s := sample{MeasureGCCycles: float64(len(cycles)), MeasureGCCPU: 0}
	var pauses []float64
	peak := int64(0)
	for _, c := range cycles {
		peak = max(peak, c.HeapEnd)
		s[MeasureGCCPU] += (c.CPU() + c.CPUIdle).Seconds()
		pauses = append(pauses, c.SweepTermination.Seconds(), c.MarkTermination.Seconds())
	}
	addPauses(s, pauses, wall)
	if peak > 0 {
		s[MeasurePeakHeap] = float64(peak)
	}
	return s
}

// addPauses adds the measures of the collector's pauses, given in seconds, over a time.
func addPauses(s sample, pauses []float64, wall time.Duration) {
	if wall > 0 {
		sum := 0.0
		for _, p := range pauses {
			sum += p
		}
		s[MeasurePausesRate] = float64(len(pauses)) / wall.Minutes()
		s[MeasurePausedTime] = sum / wall.Minutes()
	}
	if len(pauses) == 0 {
		return
	}
	slices.Sort(pauses)
	s[MeasurePauseP50] = terminal.Quantile(pauses, 0.5)
	s[MeasurePauseP99] = terminal.Quantile(pauses, 0.99)
	s[MeasurePauseMax] = pauses[len(pauses)-1]
}

// leastCycles is the least number of cycles from which allocated bytes are computed: the trace
// rounds to MiB, and lacks the allocations after the last cycle.
const leastCycles = 20

// allocatedBytes adds up the growth of the heap from the end of each cycle, at which its live bytes
// are left, to the end of the next. The live bytes of the trace include the bytes allocated during
// marking. It returns false if there are too few cycles, or if the lines of several processes are
// mixed.
func allocatedBytes(cycles []evidence.GCCycle) (float64, bool) {
	if len(cycles) < leastCycles {
		return 0, false
	}
	var sum, live int64
	for i, c := range cycles {
		if c.Number != i+1 {
			return 0, false
		}
		sum += max(0, c.HeapEnd-live)
		live = c.Live
	}
	return float64(sum), sum > 0
}
