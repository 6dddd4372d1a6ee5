package compare

import (
	"math"
	"slices"
)

// leastPairs is the least number of pairs for which a 95 % interval exists: 2/2⁶ is less than 0.05.
const leastPairs = 6

// An interval is the estimate of a ratio and its bounds with 95 % confidence. With less than
// leastPairs pairs the bounds are NaN.
type interval struct{ ratio, low, high float64 }

// width is the distance of the farther bound from the estimate, as a part of the estimate: the
// figure behind ±.
func (i interval) width() float64 {
	return max(i.high/i.ratio-1, 1-i.low/i.ratio)
}

// known says whether there are bounds.
func (i interval) known() bool { return !math.IsNaN(i.low) }

// ratioOf estimates b/a from pairs. It returns false if there is no pair, if a value is not
// positive and has no logarithm, or if the ratio of a pair is no number that a float holds.
func ratioOf(a, b []float64) (interval, bool) {
	if len(a) == 0 || len(a) != len(b) {
		return interval{}, false
	}
	logs := make([]float64, len(a))
	for i := range a {
		ratio := b[i] / a[i]
		if !(a[i] > 0 && b[i] > 0 && ratio > 0) || !isFinite(ratio) {
			return interval{}, false
		}
		logs[i] = math.Log(ratio)
	}
	centre, low, high := signedRank(logs)
	return interval{math.Exp(centre), math.Exp(low), math.Exp(high)}, true
}

// signedRank returns the Hodges-Lehmann estimate of the centre of d and the 95 % interval of the
// signed-rank test: it takes the means of all pairs of values, including each value with itself, in
// order. The interval reaches from the mean after the k smallest to the mean before the k largest.
func signedRank(d []float64) (centre, low, high float64) {
	means := make([]float64, 0, len(d)*(len(d)+1)/2)
	for i := range d {
		for _, v := range d[i:] {
			means = append(means, (d[i]+v)/2)
		}
	}
	slices.Sort(means)
	m := len(means)
	centre = (means[(m-1)/2] + means[m/2]) / 2
	k := criticalRank(len(d))
	if k < 0 {
		return centre, math.NaN(), math.NaN()
	}
	return centre, means[k], means[m-1-k]
}

// exactRanks is the largest number of pairs for which the distribution of the rank sum is computed
// in full. For more pairs, the error of the normal approximation is less than one rank in a
// thousand.
const exactRanks = 50

// criticalRank is the largest k for which the sum of positive ranks among n is at most k with a
// probability of at most 0.025, or -1 if even 0 is likelier.
func criticalRank(n int) int {
	const tail = 0.025
	if n > exactRanks {
		mean := float64(n) * float64(n+1) / 4
		deviation := math.Sqrt(float64(n) * float64(n+1) * float64(2*n+1) / 24)
		return int(math.Floor(mean - 1.959964*deviation - 0.5))
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
	sum := 0.0
	for k, p := range chance {
		if sum += p; sum > tail {
			return k - 1
		}
	}
	return -1
}
