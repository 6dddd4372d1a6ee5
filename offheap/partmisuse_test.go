// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

// numbered begins with what Append and Realloc could take for a slice of its own.
type numbered[T any] struct {
	List [10]T
	B    bool
}

// TestPartsDoNotGrow: a slice of a value's first field has the address of its block. More elements
// would lie over the fields behind it, or make the value's block one of bytes.
func TestPartsDoNotGrow(t *testing.T) {
	quiet(t)
	for _, n := range []int{1, 2, 100} {
		v, w := New[numbered[int64]](), New[numbered[byte]]()
		big := New[struct {
			L [100_000]byte
			B bool
		}]()
		wantMisuse(t, "Append", "interior pointer", func() { Append(v.List[:], make([]int64, n)...) })
		wantMisuse(t, "Append", "interior pointer", func() { Append(w.List[:], make([]byte, n)...) })
		wantMisuse(t, "Append", "interior pointer", func() { Append(big.L[:], make([]byte, n)...) })
		wantMisuse(t, "Realloc", "interior pointer", func() { Realloc(w.List[:], 10+n) })
		wantMisuse(t, "Realloc", "interior pointer", func() { Realloc(w.List[:], n) })
		wantMisuse(t, "Realloc", "interior pointer", func() { Realloc(big.L[:], 100_000*n) })
		Delete(v)
		Delete(w)
		Delete(big)
	}
	works(t)
}

// TestFreeWhileRealloc lets two goroutines free and resize one large block at the same time. One of
// them may be told of its mistake; the allocator's tables are right in the end.
func TestFreeWhileRealloc(t *testing.T) {
	needSlabs(t) // With guarded pages the copy of freed bytes would end the process.
	needNoSamples(t)
	unpurged(t) // What the purge has in hand is not free: when it is again, a larger block may begin before the place of the old one.
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	for round := range rounds {
		b := AllocUninit(200_000)
		var larger []byte
		var wg sync.WaitGroup
		tell := func(f func()) {
			var m *MisuseError
			if err, ok := caught(f).(error); ok && (!errors.As(err, &m) || !strings.Contains(m.Kind, "double free")) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		wg.Go(func() { tell(func() { Free(b) }) })
		wg.Go(func() { tell(func() { larger = Realloc(b, 400_000-round%2*300_000) }) })
		wg.Wait()
		if larger != nil {
			tell(func() { Free(larger) })
		}
	}
	wantNoGhosts(t, &std)
}

// wantNoGhosts wants the page map to tell of no span that is dead or ends before the granule.
func wantNoGhosts(t *testing.T, h *heap) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range int(h.nregions.Load()) {
		r := &h.regions[i]
		for g := range r.used.Load() / granule {
			addr := r.base + g*granule
			sp := r.entry(addr)
			if sp != nil && (addr-sp.base >= sp.bytes() || sp.state.Load() == spanDead || r.runs.isFree(int(g), 1)) {
				t.Fatalf("the page map leads from %#x to a span of %d bytes at %#x, state %d", addr, sp.bytes(), sp.base, sp.state.Load())
			}
		}
	}
}
