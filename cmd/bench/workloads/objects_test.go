// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"slices"
	"testing"

	"github.com/freehold-go/freehold/cmd/bench"
)

// TestObjectsFindsAliases runs ways that hand out wrong memory: their checksums must differ from the heap's.
func TestObjectsFindsAliases(t *testing.T) {
	const n = 2 * roundObjects
	right := objectsRounds(n, objectsHeap)
	for name, way := range map[string]func(*bench.Run) ObjectsWay{
		"one object for all": func(*bench.Run) ObjectsWay {
			o := new(Object)
			return ObjectsWay{Fill: func(objects []*Object, k int) {
				for i := range objects {
					o.A, o.B = i, k
					objects[i] = o
				}
			}}
		},
		"a round before's values": func(r *bench.Run) ObjectsWay {
			slab := make([]Object, r.N)
			return ObjectsWay{Fill: func(objects []*Object, k int) { fillFromSlab(objects, slab, max(0, k-1)) }}
		},
	} {
		if wrong := objectsRounds(n, way); slices.Equal(right, wrong) {
			t.Errorf("%s goes unnoticed: %x", name, wrong)
		}
	}
	if again := objectsRounds(n, objectsSlab); !slices.Equal(right, again) {
		t.Errorf("the slab gives %x, the heap %x", again, right)
	}
}

func objectsRounds(n int, way func(*bench.Run) ObjectsWay) (sums []uint64) {
	round := Objects(way)(&bench.Run{Spec: bench.Spec{N: n}})
	for range 3 {
		sums = append(sums, round())
	}
	return sums
}
