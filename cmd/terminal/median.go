package terminal

import (
	"slices"

	"golang.org/x/perf/benchmath"
)

// Median is the middle of values, of which there must be at least one. Tables show it in place of a
// mean, because times on a shared machine have a long tail.
func Median(values []float64) float64 {
	s := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	return benchmath.AssumeNothing.Summary(s, 0.95).Center
}
