// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"testing"

	"github.com/freehold-go/freehold/cmd/bench"
)

// TestOrder wants the same orders of all contestants, in each round.
func TestOrder(t *testing.T) {
	var want uint64
	for _, c := range workload(t, "decode/order").Contestants {
		r := &bench.Run{Spec: bench.Spec{N: ordersRound}}
		round := c.Prepare(r)
		for range 3 {
			sum := round()
			if want == 0 {
				want = sum
			}
			if sum != want || sum == 0 || r.Err() != nil {
				t.Errorf("%s: sum %d, want %d; %v", c.Name, sum, want, r.Err())
			}
		}
	}
}
