package doctor

import (
	"fmt"
	"math"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/doctor/stack"
	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// profilerID names the finding that idle programs have, too.
const profilerID = "profiler-cost"

const (
	// smallGoal is the heap size in bytes below which memory is so cheap that collecting often is
	// not worth its CPU time.
	smallGoal = 32 << 20
	// roomyGoal is the proposed goal, as far as highestGOGC reaches it.
	roomyGoal = 64 << 20
	// highestGOGC is the largest percentage that is proposed: a live heap that grows takes that
	// many times as much memory.
	highestGOGC = 800
	// oftenCycles is the number of collections a second from which a small heap counts as collected
	// too often.
	oftenCycles = 20
	// tightLimit is how many times the live heap a limit leaves at most when it makes the collector
	// run all the time.
	tightLimit = 1.5
	// settingGain is the least gain for which a setting is worth changing: it trades memory for CPU
	// time, so it must be more than a site's.
	settingGain = 0.02
	// defaultMemProfileRate is the default of runtime.MemProfileRate.
	defaultMemProfileRate = 512 << 10
)

// room is how many bytes are allocated from one collection to the next: as counted, or else as the
// goal has it.
func (a *account) room() float64 {
	if bytes, ok := a.counter(evidence.MetricAllocBytes); ok && a.cycles >= 5 {
		return bytes / a.cycles
	}
	live, goal, ok := a.liveAndGoal()
	if !ok {
		return 0
	}
	return max(goal-live, 0)
}

// roomAt is what it would be at another GOGC. The smallest heap grows with GOGC, too.
func (a *account) roomAt(gogc float64) float64 {
	return max((a.live+a.roots)*gogc/100, smallestHeap*gogc/100-a.live)
}

func findGCTooOften(a *account) []Finding {
	gogc, ok := a.gogc()
	if !ok || gogc < 0 || a.limited() {
		return nil
	}
	live, goal, known := a.liveAndGoal()
	var to, left float64
	switch {
	case gogc < 95:
		to, left = 100, gogc/100
	case known && goal < smallGoal && a.window > 0 && a.cycles/a.window.Seconds() >= oftenCycles:
		to = min(roundUp((roomyGoal-live)/max(live+a.roots, 1<<20)*100, 100), highestGOGC)
		left = min(a.room()/a.roomAt(to), 1)
	default:
		return nil
	}
	g := a.cyclesTo(left)
	if g.SameGOGC < settingGain {
		return nil
	}
	f := a.finding(nil, g)
	f.setting, f.first = true, gogc < 95
	f.CPUShare = a.share(a.mark)
	f.Evidence["gogc_percent"], f.Evidence["proposed_gogc_percent"] = math.Round(gogc), to
	f.Evidence["live_bytes"], f.Evidence["goal_bytes"] = live, goal
	more := a.roomAt(to) - a.room()
	f.Evidence["more_memory_bytes"] = max(more, 0)
	f.Detail = fmt.Sprintf("GOGC is %.0f, the live heap is %s, and the collector runs %s. With GOGC=%.0f it would run %s as often, for about %s more memory.",
		gogc, terminal.Bytes(live), a.cycleRate(), to, terminal.Percent(left), terminal.Bytes(max(more, 0)))
	f.Remedy = Remedy{
		Text:    "Let the heap grow further before a collection: raise GOGC, or use gctune, which keeps the program below its memory limit.",
		Snippet: fmt.Sprintf("- GOGC=%.0f ./program\n+ GOGC=%.0f ./program        # or: gctune.Start(ctx, gctune.Options{})", gogc, to),
	}
	f.Check = []string{"Peak memory: it rises by the figure above, and in proportion if the live heap grows. Set GOMEMLIMIT as well if memory has a bound.", "Collections a second (/gc/cycles/total:gc-cycles)."}
	return []Finding{f}
}

func findLimitThrash(a *account) []Finding {
	live, goal, ok := a.liveAndGoal()
	limit := a.memoryLimit()
	if !ok || !a.limited() || goal > tightLimit*live {
		return nil
	}
	room := a.room()
	left := min(room/live, 1)
	g := a.cyclesTo(left)
	if g.SameGOGC < settingGain {
		return nil
	}
	proposed := roundUp(limit+2*live-goal, 10<<20)
	f := a.finding(nil, g)
	f.setting, f.first = true, true
	f.CPUShare = a.share(a.mark)
	f.Evidence["memory_limit_bytes"], f.Evidence["proposed_limit_bytes"] = limit, proposed
	f.Evidence["live_bytes"], f.Evidence["goal_bytes"] = live, goal
	if cycle, ok := a.metric(evidence.MetricLimiterCycle); ok && cycle > 0 {
		f.Evidence["limiter_last_enabled_cycle"] = cycle
	}
	f.Detail = fmt.Sprintf("The memory limit of %s leaves the heap %s for a live heap of %s, so the collector runs %s. The runtime gives no sign of that until the collector takes half of the CPU.",
		terminal.Bytes(limit), terminal.Bytes(goal), terminal.Bytes(live), a.cycleRate())
	f.Remedy = Remedy{
		Text:    "Raise the limit so that the live heap can double, or use less memory: a limit below 1.5 times the live heap costs more CPU than it saves memory. gctune sets the limit from the cgroup, and reports a limit that is too tight.",
		Snippet: fmt.Sprintf("- GOMEMLIMIT=%s\n+ GOMEMLIMIT=%s", limitText(limit), limitText(proposed)),
	}
	f.Check = []string{"Collections a second, and the heap's goal beside the live heap (/gc/heap/goal:bytes, /gc/heap/live:bytes)."}
	return []Finding{f}
}

func roundUp(v, unit float64) float64 { return math.Ceil(v/unit) * unit }

// limitText is bytes as GOMEMLIMIT is written.
func limitText(v float64) string { return fmt.Sprintf("%.0fMiB", v/(1<<20)) }

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
	case rate >= to:
		to = 8 * rate
	}
	g := Gain{SameGOGC: share * (1 - rate/to)} // at an unknown rate all of it: at the default it would hardly show
	g.SameMemory = g.SameGOGC
	g.Error = a.share(a.samplingError(share*a.total)) + modelError*g.SameGOGC
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
