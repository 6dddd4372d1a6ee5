// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"slices"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/terminal"
)

// addPace finds out how often collections run. It follows addState, and estimates the number of
// cycles if nothing counts them.
func (b *builder) addPace() {
	b.pace = pace{limit: b.memoryLimit()}
	p := &b.pace
	p.gogc, p.how = b.gogcOf()
	switch live, goal, known := b.liveAndGoal(); {
	case p.limit > 0 && p.limit == b.shownLimit():
		p.limited = true
	case p.limit > 0 && known:
		gogc := p.gogc
		if p.how == "" {
			gogc = defaultGOGC
		}
		p.limited = gogc < 0 || goal < 0.95*(live+(live+b.roots)*gogc/100)
	case p.limit == 0 && (b.noRoom() || b.fixedGoal() || b.rareGOGC()):
		p.limited, p.supposed = true, p.gogc
		p.gogc, p.how = 0, ""
	}
	b.settleLive()
	p.room = b.roomNow()
	if b.cycles == 0 && b.allocBytes > 0 && p.room > 0 {
		b.cycles, b.cyclesEstimated = b.allocBytes/p.room, true
	}
}

// gogcOf is the percentage in force and how it is known. A trace counts before the environment,
// because the program may have called debug.SetGCPercent. Without either, the program is assumed to
// have the default.
func (b *builder) gogcOf() (float64, Knowledge) {
	told, ok := b.metric(evidence.MetricGOGC)
	if ok && (told < 0 || told > 1e9) { // GOGC=off is -1 or a huge number.
		told = -1
	}
	if v, found := traceGOGC(b.ev.Trace); found && !(ok && agree(v, told)) && b.pace.limit == 0 {
		return v, Inferred
	}
	if ok {
		return told, Told
	}
	goal, known := b.metric(evidence.MetricHeapGoal)
	switch {
	case known && goal > math.MaxInt64/2:
		return -1, Inferred
	case b.pace.limit > 0:
		return 0, "" // The goal may be the limit's.
	case known:
		if gogc, ok := b.gogcOfGoal(goal); ok {
			return gogc, Inferred
		}
	}
	if b.liveKnown() {
		return defaultGOGC, Assumed
	}
	return 0, ""
}

// smallGoal is the size in bytes of a heap's goal below which the sampled bytes in use, of which there
// are fewer than 16 samples then, are a worse estimate of the live heap than the counters of
// allocation and collections.
const smallGoal = 16 << 20

// The part of the way from the live heap to the goal that the program has allocated when a collection
// ends. The runtime begins a collection after 0.7 of the way or later, the earlier the faster the
// program allocates, and it can end beyond the goal. The bounds allow for a mean over all
// collections.
const (
	leastOfRoom = 0.63
	usualOfRoom = 0.93
	mostOfRoom  = 1.1
)

// profilingBytes is how much taking a heap profile may allocate before HeapAlloc is read.
const profilingBytes = 2 << 20

// An estimate is a figure with the bounds that the evidence leaves.
type estimate struct{ low, usual, high float64 }

// liveFor estimates the live heap from a goal. The counters prove more than a size that was measured:
// HeapAlloc is not the live heap unless it is read right after a collection, which it is not where
// collections follow each other in milliseconds, and few samples say little.
func (b *builder) liveFor(goal float64) estimate {
	sampled := 2 * math.Sqrt(b.heapRate*max(b.inuse, b.heapRate))
	known := []estimate{{max(b.inuse-sampled, 0), b.inuse, b.inuse + sampled}}
	if b.inuse == 0 && (b.noInuse || b.ev.Heap[1] == nil) {
		known[0] = estimate{0, goal / 2, goal}
	}
	profiling := float64(profilingBytes)
	if b.liveTold() {
		profiling = 0
	}
	if measured, ok := b.metric(evidence.MetricLiveHeap); ok && measured > 0 {
		known = slices.Insert(known, 0, estimate{max(0.98*measured-profiling, 0), measured, 1.02 * measured})
	}
	room, inWindow, ok := b.countedRoom()
	if !ok || b.liveTold() || goal >= smallGoal && !inWindow || room/mostOfRoom >= goal {
		return known[0]
	}
	counted := estimate{max(goal-room/leastOfRoom, 0), max(goal-room/usualOfRoom, 0), goal - room/mostOfRoom}
	if !inWindow && known[0].low <= goal/2 {
		// If the program allocated more at GOGC=100, the goal is of a quieter time.
		counted.high = max(counted.high, goal/2)
	}
	if goal < smallGoal {
		return counted
	}
	for _, e := range known {
		if e.low <= counted.high && e.high >= counted.low {
			low, high := max(e.low, counted.low), min(e.high, counted.high)
			return estimate{low, min(max(counted.usual, low), high), high}
		}
	}
	return counted
}

// liveTold reports whether the runtime itself tells the live heap, in its metrics or in a trace. The
// text of a heap profile has only HeapAlloc.
func (b *builder) liveTold() bool {
	_, live := b.metric(evidence.MetricLiveHeap)
	_, gogc := b.metric(evidence.MetricGOGC)
	return live && (gogc || b.ev.Trace != nil)
}

// settleLive brings the live heap in agreement with the goal.
func (b *builder) settleLive() {
	goal, known := b.metric(evidence.MetricHeapGoal)
	if !known || goal > math.MaxInt64/2 || b.liveTold() {
		return
	}
	e, p := b.liveFor(goal), b.pace
	if p.gogc > 0 && !p.limited {
		times := p.gogc / 100
		high := (goal - b.roots*times) / (1 + times)
		if e.high = min(e.high, high); goal > smallestHeap*times {
			e.low, e.high = (goal-b.mostRoots()*times)/(1+times), high
		}
	}
	if goal < smallGoal && e.usual > 0 {
		b.live = e.usual
	}
	b.live = max(min(max(b.live, e.low), e.high), 0)
}

