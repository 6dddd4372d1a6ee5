// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"time"
)

const (
	// leastCurve is the number of heap profiles from which the bytes in use over the window are a
	// curve.
	leastCurve = 3
	// leastGrowth is the least difference of the mean from the last value, as a part of it, for which
	// the mean counts, besides the error of the sampled bytes.
	leastGrowth = 0.15
)

// addCurve replaces the sizes at the window's end by their means over the window, if the heap grew
// or shrank in it: collections in a growing heap read the data of their time, and not that of
// the end. A few samples of a small heap are no curve. addCurve follows addPace, because GOGC
// follows from the sizes at one moment. A trace has its own mean.
func (b *builder) addCurve() {
	curve := b.ev.Curve
	if len(curve) < leastCurve || b.noInuse || b.ev.Trace != nil {
		return
	}
	mean, last := 0.0, curve[len(curve)-1]
	for _, v := range curve {
		mean += v / float64(len(curve))
	}
	if last < smallGoal || mean < smallGoal || math.Abs(mean/last-1) < leastGrowth+math.Sqrt(b.heapRate/last) {
		return
	}
	b.growth = mean / last
	b.live *= b.growth
	b.scan = (b.scan-b.roots)*b.growth + b.roots
	for _, s := range b.sites {
		s.inuseBytes *= b.growth
		s.inuseObjects *= b.growth
		s.age = min(maxAge, time.Duration(float64(s.age)*b.growth))
		for i := range s.traces {
			s.traces[i].inuseBytes *= b.growth
		}
	}
	if !b.roomCounted() {
		b.pace.room *= b.growth // the goal is the end's, like the live heap that GOGC follows from
	}
	if b.cyclesEstimated && b.pace.room > 0 {
		b.cycles = b.allocBytes / b.pace.room
	}
}
