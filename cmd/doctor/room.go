// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// memoryLimit is the limit in bytes, 0 if there is none or it is not known.
func (a *account) memoryLimit() float64 {
	if v, ok := a.metric(evidence.MetricMemoryLimit); ok && v > 0 && v < 1<<62 {
		return v
	}
	return a.shownLimit()
}

// exact is the largest difference in bytes between two equal limits: the runtime rounds.
const exact = 512

// shownLimit is the limit that the heap's goal shows, 0 if it shows none: a whole number of MiB, or
// the same number after further collections. A goal that follows from GOGC shows others.
func (a *account) shownLimit() float64 {
	before, ok0 := a.ev.Metrics[0].Get(evidence.MetricShownLimit)
	after, ok1 := a.ev.Metrics[1].Get(evidence.MetricShownLimit)
	for _, v := range []float64{after, before} {
		if whole := math.Round(v/(1<<20)) * (1 << 20); whole > 0 && math.Abs(v-whole) <= exact {
			return whole
		}
	}
	first, _ := a.ev.Metrics[0].Get(evidence.MetricCyclesTotal)
	last, _ := a.ev.Metrics[1].Get(evidence.MetricCyclesTotal)
	if ok0 && ok1 && first < last && math.Abs(before-after) <= exact {
		return after
	}
	return 0
}

// limitTested reports whether the evidence would show a limit that decides when collections begin.
func (a *account) limitTested() bool {
	_, ok := a.ev.Metrics[1].Get(evidence.MetricShownLimit)
	return ok
}

// liveKnown reports whether anything tells of the live heap. A heap profile without anything in use
// does: the heap is then smaller than the profile can tell, and the smallest heap decides.
func (a *account) liveKnown() bool { return a.live > 0 || a.ev.Heap[1] != nil }

// liveUnknown reports whether collections are known to read much that no heap profile shows, because
// the only one was taken at the program's exit.
func (a *account) liveUnknown() bool { return a.exitHeap && a.live == 0 }

// roomNow is the number of bytes that the program allocates from one collection to the next: as
// counted, or else computed from the goal, or else from GOGC.
func (a *account) roomNow() float64 {
	if a.roomCounted() {
		if bytes, ok := a.counter(evidence.MetricAllocBytes); ok && a.cycles >= 5 {
			return bytes / a.cycles
		}
		counted, _, _ := a.countedRoom()
		return counted
	}
	if live, goal, ok := a.liveAndGoal(); ok && goal < math.MaxInt64/2 {
		return max(goal-live, 0)
	}
	if a.pace.gogc > 0 {
		return a.roomAt(a.pace.gogc)
	}
	return 0
}

// roomCounted reports whether counters tell roomNow.
func (a *account) roomCounted() bool {
	if _, ok := a.counter(evidence.MetricAllocBytes); ok && a.cycles >= 5 && !a.cyclesEstimated {
		return true
	}
	_, _, ok := a.countedRoom()
	return ok && a.pace.limited
}

// enoughCycles is the number of collections from which the bytes allocated between two are known well.
const enoughCycles = 20

// countedRoom is the number of bytes that the program allocated from one collection to the next in
// the window, or else over its whole life, and whether it is known. Collections that the program
// asked for do not count.
func (a *account) countedRoom() (bytes float64, inWindow, ok bool) {
	for i, start := range []evidence.Metrics{a.ev.Metrics[0], {}} {
		grown := func(name string) float64 {
			before, _ := start.Get(name)
			after, _ := a.ev.Metrics[1].Get(name)
			return after - before
		}
		bytes, cycles := grown(evidence.MetricAllocBytes), grown(evidence.MetricCyclesTotal)-grown(evidence.MetricCyclesForced)
		if _, counted := start.Get(evidence.MetricAllocBytes); (counted || i == 1) && bytes > 0 && cycles >= enoughCycles {
			return bytes / cycles, i == 0, true
		}
	}
	return 0, false, false
}

// roomAt is the number of bytes that the program would allocate from one collection to the next at
// a GOGC. The smallest heap, 4 MiB at GOGC=100, grows with GOGC, too.
func (a *account) roomAt(gogc float64) float64 {
	return max((a.live+a.roots)*gogc/100, smallestHeap*gogc/100-a.live)
}

// left is the part of the collections that remains at another GOGC.
func (a *account) left(gogc float64) float64 {
	now := a.pace.room
	if a.pace.gogc > 0 && !a.pace.limited {
		now = a.roomAt(a.pace.gogc)
	}
	to := a.roomAt(gogc)
	if now == 0 || to == 0 {
		return 1
	}
	return min(now/to, 1)
}
