// SPDX-License-Identifier: Apache-2.0

package allocsample

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestGapAndPick draws gaps as a slot does, and compares how many blocks are sampled for each
// purpose with what their probabilities say, which are independent of each other.
func TestGapAndPick(t *testing.T) {
	defer SetSource(rand.New(rand.NewPCG(3, 4)).ExpFloat64)()
	for _, c := range []struct {
		size   uintptr
		period int64
		every  int
	}{{16, 1000, 0}, {16, 1000, 3}, {4096, 16384, 3}, {16384, 1000, 10}, {512, 1 << 20, 1}, {64, 0, 7}, {100_000, 1, 2}} {
		r := ratesOf(c.period, c.every)
		const n = 200_000
		var got [3]float64
		for i := int(r.Gap(c.size)); i < n; i += 1 + int(r.Gap(c.size)) {
			profile, guard := r.Pick(c.size)
			if !profile && !guard {
				t.Fatalf("%+v: a sampled block is sampled for nothing", c)
			}
			for k, is := range []bool{profile, guard, profile && guard} {
				if is {
					got[k]++
				}
			}
		}
		p, g := 0.0, 0.0
		if c.period > 0 {
			p = Probability(c.size, c.period)
		}
		if c.every > 0 {
			g = 1 / float64(c.every)
		}
		for k, want := range []float64{p, g, p * g} {
			if d := math.Sqrt(n * want * (1 - want)); math.Abs(got[k]-n*want) > 5*d+1e-9 {
				t.Errorf("%+v: %.0f blocks for purpose %d (profile, guard, both), want %.0f with a standard deviation of %.0f", c, got[k], k, n*want, d)
			}
		}
	}
}
