// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Median is the middle of values, of which there must be at least one. Tables show it in place of a
// mean, because times on a shared machine have a long tail.
func Median(values []float64) float64 {
	s := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(s, 0.95).Center
}

// Quantile is the smallest of the sorted values that the part q of them does not exceed; NaN if
// there are no values.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	i := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}
