// SPDX-License-Identifier: Apache-2.0

package evidence

import "math"

// Metrics are values of a running Go program by their names in runtime/metrics, whichever way they
// were read. A value that its source lacks is absent.
type Metrics struct {
	// Source names the input of the values.
	Source string
	// Values are plain values, counters and gauges alike, in the unit that the name ends in.
	Values map[string]float64
	// Histograms are distributions, such as that of pauses.
	Histograms map[string]Histogram
}

// A Histogram counts values by ranges: Counts[i] of them were at least Buckets[i] and below
// Buckets[i+1].
type Histogram struct {
	// Counts has one element less than Buckets.
	Counts []uint64 `json:"counts"`
	// Buckets are the bounds, ascending; the first and the last may be infinite, or the largest
	// numbers in place of that.
	Buckets []float64 `json:"buckets"`
}

// Names of runtime/metrics that the doctor reads. They are spelled here because a program may be
// older or newer than the doctor.
const (
	MetricLiveHeap         = "/gc/heap/live:bytes"
	MetricHeapGoal         = "/gc/heap/goal:bytes"
	MetricAllocBytes       = "/gc/heap/allocs:bytes"
	MetricAllocObjects     = "/gc/heap/allocs:objects"
	MetricTinyAllocs       = "/gc/heap/tiny/allocs:objects"
	MetricHeapObjects      = "/gc/heap/objects:objects"
	MetricHeapInUse        = "/memory/classes/heap/objects:bytes"
	MetricScanHeap         = "/gc/scan/heap:bytes"
	MetricScanStack        = "/gc/scan/stack:bytes"
	MetricScanGlobals      = "/gc/scan/globals:bytes"
	MetricStackBytes       = "/memory/classes/heap/stacks:bytes"
	MetricTotalMemory      = "/memory/classes/total:bytes"
	MetricReleased         = "/memory/classes/heap/released:bytes"
	MetricGOGC             = "/gc/gogc:percent"
	MetricMemoryLimit      = "/gc/gomemlimit:bytes"
	MetricCyclesTotal      = "/gc/cycles/total:gc-cycles"
	MetricCyclesForced     = "/gc/cycles/forced:gc-cycles"
	MetricCyclesAutomatic  = "/gc/cycles/automatic:gc-cycles"
	MetricLimiterCycle     = "/gc/limiter/last-enabled:gc-cycle"
	MetricPauses           = "/sched/pauses/total/gc:seconds"
	MetricProcs            = "/sched/gomaxprocs:threads"
	MetricGoroutines       = "/sched/goroutines:goroutines"
	MetricFinalizersQueued = "/gc/finalizers/queued:finalizers"
	MetricFinalizersRun    = "/gc/finalizers/executed:finalizers"
	MetricCleanupsQueued   = "/gc/cleanups/queued:cleanups"
	MetricCleanupsRun      = "/gc/cleanups/executed:cleanups"
	MetricCPUTotal         = "/cpu/classes/total:cpu-seconds"
	MetricCPUGC            = "/cpu/classes/gc/total:cpu-seconds"
	MetricCPUMarkIdle      = "/cpu/classes/gc/mark/idle:cpu-seconds"
	MetricCPUIdle          = "/cpu/classes/idle:cpu-seconds"
	MetricCPUUser          = "/cpu/classes/user:cpu-seconds"
	MetricCPUScavenge      = "/cpu/classes/scavenge/total:cpu-seconds"
	MetricMutexWait        = "/sync/mutex/wait/total:seconds"
)

// Values that runtime/metrics does not have, under names of the same form.
const (
	// MetricNumCPU is runtime.NumCPU.
	MetricNumCPU = "/freehold/numcpu:cpus"
	// MetricUptime is the time since the program's start.
	MetricUptime = "/freehold/uptime:seconds"
	// MetricProcessCPU is the CPU time of the process, user and system.
	MetricProcessCPU = "/freehold/process/cpu:seconds"
	// MetricRSS is the resident set of the process.
	MetricRSS = "/freehold/process/rss:bytes"
	// MetricGCFraction is MemStats.GCCPUFraction: the collector's share of the CPU time that was
	// available since the program's start.
	MetricGCFraction = "/freehold/gc/cpu:fraction"
	// MetricOffHeap is what freehold's packages hold outside the Go heap.
	MetricOffHeap = "/freehold/offheap/resident:bytes"
	// MetricHeapIdle is MemStats.HeapIdle: memory of the heap without objects, released or not.
	MetricHeapIdle = "/freehold/heap/idle:bytes"
	// MetricShownLimit is the memory limit that would lead to the heap's goal. It is the limit in force
	// if two readings have the same, or if it is a round number; see [Metrics.showLimit].
	MetricShownLimit = "/freehold/gomemlimit/shown:bytes"
	// MetricMemProfileRate is runtime.MemProfileRate.
	MetricMemProfileRate = "/freehold/memprofilerate:bytes"
)

// Get is the value of a name, and whether it is known.
func (m Metrics) Get(name string) (float64, bool) {
	v, ok := m.Values[name]
	return v, ok && !math.IsNaN(v)
}

// Empty reports whether nothing is known.
func (m Metrics) Empty() bool { return len(m.Values) == 0 && len(m.Histograms) == 0 }

// Set notes a value.
func (m *Metrics) Set(name string, v float64) {
	if m.Values == nil {
		m.Values = map[string]float64{}
	}
	m.Values[name] = v
}

// headroom is the part of a limit's goal that the runtime leaves free, at least leastHeadroom.
const (
	headroom      = 0.03
	leastHeadroom = 1 << 20
)

// showLimit computes MetricShownLimit from the figures of one runtime.MemStats. The runtime's goal
// under a limit is the limit less what is no heap, less a headroom (runtime.memoryLimitHeapGoal);
// all that it computes this from is in MemStats, so the limit comes out exactly.
func (m *Metrics) showLimit() {
	total, ok1 := m.Get(MetricTotalMemory)
	released, ok2 := m.Get(MetricReleased)
	objects, ok3 := m.Get(MetricHeapInUse)
	goal, ok4 := m.Get(MetricHeapGoal)
	idle, ok5 := m.Get(MetricHeapIdle)
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || goal > math.MaxInt64/2 {
		return
	}
	limit := goal + max(goal*headroom/(1-headroom), leastHeadroom) + total - idle - objects
	if mapped := total - released; mapped > limit {
		limit = (limit + mapped) / 2 // the runtime takes what exceeds the limit off the goal
	}
	m.Set(MetricShownLimit, limit)
}
