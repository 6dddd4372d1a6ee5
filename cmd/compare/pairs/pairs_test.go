// SPDX-License-Identifier: Apache-2.0

package pairs

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCriticalRank holds the ranks against the tables of Wilcoxon's test, two-sided 0.05 and 0.10.
func TestCriticalRank(t *testing.T) {
	for n, want := range map[int]int{1: -1, 5: -1, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25, 20: 52, 25: 89, 30: 137, 50: 434} {
		if got := criticalRank(n, Usual); got != want {
			t.Errorf("%d pairs: %d, want %d", n, got, want)
		}
	}
	for n, want := range map[int]int{4: -1, 5: 0, 6: 2, 7: 3, 8: 5, 9: 8, 10: 10, 20: 60} {
		if got := criticalRank(n, NineInTen); got != want {
			t.Errorf("%d pairs at 90 %%: %d, want %d", n, got, want)
		}
	}
	for n := ExactRanks + 1; n < 60; n++ { // the approximation goes on where the exact ranks end
		if step := criticalRank(n, Usual) - criticalRank(n-1, Usual); step < 12 || step > 25 {
			t.Errorf("from %d to %d pairs the rank rises by %d", n-1, n, step)
		}
	}
}

func TestRatio(t *testing.T) {
	a := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	b := make([]float64, len(a))
	for i := range a {
		b[i] = 2 * a[i]
	}
	got, ok := Ratio(a, b, Usual)
	if !ok || math.Abs(got.Ratio-2) > 1e-12 || math.Abs(got.Low-2) > 1e-12 || got.Width() > 1e-12 {
		t.Errorf("twice as much in every pair: %+v", got)
	}
	b[3] = 1e9 // one wild pair does not matter
	if got, _ = Ratio(a, b, Usual); math.Abs(got.Ratio-2) > 1e-12 || !(got.High > 2) {
		t.Errorf("with one wild pair: %+v", got)
	}
	if got, ok = Ratio(a[:5], b[:5], Usual); !ok || got.Known() {
		t.Errorf("five pairs have no interval at 95 %%, but: %+v", got)
	}
	for _, bad := range [][]float64{nil, {1, 2, 3, 4, 5, 6, 7, 0}, {1, 2, 3, 4, 5, 6, 7, -1}, {1, 2, 3, 4, 5, 6, 7, math.NaN()}, {1, 2, 3, 4, 5, 6, 7, math.Inf(1)}} {
		if got, ok := Ratio(a, bad, Usual); ok {
			t.Errorf("%v has a ratio: %+v", bad, got)
		}
	}
	if got, ok = Ratio([]float64{2, 4}, []float64{2, 1}, Usual); !ok || math.Abs(got.Ratio-0.5) > 1e-12 {
		t.Errorf("the middle of 1 and a quarter is a half in logarithms, but: %+v", got)
	}
}

// TestCoverage draws comparisons with a known ratio, with noise that has heavy tails and drifts,
// stops each as the command does, and counts how many intervals hold the ratio.
func TestCoverage(t *testing.T) {
	const comparisons, truth, leastPairs = 2000, 1.07, 8
	random := rand.New(rand.NewPCG(1, 2))
	noise := func() float64 {
		e := 0.02 * random.NormFloat64()
		if random.IntN(10) == 0 {
			e += 0.3 * random.ExpFloat64() // something else ran
		}
		return e
	}
	hits, pairs := 0, 0
	for range comparisons {
		drift := 0.0
		var a, b []float64
		for {
			drift += 0.05 * random.NormFloat64()
			a = append(a, math.Exp(drift+noise()))
			b = append(b, truth*math.Exp(drift+noise()))
			if got, _ := Ratio(a, b, Usual); len(a) >= leastPairs && got.Width() <= 0.02 || len(a) == 60 {
				if got.Low <= truth && truth <= got.High {
					hits++
				}
				break
			}
		}
		pairs += len(a)
	}
	share := float64(hits) / comparisons
	t.Logf("%.1f %% of the intervals hold the ratio, after %.1f pairs", 100*share, float64(pairs)/comparisons)
	if share < 0.93 || share > 0.99 {
		t.Errorf("%.1f %% of the intervals hold the ratio, want about 95 %%", 100*share)
	}
}
