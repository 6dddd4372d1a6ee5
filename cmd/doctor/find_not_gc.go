// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// idlePart is the part of one processor below which a program counts as idle.
	idlePart = 0.05
	// kindPart is the least share of CPU at which the report names system calls, locks or a similar
	// activity as the place of the time.
	kindPart = 0.25
	// fewSamples is the number of samples of CPU below which nothing can be said of single
	// functions.
	fewSamples = 20
)

// findNotGC says what takes the time if no other recogniser finds anything. Diagnose runs it last,
// and only then. Without a CPU profile it finds nothing, because the other recognisers could not
// have found the causes of collections either.
func findNotGC(a *account) []Finding {
	if a.unknown != "" || len(a.samples) == 0 && !a.idle() {
		return nil
	}
	where, evidence := a.elsewhere()
	f := a.finding(nil, Gain{})
	f.Severity = SeverityInfo
	f.Evidence = evidence
	f.Detail = "The doctor found no change in memory management that saves CPU time. " + strings.ToUpper(where[:1]) + where[1:] + "."
	f.Remedy = Remedy{Text: "Look at the CPU profile: go tool pprof -http=: FILE. For waiting time, look at the block and mutex profiles and at an execution trace."}
	return []Finding{f}
}

// idle reports whether the program hardly ran.
func (a *account) idle() bool {
	p := a.ev.CPU
	if a.unknown != "" || p == nil || p.DurationNanos <= 0 {
		return false
	}
	return a.total < idlePart*float64(p.DurationNanos)
}

// elsewhere describes the CPU time outside memory management.
func (a *account) elsewhere() (string, map[string]any) {
	if a.idle() {
		used := a.total / float64(a.ev.CPU.DurationNanos)
		return fmt.Sprintf("the program is idle: it used %s of one processor", terminal.Percent(used)),
			map[string]any{"processor_share": used}
	}
	kind, share := a.topActivity()
	fn, own := a.topFunction(kind)
	evidence := map[string]any{"kind": string(kind), "kind_cpu_share": share}
	if fn != "" {
		evidence["function"], evidence["function_cpu_share"] = fn, own
	}
	text := fmt.Sprintf("%s of CPU goes into %s", terminal.Percent(share), kind)
	switch {
	case kind == stack.OwnWork && fn != "":
		text = fmt.Sprintf("the CPU goes into the program's own work, %s of it into %s", terminal.Percent(own), stack.ShortName(fn))
	case kind == stack.OwnWork:
		text = "the CPU goes into the program's own work, spread over many functions"
	case fn != "":
		text += ", most of it for " + stack.ShortName(fn)
	}
	return text, evidence
}

// topActivity is the activity with the largest share, if the share reaches kindPart. Otherwise it
// is the program's own work, with its share.
func (a *account) topActivity() (stack.Activity, float64) {
	sums := map[stack.Activity]float64{}
	for _, st := range a.samples {
		if st.class == stack.Mutator {
			sums[stack.ActivityOf(st.frames)] += st.ns
		}
	}
	top := stack.OwnWork
	for _, k := range stack.Activities() {
		if sums[k] >= kindPart*a.total && (top == stack.OwnWork || sums[k] > sums[top]) {
			top = k
		}
	}
	return top, a.share(sums[top])
}

// topFunction is the function with the largest part of the activity's time. For the program's own
// work, a sample counts for its innermost function outside the runtime; for other activities, for
// its innermost function outside the standard library. It is "" if no function has a tenth of the
// program's time.
func (a *account) topFunction(k stack.Activity) (string, float64) {
	sums := map[string]float64{}
	for _, st := range a.samples {
		if st.class != stack.Mutator || stack.ActivityOf(st.frames) != k {
			continue
		}
		for _, f := range st.frames {
			if f.Runtime || k != stack.OwnWork && f.Std || strings.Contains(f.Func, "._Cfunc_") {
				continue
			}
			sums[f.Func] += st.ns
			break
		}
	}
	top := ""
	for fn, ns := range sums {
		if ns > sums[top] || ns == sums[top] && fn < top {
			top = fn
		}
	}
	if share := a.share(sums[top]); share >= 0.1 && a.total >= fewSamples*a.period {
		return top, share
	}
	return "", 0
}
