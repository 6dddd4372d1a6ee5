// SPDX-License-Identifier: Apache-2.0

package workloads

import "github.com/freehold-go/freehold/cmd/bench"

// The names that baselines go by. The bound of some workloads is a slab.
const (
	heapName     = bench.HeapName
	boundName    = bench.BoundName
	slabName     = "slab"
	hugeSlabName = "slab, huge pages"
)

// own marks the ways of freehold.
func own(contestants ...bench.Contestant) []bench.Contestant {
	for i := range contestants {
		contestants[i].Own = true
	}
	return contestants
}

// keep holds a contestant's data until the process ends.
var keep []any
