// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// stackScanShare is the least share of CPU time in scanning stacks at which their depth is
	// reported.
	stackScanShare = 0.03
	// stackGrowthDoubt is the uncertain part of the cost of growing stacks: the remedy, goroutines
	// that stay, costs passing the work to them.
	stackGrowthDoubt = 0.1
	// stackScanDoubt is the uncertain part of the cost of scanning: the profile does not show how
	// far stacks can shrink.
	stackScanDoubt = 0.5
)

// findLargeStacks finds two patterns: stacks that are copied to larger ones in each new goroutine,
// and stacks so deep that reading them is a large part of a collection.
func findLargeStacks(a *account) []Finding {
	return ranked(append(a.growingStacks(), a.deepStacks()...))
}

// growingStacks finds the functions in which stacks grow.
func (a *account) growingStacks() (found []Finding) {
	growth := stack.Prefixed("runtime.newstack", "runtime.copystack", "runtime.morestack")
	preemption := stack.Prefixed("runtime.gopreempt_m", "runtime.preemptPark", "runtime.gosched")
	lines := map[*stack.Frame]float64{}
	begins := map[*stack.Frame]float64{} // by the goroutine's first function
	total := 0.0
	for _, st := range a.samples {
		i := stack.Outermost(st.frames, growth)
		if i < 0 || st.class != stack.Mutator && st.class != stack.Alloc {
			continue
		}
		// runtime.newstack also serves preemption, which copies nothing.
		if stack.Outermost(st.frames[:i+1], preemption) >= 0 {
			continue
		}
		owner := stack.Caller(st.frames, i+1)
		if i+1 == len(st.frames) {
			owner = nil // the profiler lost the user's part of the stack while it was copied
		}
		total += st.ns
		if first := stack.Outermost(st.frames, func(f *stack.Frame) bool { return !f.Runtime }); first >= 0 {
			begins[st.frames[first]] += st.ns
		}
		if owner != nil {
			lines[owner] += st.ns
		}
	}
	if total == 0 {
		return nil
	}
	owner, first := topFrame(lines), topFrame(begins)
	at := cmp.Or(first, owner) // Where stacks grow differs from run to run.
	f := a.findingAt(at, nil, a.gainWith(toll{}, total, stackGrowthDoubt), total)
	f.Evidence["stack_growth_cpu_share"] = round(a.share(total))
	a.stackEvidence(&f)
	f.Detail = "Goroutines outgrow their stacks, which are copied to larger ones: " + terminal.Percent(a.share(total)) + " of the CPU time"
	if owner != nil {
		f.Detail += ", most of it in " + owner.Place()
	}
	f.Detail += "."
	f.Remedy = Remedy{
		Text: "Keep goroutines and let them take work from a channel: their stacks have grown already. Or use less stack: a loop in place of recursion, and a slice that is kept " +
			"in place of large local arrays.",
		Snippet: "- for _, r := range requests {\n-     go func() { done <- handle(r) }()\n- }\n" +
			"+ for range runtime.GOMAXPROCS(0) { // once\n+     go func() {\n+         for r := range work {\n+             done <- handle(r)\n+         }\n+     }()\n+ }",
	}
	if first != nil {
		f.Evidence["goroutines_begin_in"] = first.Func
		f.Detail += fmt.Sprintf(" Most of these goroutines begin in %s.", stack.ShortName(first.Func))
		switch {
		case first.User:
		case !strings.HasPrefix(first.Func, grpcServe):
			f.Severity, f.Remedy.Snippet = SeverityInfo, "" // The library starts them.
			f.Remedy.Text = fmt.Sprintf("Package %s starts these goroutines: look for an option that keeps them, or use less stack below %s.", first.Package, stack.ShortName(first.Func))
		default:
			f.Remedy.Text = "Let the gRPC server keep goroutines: grpc.NumStreamWorkers with more workers than there are streams at a time."
			f.Remedy.Snippet = "- s := grpc.NewServer()\n+ s := grpc.NewServer(grpc.NumStreamWorkers(512)) // above the number of concurrent streams"
		}
	}
	f.Check = []string{"runtime.copystack in a new CPU profile.", "/sched/goroutines-created:goroutines of runtime/metrics."}
	return []Finding{f}
}

// grpcServe is the beginning of the names of gRPC's functions that serve a stream in a goroutine.
const grpcServe = "google.golang.org/grpc.(*Server).serveStreams"

// topFrame is the frame with the largest figure, nil if there is none.
func topFrame(by map[*stack.Frame]float64) (top *stack.Frame) {
	for f, v := range by {
		if top == nil || v > by[top] || v == by[top] && f.Func < top.Func {
			top = f
		}
	}
	return top
}

// deepStacks finds stacks whose scanning is a large part of marking. Smaller stacks are scanned
// faster. But stacks count for the heap's goal, so with smaller ones collections are more frequent
// at the same GOGC.
func (a *account) deepStacks() []Finding {
	scanning := stack.Prefixed("runtime.scanstack")
	ns := 0.0
	for _, st := range a.samples {
		if st.class.IsGC() && stack.Outermost(st.frames, scanning) >= 0 {
			ns += st.ns
		}
	}
	if a.share(ns) < stackScanShare {
		return nil
	}
	g := a.gainWith(toll{}, ns, stackScanDoubt)
	if stacks, ok := a.metric(evidence.MetricScanStack); ok && a.live+a.roots > stacks {
		more := (a.live + a.roots) / (a.live + a.roots - stacks)
		g.SameGOGC = a.share(a.mark - more*(a.mark-min(ns, a.mark)))
	}
	f := a.findingAt(nil, nil, g, ns)
	f.Evidence["stack_scan_cpu_share"] = round(a.share(ns))
	a.stackEvidence(&f)
	f.Detail = fmt.Sprintf("The collector spends %s of the CPU time in reading stacks.", terminal.Percent(a.share(ns)))
	if n, ok := a.metric(evidence.MetricGoroutines); ok {
		f.Detail = fmt.Sprintf("The collector spends %s of the CPU time in reading the stacks of %s goroutines.", terminal.Percent(a.share(ns)), terminal.Count(n))
	}
	f.Remedy = Remedy{
		Text:    "Use fewer goroutines, or shallower ones: let a pool of goroutines take work from a channel, wait for idle connections without a goroutine for each, and keep no large arrays as local variables.",
		Snippet: "- go serve(conn)   // waits for most of its life, deep in the stack\n+ workers <- conn  // a goroutine takes it when there is something to read",
	}
	f.Check = []string{"/gc/scan/stack:bytes and /sched/goroutines:goroutines of runtime/metrics.", "runtime.scanstack in a new CPU profile."}
	return []Finding{f}
}

func (a *account) stackEvidence(f *Finding) {
	for name, metric := range map[string]string{
		"stack_scan_bytes": evidence.MetricScanStack, "stack_bytes": evidence.MetricStackBytes, "goroutines": evidence.MetricGoroutines,
	} {
		if v, ok := a.metric(metric); ok {
			f.Evidence[name] = v
		}
	}
}
