// SPDX-License-Identifier: Apache-2.0

package fakemem

import (
	"math/rand/v2"
	"testing"
)

// TestSpanSetAgainstModel compares every answer with a table of 64 flags.
func TestSpanSetAgainstModel(t *testing.T) {
	const top = 64
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var set spanSet
		var model [top]bool
		for range 100 {
			lo := uintptr(rng.IntN(top))
			hi := lo + 1 + uintptr(rng.IntN(int(top-lo)))
			in := rng.IntN(2) == 0
			if in {
				set.add(lo, hi)
			} else {
				set.remove(lo, hi)
			}
			for i := lo; i < hi; i++ {
				model[i] = in
			}
			checkSpans(t, set, model[:])
			if t.Failed() {
				t.Fatalf("seed %d: after [%d,%d) in=%v: %v", seed, lo, hi, in, set)
			}
		}
	}
}

func checkSpans(t *testing.T, set spanSet, model []bool) {
	t.Helper()
	for i := 1; i < len(set); i++ {
		if set[i-1].hi >= set[i].lo {
			t.Errorf("spans touch or are out of order")
		}
	}
	var size uintptr
	for lo := range uintptr(len(model)) {
		if model[lo] {
			size++
		}
		all, some := true, false
		for hi := lo + 1; hi <= uintptr(len(model)); hi++ {
			all, some = all && model[hi-1], some || model[hi-1]
			if set.holds(lo, hi) != all || set.meets(lo, hi) != some {
				t.Errorf("[%d,%d): holds %v, want %v; meets %v, want %v", lo, hi, set.holds(lo, hi), all, set.meets(lo, hi), some)
				return
			}
		}
	}
	if set.size() != size {
		t.Errorf("size %d, want %d", set.size(), size)
	}
}
