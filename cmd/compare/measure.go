// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"math"
	"slices"
	"strings"
)

// Names of measures in the report. A benchmark's own metrics come under the names that it gives
// them.
const (
	MeasureCPU        = "cpu"
	MeasureWall       = "wall"
	MeasureGCCPU      = "gc_cpu"
	MeasureGCCycles   = "gc_cycles"
	MeasurePauseP50   = "pause_p50"
	MeasurePauseP99   = "pause_p99"
	MeasurePauseMax   = "pause_max"
	MeasurePausesRate = "pauses_per_minute"
	MeasurePausedTime = "paused_per_minute"
	MeasurePeakHeap   = "peak_heap"
	MeasurePeakRSS    = "peak_rss"
	MeasureAllocBytes = "alloc_bytes"
	MeasureAllocs     = "allocs"
)

// A kind holds the properties that all values of a measure share.
type kind struct {
	name  string
	label string
	unit  string // "s", "B" or "", the number of things
	per   bool   // the value is divided by the work done, so that the unit is one per operation or process
}

// kinds are the measures in the order of the report.
var kinds = []kind{
	{MeasureCPU, "CPU time", "s", true},
	{MeasureWall, "elapsed time", "s", true},
	{MeasureGCCPU, "collector's CPU", "s", true},
	{MeasureGCCycles, "collections", "", true},
	{MeasurePauseP50, "pause, median", "s", false},
	{MeasurePauseP99, "pause, 99th percentile", "s", false},
	{MeasurePauseMax, "pause, longest", "s", false},
	{MeasurePausesRate, "pauses a minute", "", false},
	{MeasurePausedTime, "paused a minute", "s", false},
	{MeasurePeakHeap, "peak heap", "B", false},
	{MeasurePeakRSS, "peak RSS", "B", false},
	{MeasureAllocBytes, "allocated bytes", "B", true},
	{MeasureAllocs, "allocated objects", "", true},
}

// kindOf finds a measure. An unlisted measure is a benchmark's own metric, whose name is its unit:
// nothing is known of it.
func kindOf(name string) kind {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 {
		return kinds[i]
	}
	return kind{name: name, label: name}
}

// kindOrder is the place of a measure in the report: the listed ones first, then metrics by name.
func kindOrder(a, b string) int {
	place := func(name string) int {
		if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 {
			return i
		}
		return len(kinds)
	}
	if d := place(a) - place(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// A sample is what one run measured, by measure, in seconds, bytes or numbers. Values that its
// source lacks are absent.
type sample map[string]float64

// A series holds the values of one measure, over all pairs in which both sides have it.
type series struct{ a, b []float64 }

// measured collects the pairs of samples by measure. A benchmark may report values that are no
// numbers, such as a rate of 0 by 0; such a pair cannot be part of an interval, nor of JSON.
func measured(pairs [][2]sample) map[string]*series {
	all := map[string]*series{}
	for _, p := range pairs {
		for name, a := range p[0] {
			b, ok := p[1][name]
			if !ok || !isFinite(a) || !isFinite(b) {
				continue
			}
			if all[name] == nil {
				all[name] = new(series)
			}
			all[name].a = append(all[name].a, a)
			all[name].b = append(all[name].b, b)
		}
	}
	return all
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
