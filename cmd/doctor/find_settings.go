// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"math"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// profilerID is the id of the only finding that idle programs can have, too.
const profilerID = "profiler-cost"

// limitID names the finding about a memory limit.
const limitID = "limit-thrash"

const (
	// tightLimit is the largest ratio of the heap's goal to the live heap at which a limit that
	// sets this goal costs more CPU than it saves memory.
	tightLimit = 1.5
	// dearProfiler is the share of CPU time from which the memory profiler is reported although it
	// samples no more than by default.
	dearProfiler = 0.05
	// defaultMemProfileRate is the default of runtime.MemProfileRate.
	defaultMemProfileRate = 512 << 10
)

// findGCTooOften is the finding about the proposed setting.
func findGCTooOften(a *account) []Finding {
	s, ok := proposedSetting(a.settings())
	if !ok || a.pace.limited {
		return nil
	}
	f := a.finding(nil, s.Gain)
	f.setting = true
	f.CPUShare = a.share(a.mark)
	live, goal, known := a.liveAndGoal()
	f.Evidence["gogc_percent"], f.Evidence["gogc_is"], f.Evidence["proposed_gogc_percent"] = math.Round(a.pace.gogc), string(a.pace.how), s.GOGC
	f.Evidence["live_bytes"], f.Evidence["more_memory_bytes"] = live, s.MoreBytes
	if known {
		f.Evidence["goal_bytes"] = goal
	}
	f.Detail = fmt.Sprintf("%s, the live heap is %s, and the collector runs %s. With GOGC=%.0f it would run %s as often, for about %s more memory.",
		a.gogcText(), terminal.Bytes(live), a.cycleRate(), s.GOGC, terminal.Percent(s.CyclesLeft), terminal.Bytes(s.MoreBytes))
	if a.liveUnknown() {
		f.Detail = fmt.Sprintf("%s, GOGC=%.0f would let the collector run %s as often. The heap would grow by %.0f times the live heap, whose size is not in the evidence.",
			a.gogcText(), s.GOGC, terminal.Percent(s.CyclesLeft), s.MoreHeaps)
	}
	if refills, own := a.poolRefills(); refills >= minGain {
		f.Evidence["pool_refill_cpu_share"] = round(refills)
		f.Detail += fmt.Sprintf(" Each collection empties the program's sync.Pools; refilling them takes %s of CPU.", terminal.Percent(refills))
		if own > refills/2 {
			f.Detail += " Most of that is for pools of your code: a pool.Pool in their place is not emptied."
		}
	}
	f.Remedy = Remedy{
		Text:    "Set " + s.Name() + ". Or use gctune, which keeps the program below its memory limit.",
		Snippet: fmt.Sprintf("- GOGC=%.0f ./program\n+ GOGC=%.0f ./program        # or: gctune.Start(ctx, gctune.Options{})", a.pace.gogc, s.GOGC),
	}
	if a.pace.gogc < defaultGOGC { // The program's owner chose it.
		f.Title = "A low GOGC has a price"
		f.Remedy.Text = fmt.Sprintf("GOGC=%.0f is set, which saves %s beside %s: set that if memory is not short.", a.pace.gogc, terminal.Bytes(s.MoreBytes), s.Name())
	}
	f.Check = []string{"Peak memory: it rises by the figure above, and in proportion if the live heap grows. Set GOMEMLIMIT as well if memory has a bound.", "Collections a second (/gc/cycles/total:gc-cycles)."}
	return []Finding{f}
}

// poolRefills is the share of CPU time that making objects for empty pools costs, and the share of
// those pools that the user's code calls itself.
func (a *account) poolRefills() (all, own float64) {
	for _, s := range a.sites {
		if i := s.poolGet(); i >= 0 {
			all += a.cost(s)
			if i+1 < len(s.frames) && s.frames[i+1].User {
				own += a.cost(s)
			}
		}
	}
	return a.share(all), a.share(own)
}

// gogcText says what GOGC is, and how that is known.
func (a *account) gogcText() string {
	switch a.pace.how {
	case Inferred:
		if _, told := a.metric(evidence.MetricMemoryLimit); !told && !a.limitTested() && a.pace.gogc < defaultGOGC {
			return fmt.Sprintf("By the sizes of its heap, the program runs with GOGC=%.0f, or with a memory limit to that effect", a.pace.gogc)
		}
		return fmt.Sprintf("By the sizes of its heap, the program runs with GOGC=%.0f", a.pace.gogc)
	case Assumed:
		return fmt.Sprintf("If GOGC is %d, as it is unless it is set", defaultGOGC)
	}
	return fmt.Sprintf("GOGC is %.0f", a.pace.gogc)
}

