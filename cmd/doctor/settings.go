package doctor

import "github.com/freehold-go/freehold/cmd/evidence"

// gogc is the percentage in force, -1 if it is off, and whether it is known. Where nobody tells it,
// it follows from the heap's goal, but only if it is known that no memory limit has a part in that.
func (a *account) gogc() (float64, bool) {
	if v, ok := a.metric(evidence.MetricGOGC); ok {
		// Off is a number above all that anybody sets.
		if v < 0 || v > 1e9 {
			return -1, true
		}
		return v, true
	}
	live, goal, ok := a.liveAndGoal()
	if _, told := a.metric(evidence.MetricMemoryLimit); !told || a.memoryLimit() != 0 {
		return 0, false
	}
	if !ok || goal <= live || goal <= 4<<20 || a.live+a.roots == 0 {
		return 0, false
	}
	return (goal - live) / (a.live + a.roots) * 100, true
}

// memoryLimit is the limit in bytes, 0 if there is none or it is not known.
func (a *account) memoryLimit() float64 {
	if v, ok := a.metric(evidence.MetricMemoryLimit); ok && v > 0 && v < 1<<62 {
		return v
	}
	return 0
}

// limited reports whether the memory limit and not GOGC decides when collections begin.
func (a *account) limited() bool {
	live, goal, ok := a.liveAndGoal()
	gogc, known := a.gogc()
	if a.memoryLimit() == 0 || !ok || !known {
		return false
	}
	return gogc < 0 || goal < 0.95*(live+(live+a.roots)*gogc/100)
}
