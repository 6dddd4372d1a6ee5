// SPDX-License-Identifier: Apache-2.0

package workloads

import "github.com/freehold-go/freehold/cmd/bench"

// roundObjects is the least number of objects in a round: with so many, reading the clock costs
// next to nothing.
const roundObjects = 1 << 14

// repeats is how often a round does the task with n objects.
func repeats(n int) int { return max(1, roundObjects/max(1, n)) }

// rounds is the Prepare of a contestant that keeps nothing between its rounds.
func rounds(one func(r *bench.Run) uint64) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		return func() (sum uint64) {
			for range repeats(r.N) {
				sum = sum*31 + one(r)
			}
			return sum
		}
	}
}
