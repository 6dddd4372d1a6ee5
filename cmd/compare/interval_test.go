package compare

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCriticalRank holds the ranks against the tables of Wilcoxon's test, two-sided 0.05.
func TestCriticalRank(t *testing.T) {
	for n, want := range map[int]int{1: -1, 5: -1, 6: 0, 7: 2, 8: 3, 9: 5, 10: 8, 11: 10, 12: 13, 13: 17, 14: 21, 15: 25, 20: 52, 25: 89, 30: 137, 50: 434} {
		if got := criticalRank(n); got != want {
			t.Errorf("%d pairs: %d, want %d", n, got, want)
		}
	}
	for n := exactRanks + 1; n < 60; n++ { // the approximation goes on where the exact ranks end
		if step := criticalRank(n) - criticalRank(n-1); step < 12 || step > 25 {
			t.Errorf("from %d to %d pairs the rank rises by %d", n-1, n, step)
		}
	}
}

func TestRatioOf(t *testing.T) {
	a := []float64{1, 2, 3, 4, 5, 6, 7, 8}
	b := make([]float64, len(a))
	for i := range a {
		b[i] = 2 * a[i]
	}
	got, ok := ratioOf(a, b)
	if !ok || math.Abs(got.ratio-2) > 1e-12 || math.Abs(got.low-2) > 1e-12 || got.width() > 1e-12 {
		t.Errorf("twice as much in every pair: %+v", got)
	}
	b[3] = 1e9 // one wild pair does not matter
	if got, _ = ratioOf(a, b); math.Abs(got.ratio-2) > 1e-12 || !(got.high > 2) {
		t.Errorf("with one wild pair: %+v", got)
	}
	if got, ok = ratioOf(a[:5], b[:5]); !ok || got.known() {
		t.Errorf("five pairs have no interval at 95 %%, but: %+v", got)
	}
	for _, bad := range [][]float64{nil, {1, 2, 3, 4, 5, 6, 7, 0}, {1, 2, 3, 4, 5, 6, 7, -1}, {1, 2, 3, 4, 5, 6, 7, math.NaN()}, {1, 2, 3, 4, 5, 6, 7, math.Inf(1)}} {
		if got, ok := ratioOf(a, bad); ok {
			t.Errorf("%v has a ratio: %+v", bad, got)
		}
	}
	if got, ok = ratioOf([]float64{2, 4}, []float64{2, 1}); !ok || math.Abs(got.ratio-0.5) > 1e-12 {
		t.Errorf("the middle of 1 and a quarter is a half in logarithms, but: %+v", got)
	}
}

// TestCoverage draws comparisons with a known ratio, with noise that has heavy tails and drifts,
// stops each as the command does, and counts how many intervals hold the ratio.
func TestCoverage(t *testing.T) {
	const comparisons, truth = 2000, 1.07
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
			if got, _ := ratioOf(a, b); len(a) >= minPairs && got.width() <= 0.02 || len(a) == 60 {
				if got.low <= truth && truth <= got.high {
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
