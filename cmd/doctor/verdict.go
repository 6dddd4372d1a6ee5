// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

const (
	// enoughSamples is the number of CPU samples from which shares of a few percent are known well:
	// 300 give 3 % of CPU as 3 ± 1.
	enoughSamples = 300
	// smallShare is the share of collection and allocation up to which memory is not worth
	// optimising.
	smallShare = 0.05
)

// missing are the pieces of evidence that would raise the confidence, the most important first.
func (a *account) missing() []Missing {
	list := []Missing{}
	e := a.ev
	benches := benchmarks(e)
	switch {
	case e.CPU == nil && len(benches) > 0:
		list = append(list, Missing{"CPU profile", "it shows the cost of allocation and collection, and the lines that cause it", profileBenchmark(benches)})
	case e.CPU == nil:
		list = append(list, Missing{"CPU profile", "it shows the cost of allocation and collection, and the lines that cause it; without it no gain is known",
			"curl -o cpu.pb.gz 'http://HOST:6060/debug/pprof/profile?seconds=30', or go test -bench=. -cpuprofile cpu.pb.gz"})
	case a.period > 0 && a.total < enoughSamples*a.period && !a.idle():
		list = append(list, Missing{"longer CPU profile", fmt.Sprintf("this one has %s samples, too few for small shares", terminal.Count(math.Round(a.total/a.period))),
			"profile for longer, or under more load: /debug/pprof/profile?seconds=60"})
	}
	switch {
	case e.CPU == nil && e.Heap[1] == nil && len(benches) > 0: // The commands above make one.
	case e.Heap[1] == nil:
		list = append(list, Missing{"heap profile", "it shows how much each line allocates, and which data lives; the cost of marking is charged by it",
			"curl -o heap.pb.gz http://HOST:6060/debug/pprof/heap, at the start and at the end of the CPU profile; or go test -bench=. -memprofile heap.pb.gz"})
	case a.noInuse:
		list = append(list, Missing{"heap profile with the bytes in use", "it shows which data lives; without it the age of objects is unknown, and the cost of marking is charged by the bytes allocated",
			"curl -o heap.pb.gz http://HOST:6060/debug/pprof/heap, while the program works"})
	case e.Heap[0] == nil && !e.Delta:
		list = append(list, Missing{"heap profile from the start of the window", "without it all allocations since the program's start count, set-up included",
			"take /debug/pprof/heap before and after the CPU profile"})
	case a.window == 0:
		list = append(list, Missing{"time between the heap profiles", "without it the age of objects is unknown", "give profiles that runtime/pprof wrote: they contain their time"})
	}
	if e.CPU == nil && len(benches) > 0 {
		return list // The commands above make a trace, too.
	}
	_, live := a.metric(evidence.MetricLiveHeap)
	_, scan := a.metric(evidence.MetricScanHeap)
	if _, gogc := a.metric(evidence.MetricGOGC); !live || !scan || !gogc {
		list = append(list, Missing{"metrics of the runtime", "they show how much the collector reads, the roots, GOGC and the memory limit; without them these are estimates",
			"serve gctune.Handler at /debug/freehold/metrics, and give the program's address, or save the answer and give the file"})
	}
	return list
}

// confidence is high with all evidence, medium with a heap profile and a third of enoughSamples,
// none without CPU times, and low otherwise.
func (a *account) confidence() Confidence {
	switch {
	case a.unknown != "", a.total == 0 && !a.idle():
		return None
	case len(a.missing()) == 0:
		return High
	case a.ev.CPU != nil && a.ev.Heap[1] != nil && (a.total >= enoughSamples/3*a.period || a.idle()):
		return Medium
	}
	return Low
}

// verdict is the report's first line.
func (a *account) verdict(r *Report) string {
	share := r.GCShare + r.AllocShare
	if a.unknown != "" {
		return a.verdictUnknown()
	}
	if r.Confidence == None {
		return a.verdictWithoutCPU()
	}
	if a.uncollected() && len(a.samples) == 0 {
		return a.verdictUncollected()
	}
	if a.pace.off() && a.pace.how != "" {
		return "The collector is off (GOGC=off), so the heap only grows. " + a.verdictOf(r, share)
	}
	return a.verdictOf(r, share)
}

// verdictUncollected is the verdict on a program that never collected and that has no CPU profile.
func (a *account) verdictUncollected() string {
	text := fmt.Sprintf("GC is not your problem: no collection ran in %s of CPU time. ", terminal.Seconds(a.total/1e9))
	switch {
	case a.pace.off():
		text += "The collector is off (GOGC=off), so the heap only grows."
	case a.pace.gogc < 0:
		text += "GOGC is off, and the memory limit was not reached."
	default:
		text += "The heap stayed below the size at which the first one begins (4 MiB at GOGC=100), or the program switched the collector off."
	}
	return text + " Pass a CPU profile to see the cost of allocation."
}

