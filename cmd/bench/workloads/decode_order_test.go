// SPDX-License-Identifier: Apache-2.0

package workloads

import "testing"

// TestOrder wants the same orders of all contestants, in each round.
func TestOrder(t *testing.T) {
	sameSums(t, "decode/order", ordersRound, 3)
}
