// SPDX-License-Identifier: Apache-2.0

// Package pairs estimates the ratio of two quantities that were measured in pairs, such as the CPU
// time of two programs that ran in turns.
//
// Each pair gives one logarithm of the ratio. The estimate is the Hodges-Lehmann pseudo-median of
// these logarithms, the median of all means of two. The interval is that of Wilcoxon's signed-rank
// test (M. Hollander, D. A. Wolfe, E. Chicken: Nonparametric Statistical Methods, 3rd edition,
// sections 3.1 to 3.3). The test assumes that the logarithms are distributed symmetrically, as
// differences of two alike noises are, and assumes nothing else of the noise. Up to 29 % of the pairs
// may be outliers without moving the estimate arbitrarily; a mean follows a single one.
// [golang.org/x/perf/benchmath] compares unpaired samples, so noise that affects both sides widens
// its interval.
package pairs

import (
	"math"
	"slices"
)

// Confidences of intervals. From five pairs there is an interval at [NineInTen], from six at
// [Usual], from eight at [Strict]: the chance that all pairs are on one side is 2/2⁵, 2/2⁶ and 2/2⁸.
const (
	Strict    = 0.99
	Usual     = 0.95
	NineInTen = 0.90
)

// An Interval is the estimate of a ratio and its bounds, which are NaN if there are too few pairs.
type Interval struct{ Ratio, Low, High float64 }

// Width is the distance of the farther bound from the estimate, as a part of the estimate: the
// figure behind ±.
func (i Interval) Width() float64 {
	return max(i.High/i.Ratio-1, 1-i.Low/i.Ratio)
}

// Known reports whether there are bounds.
func (i Interval) Known() bool { return !math.IsNaN(i.Low) }

// Ratio estimates b/a with an interval of a confidence between 0 and 1. It returns false if there is
// no pair, if a value is not positive and has no logarithm, or if the ratio of a pair is no number
// that a float holds. It takes time and memory by the square of the number of pairs.
func Ratio(a, b []float64, confidence float64) (Interval, bool) {
	if len(a) == 0 || len(a) != len(b) {
		return Interval{}, false
	}
	logs := make([]float64, len(a))
	for i := range a {
		ratio := b[i] / a[i]
		if !(a[i] > 0 && b[i] > 0 && ratio > 0) || math.IsInf(ratio, 0) {
			return Interval{}, false
		}
		logs[i] = math.Log(ratio)
	}
	centre, low, high := signedRank(logs, confidence)
	return Interval{math.Exp(centre), math.Exp(low), math.Exp(high)}, true
}

// signedRank returns the Hodges-Lehmann estimate of the centre of d and the interval of the
// signed-rank test: it takes the means of all pairs of values, including each value with itself, in
// order. The interval reaches from the mean after the k smallest to the mean before the k largest.
func signedRank(d []float64, confidence float64) (centre, low, high float64) {
	means := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i := range d {
		for _, v := range d[i:] {
			means = append(means, (d[i]+v)/2)
		}
	}
	slices.Sort(means)
	m := len(means)
	centre = (means[(m-1)/2] + means[m/2]) / 2
	k := criticalRank(len(d), confidence)
	if k < 0 {
		return centre, math.NaN(), math.NaN()
	}
	return centre, means[k], means[m-1-k]
}

// ExactRanks is the largest number of pairs for which the distribution of the rank sum is computed
// in full. For more pairs, the error of the normal approximation is less than one rank in a
// thousand.
const ExactRanks = 50

// criticalRank is the largest k for which the sum of positive ranks among n is at most k with a
// probability of at most half of what the confidence leaves, or -1 if even 0 is likelier.
func criticalRank(n int, confidence float64) int {
	if n > ExactRanks {
		mean := float64(n) * float64(n+1) / 4
		deviation := math.Sqrt(float64(n) * float64(n+1) * float64(2*n+1) / 24)
		return int(math.Floor(mean - math.Sqrt2*math.Erfinv(confidence)*deviation - 0.5))
	}
	// chance[s] is the probability of the sum s; each rank is part of the sum with probability 1/2.
	chance := make([]float64, n*(n+1)/2+1)
	chance[0] = 1
	for rank := 1; rank <= n; rank++ {
		for s := rank * (rank + 1) / 2; s >= 0; s-- {
			chance[s] /= 2
			if s >= rank {
				chance[s] += chance[s-rank] / 2
			}
		}
	}
	sum, tail := 0.0, (1-confidence)/2
	for k, p := range chance {
		if sum += p; sum > tail {
			return k - 1
		}
	}
	return -1
}
