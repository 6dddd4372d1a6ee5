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
	reusing(t)
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

// nested is a key whose hash calls itself once for each level.
type nested struct{ inner any }

// TestMapOnMovingStack: a Map on a stack keeps its entries if the stack moves while a method of the
// Map runs. A stack moves when it grows. Here the hash of a key makes it grow, and in one case a
// function of the program: the method must find the Map at its new place afterwards (GC-14).
func TestMapOnMovingStack(t *testing.T) {
	const levels = 20000 // Of some 200 bytes each, far more stack than a new goroutine has.
	var key any
	for range levels {
		key = nested{key}
	}
	for _, c := range []struct {
		name string
		use  func() int
	}{
		{"Set", func() int {
			m := NewMap[any, int](nil, 0)
			m.Set(key, 1)
			return m.Len()
		}},
		{"GetOrSet", func() int {
			m := NewMap[any, int](nil, 0)
			m.GetOrSet(key, 1)
			return m.Len()
		}},
		{"Update", func() int {
			m := NewMap[any, int](nil, 0)
			m.Update(0, func(int, bool) int { return deep(levels) })
			return m.Len()
		}},
		{"Get", func() int {
			m := NewMap[any, int](nil, 0)
			m.Get(key)
			m.Set(0, 1)
			return m.Len()
		}},
	} {
		got := make(chan int)
		go func() { got <- c.use() }()
		if n := <-got; n != 1 {
			t.Errorf("%s while the stack moves: the Map has %d entries, want 1", c.name, n)
		}
	}
}

// deep calls itself n times.
//
//go:noinline
func deep(n int) int {
	if n == 0 {
		return 0
	}
	return deep(n-1) + 1
}