// findLimitThrash is the finding about a memory limit that decides when collections begin, where a larger
// one is worth its memory.
func findLimitThrash(a *account) []Finding {
	live, goal, ok := a.liveAndGoal()
	s, proposed := proposedSetting(a.settings())
	if !ok || !proposed || !a.pace.limited {
		return nil
	}
	f := a.finding(nil, s.Gain)
	f.setting = true
	f.CPUShare = a.share(a.mark)
	f.Evidence["live_bytes"], f.Evidence["goal_bytes"], f.Evidence["more_memory_bytes"] = live, goal, s.MoreBytes
	if cycle, ok := a.metric(evidence.MetricLimiterCycle); ok && cycle > 0 {
		f.Evidence["limiter_last_enabled_cycle"] = cycle
	}
	f.Check = []string{"Collections a second, and the heap's goal beside the live heap (/gc/heap/goal:bytes, /gc/heap/live:bytes)."}
	f.Remedy.Text = "gctune sets the limit from the cgroup, and reports a limit that is too tight."
	if goal <= tightLimit*live {
		f.Remedy.Text = "Or use less memory: a limit below 1.5 times the live heap costs more CPU than it saves memory. " + f.Remedy.Text
	}
	if limit := a.pace.limit; limit > 0 {
		f.Evidence["memory_limit_bytes"], f.Evidence["proposed_limit_bytes"] = limit, s.MemoryLimit
		f.Detail = fmt.Sprintf("The memory limit of %s leaves the heap %s for a live heap of %s, so the collector runs %s. The runtime gives no sign of that until the collector takes half of the CPU.",
			terminal.Bytes(limit), terminal.Bytes(goal), terminal.Bytes(live), a.cycleRate())
		f.Remedy.Text = "Raise GOMEMLIMIT to " + limitText(s.MemoryLimit) + ". " + f.Remedy.Text
		f.Remedy.Snippet = fmt.Sprintf("- GOMEMLIMIT=%s ./program\n+ GOMEMLIMIT=%s ./program", limitText(limit), limitText(s.MemoryLimit))
		return []Finding{f}
	}
	more := roundUp(s.MoreBytes/(1-limitReserve), 10<<20)
	f.Detail = fmt.Sprintf("The live heap is %s, and the collector runs whenever the program has allocated %s, %s. A memory limit leads to that, whose size is not in the evidence. "+
		"The runtime gives no sign of a tight limit until the collector takes half of the CPU.", terminal.Bytes(live), terminal.Bytes(a.pace.room), a.cycleRate())
	none := ""
	if supposed := a.pace.supposed; supposed > 0 {
		f.Evidence["supposed_gogc_percent"] = supposed
		none = fmt.Sprintf(" If there is no limit, GOGC is %.0f, and 100 has the same effect.", supposed)
	}
	f.Remedy.Text = "Look at GOMEMLIMIT (or debug.SetMemoryLimit) first: raise it by " + limitText(more) + "." + none + " " + f.Remedy.Text
	f.Remedy.Snippet = "- GOMEMLIMIT=OLD ./program\n+ GOMEMLIMIT=OLD+" + limitText(more) + " ./program"
	return []Finding{f}
}

func findProfilerCost(a *account) []Finding {
	share := a.share(a.cpu[stack.Profiler])
	if share < settingGain {
		return nil
	}
	rate, known := a.memProfileRate()
	to := float64(defaultMemProfileRate)
	switch {
	case known && rate == 0:
		return nil // it is off, so these are other profiles
	case rate >= to && share < dearProfiler:
		return nil // the default, which most programs leave as it is
	case rate >= to:
		to = 8 * rate
	}
	g := Gain{SameGOGC: share * (1 - rate/to)} // with an unknown rate, all of it: at the default rate the profiler would hardly show
	g.SameMemory = g.SameGOGC
	g.Error = nineInTen * (a.share(a.samplingError(share*a.total)) + modelError*g.SameGOGC)
	if g.SameGOGC < minGain {
		return nil
	}
	f := a.finding(nil, g)
	f.CPUShare = share
	f.Evidence["proposed_rate_bytes"] = to
	f.Detail = fmt.Sprintf("The memory profiler takes %s of CPU", terminal.Percent(share))
	snippet := "  func main() {\n"
	if known {
		f.Evidence["mem_profile_rate_bytes"] = rate
		f.Detail += fmt.Sprintf(": it samples one allocation per %s on average", terminal.Bytes(rate))
		snippet += fmt.Sprintf("-     runtime.MemProfileRate = %.0f\n", rate)
	}
	f.Detail += "."
	f.Remedy = Remedy{
		Text:    "Sample less often, or switch the profiler off if nothing reads the heap profile.",
		Snippet: snippet + fmt.Sprintf("+     runtime.MemProfileRate = %.0f // before the first allocation; 0 is off", to),
	}
	f.Check = []string{"The heap profile's figures stay estimates; with fewer samples small sites vanish from it."}
	return []Finding{f}
}

// memProfileRate is how many bytes are allocated for one sample of the memory profiler, 0 if it is
// off, and whether that is known. Heap profiles bear it as their period.
func (a *account) memProfileRate() (float64, bool) {
	if rate, ok := a.metric(evidence.MetricMemProfileRate); ok {
		return rate, true
	}
	for _, p := range []*profile.Profile{a.ev.Heap[1], a.ev.Heap[0]} {
		if p != nil && p.Period > 0 {
			return float64(p.Period), true
		}
	}
	return 0, false
}
