// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"math/rand/v2"
	"testing"
)

// TestSlab compares a slab with a model: each new value is zero, and no later allocation changes
// it.
func TestSlab(t *testing.T) {
	var s slab[int]
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var handed []*int // each value that was handed out holds its index
		hand := func(p *int) {
			if *p != 0 {
				t.Fatalf("value %d is handed out with %d in it", len(handed), *p)
			}
			*p = len(handed) + 1
			handed = append(handed, p)
		}
		for range 40 {
			if random.IntN(2) == 0 {
				hand(s.one())
				continue
			}
			values := s.some(1 + random.IntN(2*slabChunk))
			for i := range values {
				hand(&values[i])
			}
		}
		for i, p := range handed {
			if *p != i+1 {
				t.Fatalf("value %d became %d", i, *p-1)
			}
		}
		s.reset()
	}
}
