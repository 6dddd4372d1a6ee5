// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// finalizersPerSecond is the least number of finalizers and cleanups a second, where the
	// runtime counts them.
	finalizersPerSecond = 100
	// finalizersDoubt is the uncertain part of the gain: closing by hand costs a little, and some
	// objects may need their finalizers.
	finalizersDoubt = 0.1
)

// Functions that attach a finalizer or cleanup to an object, functions that handle these records in
// a collection, and functions that run them.
var (
	finalizerSetters = []string{"runtime.SetFinalizer", "runtime.AddCleanup", "runtime.addfinalizer", "runtime.removefinalizer", "runtime.addCleanup", "runtime.createfing"}
	finalizerWork    = []string{"runtime.freeSpecial", "runtime.queuefinalizer", "runtime.runFinalizers", "runtime.runfinq", "runtime.runCleanups", "runtime.markrootSpans",
		"runtime.gcScanFinalizer", "runtime.finq", "runtime.(*cleanupQueue)", "runtime.(*mspan).specialFindSplicePoint", "runtime.addspecial", "runtime.removespecial"}
)

// findFinalizers finds large numbers of objects with finalizers. Setting a finalizer adds a record
// under a lock. Marking and sweeping look the record up, and it keeps the object alive for one more
// collection.
func findFinalizers(a *account) []Finding {
	setters, work := stack.Prefixed(finalizerSetters...), stack.Prefixed(finalizerWork...)
	lines := map[*stack.Frame]float64{}
	var setting, carrying float64
	for _, st := range a.samples {
		if st.class == stack.Profiler {
			continue // its records of sampled objects are carried like finalizers, and belong to profiler-cost
		}
		if i := stack.Outermost(st.frames, setters); i >= 0 {
			setting += st.ns
			if owner := stack.Caller(st.frames, i+1); owner != nil {
				lines[owner] += st.ns
			}
			continue
		}
		// A finalizer's own work is the user's, and would be done by hand as well.
		if i := stack.Outermost(st.frames, work); i >= 0 && !userBelow(st.frames[:i]) {
			carrying += st.ns
		}
	}
	rate, known := a.finalizerRate()
	if known && rate < finalizersPerSecond || !known && setting == 0 {
		return nil // records are of other kinds, too: the memory profiler's, and weak pointers
	}
	var owner *stack.Frame
	for line, ns := range lines {
		if owner == nil || ns > lines[owner] || ns == lines[owner] && line.Func < owner.Func {
			owner = line
		}
	}
	f := a.findingAt(owner, nil, a.gainWith(toll{}, setting+carrying, finalizersDoubt), setting+carrying)
	f.Evidence["setting_cpu_share"] = round(a.share(setting))
	f.Evidence["collecting_cpu_share"] = round(a.share(carrying))
	what := "Finalizers and cleanups take "
	if known {
		f.Evidence["finalizers_per_second"] = round(rate)
		what = "Finalizers and cleanups, " + terminal.Quantity(rate) + " a second, take "
	}
	f.Detail = what + terminal.Percent(a.share(setting+carrying)) + " of the CPU time"
	if owner != nil {
		f.Detail += "; " + owner.Place() + " sets most of them"
	}
	f.Detail += "."
	f.Remedy = Remedy{
		Text: "Close objects by hand when their use ends (defer h.Close()) and set no finalizer for them, or remove it in Close (runtime.SetFinalizer(h, nil), Cleanup.Stop). " +
			"If a finalizer must remain as a safety net, set it on few objects: on a table of handles, not on each handle.",
		Snippet: "- runtime.SetFinalizer(h, (*handle).Close)\n+ defer h.Close() // if h does not leave the function",
	}
	f.Check = []string{
		"/gc/finalizers/executed:finalizers and /gc/cleanups/executed:cleanups of runtime/metrics.",
		"The process's open descriptors, or a counter of your own, under load: they must not rise.",
	}
	return ranked([]Finding{f})
}

// userBelow reports whether the frames leave the runtime.
func userBelow(frames []*stack.Frame) bool {
	for _, f := range frames {
		if !f.Runtime {
			return true
		}
	}
	return false
}

// finalizerRate is how many finalizers and cleanups became due in a second of the window, and
// whether the runtime reports it.
func (a *account) finalizerRate() (float64, bool) {
	seconds := a.window.Seconds()
	if seconds == 0 {
		return 0, false
	}
	finalizers, ok1 := a.counter(evidence.MetricFinalizersQueued)
	cleanups, ok2 := a.counter(evidence.MetricCleanupsQueued)
	if !ok1 && !ok2 {
		return 0, false
	}
	return (max(finalizers, 0) + max(cleanups, 0)) / seconds, true
}
