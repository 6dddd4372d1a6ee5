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
	if live, goal, ok := a.liveAndGoal(); ok && goal < math.MaxInt64/2 {
		return max(goal-live, 0)
	}
	if a.pace.gogc > 0 {
		return a.roomAt(a.pace.gogc)
	}
	return 0
}

// enoughCycles is the number of collections from which the bytes allocated between two are known well.
const enoughCycles = 20

// countedRoom is the number of bytes that the program allocated from one collection to the next,
// over its whole life, and whether it is known. Collections that the program asked for do not
// count.
func (a *account) countedRoom() (float64, bool) {
	m := a.ev.Metrics[1]
	bytes, ok := m.Get(evidence.MetricAllocBytes)
	cycles, counted := m.Get(evidence.MetricCyclesTotal)
	forced, _ := m.Get(evidence.MetricCyclesForced)
	if n := cycles - forced; ok && counted && n >= enoughCycles {
		return bytes / n, true
	}
	return 0, false
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
