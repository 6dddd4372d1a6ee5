// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// oddSized is no divisor of a granule.
type oddSized struct {
	N [2]uint64
	B bool
}

// TestTypedBlocksKeepTheirPhase: where a bool of a freed large block lay, only bools of the same
// field may lie ever after, or else a stale write puts other bits into it.
func TestTypedBlocksKeepTheirPhase(t *testing.T) {
	needMapped(t)
	quiet(t)
	const size = unsafe.Sizeof(oddSized{})
	phases := map[uintptr]uintptr{} // Of a granule: where in it elements begin, modulo their size.
	rng := rand.New(rand.NewPCG(9, 10))
	var live [][]oddSized
	for range 2000 {
		if len(live) < 20 {
			s := MakeSlice[oddSized](1, 3000+rng.IntN(60_000))
			addr := unsafex.SliceAddr(s)
			for g := addr / granule; (g+1)*granule <= addr+uintptr(cap(s))*size; g++ {
				phase := (addr%size + size - g*granule%size) % size
				if was, ok := phases[g]; ok && was != phase {
					t.Fatalf("values of %d bytes began at %d in the granule at %#x, and now at %d", size, was, g*granule, phase)
				}
				phases[g] = phase
			}
			live = append(live, s)
			continue
		}
		for range 10 {
			i := rng.IntN(len(live))
			FreeSlice(live[i])
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	for _, s := range live {
		FreeSlice(s)
	}
}