// verdictOf is the verdict on a program with CPU times.
func (a *account) verdictOf(r *Report, share float64) string {
	if len(a.samples) == 0 && !a.idle() {
		return a.verdictUnprofiled(r)
	}
	if r.WinnableShare >= littleWon {
		text := fmt.Sprintf("Collection and allocation take %s of CPU; at most %s can be won back", terminal.Percent(share), terminal.Percent(r.WinnableShare))
		if r.WinnableShare > share+minGain {
			text = fmt.Sprintf("Collection and allocation take %s of CPU; with the work that allocates, at most %s can be won back", terminal.Percent(share), terminal.Percent(r.WinnableShare))
		}
		if n, part := a.concentration(); n > 0 {
			text += fmt.Sprintf("; %s %s of that cost", sitesCause(n), terminal.Percent(part))
		}
		return text + "."
	}
	return a.verdictElsewhere(r, share)
}

// littleWon is the share of CPU below which the verdict says that memory is not the problem, or
// that the doctor knows no change against it, and says where the time goes.
const littleWon = 0.05

// verdictElsewhere is the verdict where all changes together win back little. share is that of
// collection and allocation.
func (a *account) verdictElsewhere(r *Report, share float64) string {
	where, _ := a.elsewhere()
	if a.idle() {
		return fmt.Sprintf("GC is not your problem: %s.", where)
	}
	won := ""
	if r.WinnableShare >= minGain {
		won = fmt.Sprintf(", and at most %s can be won back", terminal.Percent(r.WinnableShare))
	}
	if share <= smallShare {
		return fmt.Sprintf("GC is not your problem: collection and allocation take %s of CPU%s; %s.", terminal.Percent(share), won, where)
	}
	return fmt.Sprintf("Collection and allocation take %s of CPU, but the doctor knows no remedy: no setting, no reuse of memory and no other layout of the data saves as much as %s of CPU; %s.",
		terminal.Percent(share), terminal.Percent(littleWon), where)
}

// verdictWithoutCPU is the verdict from the trace or the statistics.
func (a *account) verdictWithoutCPU() string {
	part := -1.0
	if t := a.ev.Trace; t != nil && len(t.Cycles) > 0 {
		part = t.Cycles[len(t.Cycles)-1].Percent / 100
	} else if v, ok := a.metric(evidence.MetricGCFraction); ok {
		part = v
	}
	if part < 0 && a.ev.Heap[1] != nil {
		return a.verdictAllocators()
	}
	if list := benchmarks(a.ev); part < 0 && len(list) > 0 {
		return verdictBenchmarks(list)
	}
	if part < 0 {
		return "The cost is unknown: there is no CPU profile."
	}
	return fmt.Sprintf("The possible gain is unknown: there is no CPU profile. By the runtime's own figure, collections took %s of the available CPU time.", terminal.Percent(part))
}

// verdictUnprofiled is the verdict from only the runtime's figures. They show neither the cost of
// allocation nor places.
func (a *account) verdictUnprofiled(r *Report) string {
	if a.overtraced > 0 {
		return fmt.Sprintf("The collector's share of the CPU is unknown: it took %s by the trace, which counts elapsed time, and the whole process took %s of CPU time. "+
			"Pass a CPU profile to see the share, and the lines that cause it.", terminal.Seconds(a.overtraced/1e9), terminal.Seconds(a.processCPU/1e9))
	}
	take := fmt.Sprintf("take %s of CPU by the runtime's own figures", terminal.Percent(r.GCShare))
	switch {
	case r.WinnableShare >= minGain:
		unknown := "which lines cause it"
		if a.ev.Heap[1] != nil { // which names the lines
			unknown = "the cost of allocation"
		}
		return fmt.Sprintf("Collections %s; the findings could win back %s. Pass a CPU profile to see %s.", take, terminal.Percent(r.WinnableShare), unknown)
	case r.GCShare > smallShare:
		return "Collections " + take + ". Pass a CPU profile to see which lines cause it."
	}
	return "GC is not your problem: collections " + take + ". Pass a CPU profile to see the cost of allocation."
}

// concentration is the number of sites that have most of the cost of memory, and their part of it:
// up to three sites with four fifths, or else three or five sites with half. It is 0 if five sites
// have less than half.
func (a *account) concentration() (int, float64) {
	costs, sum := topCosts(a)
	if sum <= 0 {
		return 0, 0
	}
	part := 0.0
	for i, c := range costs {
		part += c / sum
		if n := i + 1; part >= 0.8 && n <= 3 || n == 3 && part >= 0.5 || n == 5 && part >= 0.5 {
			return n, part
		}
		if i == 4 {
			break
		}
	}
	return 0, 0
}

func sitesCause(n int) string {
	words := []string{"one site causes", "two sites cause", "three sites cause", "four sites cause", "five sites cause"}
	return words[n-1]
}

// topCosts are the costs of all sites, the largest first, and the total cost of collection and
// allocation.
func topCosts(a *account) (costs []float64, sum float64) {
	for _, s := range a.sites {
		costs = append(costs, a.cost(s))
	}
	slices.SortFunc(costs, func(x, y float64) int { return cmp.Compare(y, x) })
	return costs, a.mark + a.sweep + a.cpu[stack.Alloc] + a.cpu[stack.Zero]
}
