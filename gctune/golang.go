// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"math"
	"runtime/metrics"
)

// goState has the runtime's own figures, in bytes unless a field says otherwise.
type goState struct {
	live   int64 // marked by the last collection; 0 before the first
	roots  int64 // stacks and globals that a collection scans
	taken  int64 // taken from the system and not returned; GOMEMLIMIT bounds this
	beside int64 // the part of taken that is not heap: stacks, tables, buffers

	gogc    int    // in force, -1 for off
	limiter uint64 // the last cycle in which the runtime bounded the collector's share of CPU
	cycles  uint64

	cpuGC, cpuAll float64 // seconds, without the collector's work on idle processors
}

// unlimited is the memory that Go takes with GOGC=100 and no limit, plus the part by which the
// runtime stays below a limit.
func (g *goState) unlimited() int64 {
	return int64(float64(2*g.live+g.roots+g.beside) / (1 - runtimeHeadroom))
}

// newGoReader returns a function that reads the state. It reuses its buffer and is for one
// goroutine at a time.
func newGoReader() func() goState {
	names := [...]string{
		"/gc/heap/live:bytes",
		"/gc/scan/stack:bytes",
		"/gc/scan/globals:bytes",
		"/memory/classes/total:bytes",
		"/memory/classes/heap/released:bytes",
		"/memory/classes/heap/objects:bytes",
		"/memory/classes/heap/unused:bytes",
		"/memory/classes/heap/free:bytes",
		"/gc/gogc:percent",
		"/gc/limiter/last-enabled:gc-cycle",
		"/gc/cycles/total:gc-cycles",
		"/cpu/classes/gc/total:cpu-seconds",
		"/cpu/classes/gc/mark/idle:cpu-seconds",
		"/cpu/classes/total:cpu-seconds",
	}
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	number := func(i int) uint64 { // 0 if a later Go lacks it
		if samples[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return samples[i].Value.Uint64()
	}
	seconds := func(i int) float64 {
		if samples[i].Value.Kind() != metrics.KindFloat64 {
			return 0
		}
		return samples[i].Value.Float64()
	}
	return func() (g goState) {
		metrics.Read(samples)
		g.live = int64(number(0))
		g.roots = int64(number(1) + number(2))
		g.taken = int64(number(3) - number(4))
		g.beside = max(0, g.taken-int64(number(5)+number(6)+number(7)))
		g.gogc = -1
		if n := number(8); n <= math.MaxInt32 {
			g.gogc = int(n)
		}
		g.limiter, g.cycles = number(9), number(10)
		g.cpuGC, g.cpuAll = seconds(11)-seconds(12), seconds(13)
		return g
	}
}
