// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// procsFactor is the least ratio of GOMAXPROCS to the processors of the machine at which
	// GOMAXPROCS is reported.
	procsFactor = 2
	// procsUnused is the least GOMAXPROCS at which unused processors are reported.
	procsUnused = 8
	// procsIdleFactor is the least ratio of GOMAXPROCS to the processors used at which unused
	// processors are reported.
	procsIdleFactor = 4
	// procsShare is the least share of CPU time in looking for work, background work on idle Ps
	// included.
	procsShare = 0.05
	// procsRemains is the part of that work that remains with fewer Ps, because it is useful on any
	// P.
	procsRemains = 0.5
	// procsDoubt is the uncertain part of the gain: it may be all or nothing.
	procsDoubt = 0.5
)

// procsWork are the functions whose cost grows with the number of Ps and not with the program's
// work. They look for work at every other P, or do the runtime's background work while a P is idle.
// With more Ps than processors, a P is always idle.
var procsWork = []string{
	"runtime.findRunnable", "runtime.stealWork", "runtime.bgsweep", "runtime.gcDrainMarkWorkerIdle", "runtime.stopTheWorldWithSema", "runtime.startTheWorldWithSema",
	"runtime.procresize", "runtime.osyield", "runtime.wakep", "runtime.gcMarkDone", "runtime.forEachP",
}

// findTooManyProcs finds a GOMAXPROCS above what the machine, or a container's quota, gives.
func findTooManyProcs(a *account) []Finding {
	procs, ok := a.metric(evidence.MetricProcs)
	if !ok {
		return nil
	}
	work := stack.Prefixed(procsWork...)
	spent := 0.0
	for _, st := range a.samples {
		if stack.Outermost(st.frames, work) >= 0 {
			spent += st.ns
		}
	}
	used := a.processorsUsed()
	enough, why := a.enoughProcs(procs, used)
	if why == "" || a.share(spent) < procsShare {
		return nil
	}
	ns := spent * (1 - enough/procs) * procsRemains
	f := a.findingAt(nil, nil, a.gainWith(toll{}, ns, procsDoubt), spent)
	f.setting = true
	f.Evidence["gomaxprocs"] = procs
	f.Evidence["processors_used"] = round(used)
	f.Evidence["background_cpu_share"] = round(a.share(spent))
	if n, ok := a.metric(evidence.MetricNumCPU); ok {
		f.Evidence["processors"] = n
	}
	f.Detail = fmt.Sprintf("GOMAXPROCS is %.0f, but %s. The search for work on the other Ps, and background work on Ps that seem idle, take %s of the CPU time.", procs, why, terminal.Percent(a.share(spent)))
	f.Remedy = Remedy{
		Text: fmt.Sprintf("Set GOMAXPROCS to %.0f, or leave it unset: since Go 1.25 the runtime takes the container's quota into account. With an older Go, set it from the quota in the "+
			"environment, or use go.uber.org/automaxprocs.", enough),
		Snippet: fmt.Sprintf("- GOMAXPROCS=%.0f ./program\n+ GOMAXPROCS=%.0f ./program", procs, enough),
	}
	f.Check = []string{
		"CPU time and latency under load: with fewer Ps, goroutines may wait longer.",
		"runtime.findRunnable and runtime.bgsweep in a new CPU profile.",
	}
	return ranked([]Finding{f})
}

// processorsUsed is how many processors the program kept busy in the window of the CPU profile, 0
// if that is not known.
func (a *account) processorsUsed() float64 {
	if a.ev.CPU == nil || a.ev.CPU.DurationNanos <= 0 {
		return 0
	}
	return a.total / float64(a.ev.CPU.DurationNanos)
}

// enoughProcs is the number of Ps that suffices, and why the present number is wrong, "" if it is
// right.
func (a *account) enoughProcs(procs, used float64) (enough float64, why string) {
	if n, ok := a.metric(evidence.MetricNumCPU); ok && n > 0 && procs >= procsFactor*n {
		return n, fmt.Sprintf("there are %.0f processors", n)
	}
	if used > 0 && procs >= procsUnused && procs >= procsIdleFactor*used {
		// Twice the used processors leave room for bursts.
		return max(2, float64(int(2*used)+1)), fmt.Sprintf("the program keeps %s processors busy", terminal.Significant(used))
	}
	return 0, ""
}
