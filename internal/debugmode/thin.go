// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"math"
	"math/rand/v2"
)

// Thinning.
//
// A guarded block that lives for good takes its part of a budget for good. Served first come, first
// served, a program with millions of long-lived blocks would spend its budgets on the first of
// them, and see no mistake afterwards. So chance decides who gets the rest:
//
//   1. Up to 7/8 of a budget every block that asks is served.
//   2. Beyond, the chance to be served halves with each 1/128 of the budget that is used: 16 times
//     up to the end.
//   3. A block that is freed gives its part back, so the chance depends on the live blocks, and not
//     on what lived before.
//
// With a budget of n blocks, long-lived blocks reach 7/8 after 7n/8 of them have asked. After m
// more, n/b·ln(1+b·m/n) of these live and the chance is 1/(1+b·m/n), with b = 128·ln 2: the sum of
// a chance that falls like 1/m grows like a logarithm. The end of the budget is reached after 739 n
// blocks that never end: 12 million for the default below.
//
// What this means for sample=1000 with the default budgets, where vm.max_map_count is 65530 and
// pages have 4 KiB: n is 16382. Ten million live blocks ask for 10000 guarded ones (standard
// deviation 100); 7n/8 are 14334, and of arenas alone, which get 7/8 of a budget, 12542. So the
// chance of a block is still 1/1000, and a mistake that repeats is found within 10000 occurrences
// with a probability of 1 - (1 - 1/1000)^10000 = 0.99995. At 0.95 the chance may fall to 3/10000,
// which it does at 14.7 million live blocks (12.9 million values in arenas). The bytes suffice for
// ten million where the budget is 64 MiB, which is so where the process may use 512 MiB: 49/64 of
// them are 12543 pages, and for arenas 10975; 0.95 is then reached at 12.9 million live blocks. How
// fast blocks come does not matter up to 14000 samples at once (see sampler), and afterwards up to
// 3 million blocks a second.

// thinFrom is the share of a budget from which on chance decides.
const thinFrom = 7.0 / 8

// thinHalvings is how often the chance halves between thinFrom and the end.
const thinHalvings = 16

// chance is the probability that a block is served by a budget of which the share fill is used.
func chance(fill float64) float64 {
	switch {
	case fill < thinFrom:
		return 1
	case fill >= 1:
		return 0
	}
	return math.Exp2(-thinHalvings * (fill - thinFrom) / (1 - thinFrom))
}

// draw is uniform in [0, 1); tests replace it.
var draw = rand.Float64

// lucky draws whether a block is served by a budget of which the share fill is used.
func lucky(fill float64) bool {
	p := chance(fill)
	return p == 1 || draw() < p
}

// SetDraw lets a test decide what chance does when a budget is nearly used up, until it calls
// restore: f is called in place of a generator of numbers in [0, 1). It must not be called while
// blocks are served.
func SetDraw(f func() float64) (restore func()) {
	old := draw
	draw = f
	return func() { draw = old }
}