// mostRoots is the size of the roots that GOGC counts, or a bound for it: stacks are scanned as far as
// they are used.
func (b *builder) mostRoots() float64 {
	stacks, _ := b.metric(evidence.MetricStackBytes)
	if _, told := b.metric(evidence.MetricScanStack); told {
		return b.roots
	}
	return b.roots + stacks
}

// leastRoom is the part of the live heap that a program allocates at least from one collection to the
// next, unless a memory limit leaves it no more: few people set a GOGC below 10.
const leastRoom = 0.05

// noRoom reports whether collections follow each other so closely that a memory limit must be the
// cause.
func (b *builder) noRoom() bool {
	room, _, ok := b.countedRoom()
	return ok && b.live > smallGoal && room < leastRoom*b.live
}

// gogcOfGoal is the percentage that leads to a goal, and whether there is one.
func (b *builder) gogcOfGoal(goal float64) (float64, bool) {
	e := b.liveFor(goal)
	if least := goal / smallestHeap * 100; least == defaultGOGC || slices.Contains(commonGOGC, least) {
		if e.low <= goal/(1+least/100) {
			return least, true // no other goal is so round
		}
	}
	if goal <= e.usual {
		return 0, false
	}
	of := func(live, roots float64) float64 { return max(goal-live, 0) / max(live+roots, 1) * 100 }
	return common(estimate{of(e.high, b.mostRoots()), of(e.usual, b.roots), of(e.low, b.roots)}), true
}

// rareGOGC reports whether a percentage was inferred that is below the default, in a heap that may
// have a memory limit: such a limit is more frequent than such a percentage. It is not where the
// runtime's statistics show no limit, nor where the goal moved with the live heap.
func (b *builder) rareGOGC() bool {
	_, goal, known := b.liveAndGoal()
	_, told := b.metric(evidence.MetricMemoryLimit)
	if b.pace.how != Inferred || b.pace.gogc < 0 || b.pace.gogc >= defaultGOGC || b.ev.Trace != nil || told || b.limitTested() || !known || goal < smallGoal {
		return false
	}
	before, ok := b.ev.Metrics[0].Get(evidence.MetricHeapGoal)
	return !ok || math.Abs(before-goal) < 0.1*goal
}

// commonGOGC are percentages that people set, besides the default.
var commonGOGC = []float64{5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 75, 80, 120, 125, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1600, 2000}

// common is the percentage that people set which is nearest to an inferred one, within its bounds, or
// the inferred one if there is none. The default is meant more often than all others.
func common(e estimate) float64 {
	if e.low <= defaultGOGC && defaultGOGC <= e.high {
		return defaultGOGC
	}
	best := 0.0
	for _, c := range commonGOGC {
		if e.low <= c && c <= e.high && (best == 0 || math.Abs(math.Log(c/e.usual)) < math.Abs(math.Log(best/e.usual))) {
			best = c
		}
	}
	if best == 0 {
		return math.Round(e.usual)
	}
	return best
}

// agree reports whether an inferred percentage can be that of the environment.
func agree(inferred, told float64) bool {
	return told > 0 && math.Abs(inferred-told) < 0.25*told
}

// traceGOGC is the percentage that the goals in a trace follow from, and whether there is one: the
// median over all cycles whose sizes, which the trace rounds to MiB, are large enough. Each goal
// follows from the live heap after the cycle before it.
func traceGOGC(t *evidence.GCTrace) (float64, bool) {
	if t == nil {
		return 0, false
	}
	var values []float64
	for i := 1; i < len(t.Cycles); i++ {
		before, c := t.Cycles[i-1], t.Cycles[i]
		live, roots := float64(before.Live), float64(before.Stacks+before.Globals)
		if c.Number != before.Number+1 || live < 4<<20 || float64(c.Goal)-live < 2<<20 {
			continue
		}
		values = append(values, (float64(c.Goal)-live)/(live+roots)*100)
	}
	if len(values) < 3 {
		return 0, false
	}
	slices.Sort(values)
	median := terminal.Median(values)
	if spread := values[len(values)*3/4] - values[len(values)/4]; spread > 0.3*median {
		return 0, false // No single percentage made these goals.
	}
	if math.Abs(median-defaultGOGC) < 15 {
		return defaultGOGC, true
	}
	return common(estimate{median / 1.08, median, median * 1.08}), true
}

// fixedGoal reports whether the heap's goal did not change while the live heap changed: then the
// goal comes from a memory limit that the program has set itself.
func (b *builder) fixedGoal() bool {
	if b.limitTested() {
		return false
	}
	if t := b.ev.Trace; t != nil && len(t.Cycles) >= 6 {
		var goals, lives []float64
		for i := len(t.Cycles) / 2; i < len(t.Cycles); i++ {
			goals, lives = append(goals, float64(t.Cycles[i].Goal)), append(lives, float64(t.Cycles[i-1].Live))
		}
		return fixed(goals, lives)
	}
	var goals, lives []float64
	for _, m := range b.ev.Metrics {
		goal, ok1 := m.Get(evidence.MetricHeapGoal)
		live, ok2 := m.Get(evidence.MetricLiveHeap)
		if !ok1 || !ok2 {
			return false
		}
		goals, lives = append(goals, goal), append(lives, live)
	}
	return fixed(goals, lives)
}

// fixed reports whether all goals are equal while lives differ.
func fixed(goals, lives []float64) bool {
	low, high := slices.Min(goals), slices.Max(goals)
	least, most := slices.Min(lives), slices.Max(lives)
	return low > 2*smallestHeap && high-low <= max(0.02*high, 1<<20) && most-least > max(0.1*most, 4<<20)
}
