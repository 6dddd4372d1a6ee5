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
	b.addCountedHeap()
	b.pace.gogc, b.pace.how = b.gogcOf()
	live, goal, known := b.liveAndGoal()
	p := &b.pace
	switch {
	case p.limit > 0 && known && p.how != "":
		p.limited = p.gogc < 0 || goal < 0.95*(live+(live+b.roots)*p.gogc/100)
	case p.limit == 0 && (b.fixedGoal() || b.noRoom() || b.oddGOGC()):
		p.limited, p.gogc, p.how = true, 0, ""
	}
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
	if v, found := traceGOGC(b.ev.Trace); found && !(ok && agree(v, told)) && b.memoryLimit() == 0 {
		return v, Inferred
	}
	if ok {
		return told, Told
	}
	live, goal, known := b.liveAndGoal()
	limit, limitTold := b.metric(evidence.MetricMemoryLimit)
	switch {
	case known && goal > math.MaxInt64/2:
		return -1, Inferred
	case limitTold && limit < 1<<62 && b.memoryLimit() != 0:
		return 0, "" // The goal may be the limit's.
	case known && goal > live:
		blur := min(blurredLive/live, 0.6)
		if b.sampledLive {
			blur += math.Sqrt(b.heapRate / live) // the standard deviation of live, as a part of it
		}
		return common(gogcOfGoal(live, b.roots, goal), blur), Inferred
	case b.liveKnown():
		return defaultGOGC, Assumed
	}
	return 0, ""
}

// smallGoal is the size in bytes of a heap's goal below which the sampled bytes in use, of which there
// are fewer than 16 samples then, are a worse estimate of the live heap than the counters of
// allocation and collections.
const smallGoal = 16 << 20

// fastCycles is the number of collections a second from which the heap in use at any moment, right
// after a collection too, has much that is garbage already.
const fastCycles = 20

// addCountedHeap replaces the size of the live heap where the heap profile or the heap in use tell it
// badly: in a small heap and in one that is collected all the time. It is then the goal less the bytes
// that the program allocates from one collection to the next.
func (b *builder) addCountedHeap() {
	_, scan := b.metric(evidence.MetricScanHeap)
	if live, told := b.metric(evidence.MetricLiveHeap); told && live > 0 && scan {
		return // The runtime's own figures.
	}
	goal, ok := b.metric(evidence.MetricHeapGoal)
	room, counted := b.countedRoom()
	if goal >= smallGoal {
		// Over a whole life the live heap may have been smaller.
		room, counted = b.windowRoom()
		counted = counted && b.cycles >= fastCycles*b.window.Seconds()
	}
	if !ok || !counted || room >= goal {
		return
	}
	b.live, b.sampledLive = goal-room, false
	// A collection begins before the goal, the earlier the faster the program allocates. So 60 is
	// rather 100 than a setting.
	if gogc := gogcOfGoal(b.live, b.roots, goal); gogc > 60 && gogc < 140 && goal > smallestHeap {
		b.live = (goal - b.roots) / 2
	}
}

// leastRoom is the part of the live heap that a program allocates at least from one collection to the
// next, unless a memory limit leaves it no more: few people set a GOGC below 10.
const leastRoom = 0.05

// noRoom reports whether collections follow each other so closely that a memory limit must be the
// cause.
func (b *builder) noRoom() bool {
	room, ok := b.countedRoom()
	return ok && b.live > smallGoal && room < leastRoom*b.live
}

// oddGOGC reports whether the sizes of the heap fit no percentage that people set, and differ at both
// ends of the window: a memory limit is the likelier cause.
func (b *builder) oddGOGC() bool {
	p := b.pace
	if p.how != Inferred || p.gogc <= 0 || p.gogc >= defaultGOGC || b.live < smallGoal || slices.Contains(commonGOGC, p.gogc) {
		return false
	}
	live, ok1 := b.ev.Metrics[0].Get(evidence.MetricLiveHeap)
	goal, ok2 := b.ev.Metrics[0].Get(evidence.MetricHeapGoal)
	if !ok1 || !ok2 || goal <= live {
		return true // One end alone: in doubt the limit is looked at first.
	}
	return !agree(gogcOfGoal(live, b.roots, goal), p.gogc)
}

// gogcOfGoal is the percentage that leads to a goal. If the live heap is too small to matter, it is
// the percentage with the goal as its smallest heap; otherwise it is the percentage by which the
// live heap may grow.
func gogcOfGoal(live, roots, goal float64) float64 {
	if least := goal / smallestHeap * 100; live+(live+roots)*least/100 <= goal {
		return least
	}
	return (goal - live) / (live + roots) * 100
}

// commonGOGC are percentages that people set, besides the default.
var commonGOGC = []float64{5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 75, 80, 120, 125, 150, 200, 250, 300, 400, 500, 600, 800, 1000, 1600, 2000}

// blurredLive is by how many bytes the live heap may be off: what taking the profiles allocated, and
// the sampling of a small heap.
const blurredLive = 2 << 20

// common is the percentage that people set nearest to one that was inferred, if it is near enough to be
// meant, and the inferred one otherwise. blur is by what part the live heap may be off. The default is
// meant more often than all others.
func common(gogc, blur float64) float64 {
	if math.Abs(gogc-defaultGOGC) < (0.15+blur)*defaultGOGC {
		return defaultGOGC
	}
	for _, c := range commonGOGC {
		if math.Abs(gogc-c) < 0.08*c {
			return c
		}
	}
	return math.Round(gogc)
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
	return common(median, 0), true
}

// fixedGoal reports whether the heap's goal did not change while the live heap changed: then the
// goal comes from a memory limit that the program has set itself.
func (b *builder) fixedGoal() bool {
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
