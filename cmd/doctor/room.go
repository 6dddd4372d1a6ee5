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
	return 0
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
	if bytes, ok := a.counter(evidence.MetricAllocBytes); ok && a.cycles >= 5 {
		return bytes / a.cycles
	}
	if counted, ok := a.countedRoom(); ok && a.pace.limited {
		return counted
	}
	if live, goal, ok := a.liveAndGoal(); ok && goal < math.MaxInt64/2 && a.growth == 0 { // The goal is that of the end.
		return max(goal-live, 0)
	}
	if a.pace.gogc > 0 {
		return a.roomAt(a.pace.gogc)
	}
	return 0
}

// enoughCycles is the number of collections from which the bytes allocated between two are known well.
const enoughCycles = 20

// countedRoom is the number of bytes that the program allocated from one collection to the next, and
// whether it is known: in the window, or else over its whole life. Collections that the program asked
// for do not count.
func (a *account) countedRoom() (float64, bool) {
	if room, ok := a.windowRoom(); ok {
		return room, true
	}
	bytes, cycles, ok := allocCounts(a.ev.Metrics[1])
	return bytes / cycles, ok && cycles >= enoughCycles
}

// windowRoom is countedRoom in the window alone.
func (a *account) windowRoom() (float64, bool) {
	before, n, ok1 := allocCounts(a.ev.Metrics[0])
	bytes, cycles, ok2 := allocCounts(a.ev.Metrics[1])
	return (bytes - before) / (cycles - n), ok1 && ok2 && cycles-n >= enoughCycles
}

// allocCounts are the bytes allocated and the collections, without those that the program asked for.
func allocCounts(m evidence.Metrics) (bytes, cycles float64, ok bool) {
	bytes, ok1 := m.Get(evidence.MetricAllocBytes)
	cycles, ok2 := m.Get(evidence.MetricCyclesTotal)
	forced, _ := m.Get(evidence.MetricCyclesForced)
	return bytes, cycles - forced, ok1 && ok2
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
