// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"math"
	"regexp"
	"strconv"
	"time"
)

// addTrace appends a trace to the present one.
func (e *Evidence) addTrace(t *GCTrace) {
	if e.Trace == nil {
		e.Trace = &GCTrace{}
	}
	e.Trace.Cycles = append(e.Trace.Cycles, t.Cycles...)
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

// traceLine is a line of the trace as Go 1.19 and later print it; "go doc runtime" has its meaning.
// It may follow other output on its line.
var traceLine = regexp.MustCompile(`gc (\d+) @([\d.]+)s (\d+)%(?: \(checking for goroutine leaks\))?: ([\d.]+)\+([\d.]+)\+([\d.]+) ms clock, ` +
	`([\d.]+)\+([\d.]+)/([\d.]+)/([\d.]+)\+([\d.]+) ms cpu, (\d+)->(\d+)->(\d+) MB, (\d+) MB goal,` +
	`(?: (\d+) MB stacks, (\d+) MB globals,)? (\d+) P( \(forced\))?`)
