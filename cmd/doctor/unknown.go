// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"math"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// sparse is the number of samples below which a program that was busy may have spent its time
	// otherwise, and busyPart is the part of a processor from which it was busy.
	sparse, busyPart = 20, 0.05
	// leastByte and leastObject are less CPU time in nanoseconds than allocating takes: for each byte,
	// which must be cleared, and for each object.
	leastByte, leastObject = 0.1, 5
	// quietBytes is the number of bytes allocated in a second up to which a program may be idle.
	quietBytes = 1 << 20
	// bareStacks is the share of CPU in samples of the runtime without a caller from which a profile
	// has lost its stacks.
	bareStacks = 0.2
)

// unknownCPU says why a CPU profile does not show where the time goes, "" if it does. A lack of
// samples is then no sign of an idle program.
func (a *account) unknownCPU() string {
	p := a.ev.CPU
	if p == nil || len(a.samples) == 0 && (a.total > 0 || a.uncollected()) {
		return "" // there is none, or the runtime's own figures stand for it
	}
	seconds := a.window.Seconds()
	long := float64(p.DurationNanos) / 1e9
	if long <= 0 {
		long = seconds
	}
	bare := 0.0
	for _, st := range a.samples {
		if len(st.frames) == 0 || len(st.frames) == 1 && st.frames[0].Runtime {
			bare += st.ns
		}
	}
	period := max(a.period, samplePeriod(p))
	most := a.total + 3*math.Sqrt(a.total*period) + 3*period // that the profile may have missed
	needed := 0.0
	if seconds > 0 {
		needed = (leastByte*a.allocBytes + leastObject*a.allocObjects) * long / seconds
	}
	switch {
	case bare > bareStacks*a.total:
		return "its samples have no stacks"
	case needed > most:
		return fmt.Sprintf("it has %s of CPU time, less than the allocations of the heap profiles take (%s/s)", terminal.Seconds(a.total/1e9), terminal.Bytes(a.allocBytes/seconds))
	case len(a.samples) == 0 && !a.quiet():
		return "it is empty"
	case a.total < sparse*period && a.total >= busyPart*long*1e9:
		return fmt.Sprintf("it has %s samples", terminal.Count(math.Round(a.total/period)))
	}
	return ""
}

// quiet reports whether other evidence than the CPU profile shows that the program hardly ran.
func (a *account) quiet() bool {
	if cpu, ok := a.counter(evidence.MetricProcessCPU); ok && a.window > 0 {
		return cpu < busyPart*a.window.Seconds()
	}
	return a.ev.Heap[1] != nil && a.window > 0 && a.allocBytes < quietBytes*a.window.Seconds()
}

// verdictUnknown is the verdict on a CPU profile that shows nothing.
func (a *account) verdictUnknown() string {
	return fmt.Sprintf("The cost is unknown: there is a CPU profile, but %s. Take it again while the program works, for 30 seconds, and from the process itself: /debug/pprof/profile?seconds=30.", a.unknown)
}
