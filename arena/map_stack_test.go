// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/bits"
	"testing"

	"github.com/freehold-go/freehold/internal/invariants"
)

// TestMapOnStack: a Map that its function does not keep takes no memory of the Go heap.
func TestMapOnStack(t *testing.T) {
	chunked(t)
	if raceEnabled || invariants.Enabled || bits.UintSize == 32 {
		t.Skip("the compiler inlines NewMap on 64-bit systems, without the race detector and the checks of invariants")
	}
	a := NewArena()
	defer a.Free()
	round := func() {
		m := NewMap[int, int](a, 4)
		m.Set(1, 1)
		m.Update(1, plusOne)
		m.GetOrSet(2, 1)
		if n, ok := m.Get(1); !ok || n != 2 || m.Len() != 2 || !m.Delete(1) {
			t.Error("the Map lost an entry")
		}
		m.Clear()
		a.Reset(Keep)
	}
	round()
	quiet(t)
	if got := testing.AllocsPerRun(100, round); got > 0 {
		t.Errorf("%v allocations on the Go heap a round", got)
	}
}
