// SPDX-License-Identifier: Apache-2.0

// Package cost counts the collector's work while a function runs.
package cost

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

// A Cost is the work of the collector during a function, in the whole process.
type Cost struct {
	Elapsed     time.Duration
	Collections uint64
	Collector   time.Duration // CPU time of the collections that ended meanwhile.
	Objects     uint64        // Allocated on the Go heap.
}

// Of runs f and returns its cost. It collects garbage first, so that f does not pay for the garbage
// of the code before it.
func Of(f func()) Cost {
	runtime.GC()
	before, began := read(), time.Now()
	f()
	elapsed, after := time.Since(began), read()
	return Cost{
		Elapsed:     elapsed,
		Collections: after.Collections - before.Collections,
		Collector:   after.Collector - before.Collector,
		Objects:     after.Objects - before.Objects,
	}
}

// String is one line for people.
func (c Cost) String() string {
	return fmt.Sprintf("%v; %d collections took %v of CPU; %d objects on the Go heap",
		c.Elapsed.Round(time.Millisecond), c.Collections, c.Collector.Round(10*time.Microsecond), c.Objects)
}

// read returns the totals of the process. ReadMemStats is used for the objects because it is exact:
// the runtime's metrics count an object when its span is full.
func read() Cost {
	samples := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(samples)
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return Cost{
		Collections: samples[0].Value.Uint64(),
		Collector:   time.Duration(samples[1].Value.Float64() * float64(time.Second)),
		Objects:     stats.Mallocs,
	}
}
