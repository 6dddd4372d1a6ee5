// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// naiveFind is the model: the lowest run of n free granules.
func naiveFind(free []bool, n int) (int, bool) {
	run := 0
	for i, f := range free {
		if !f {
			run = 0
			continue
		}
		if run++; run == n {
			return i - n + 1, true
		}
	}
	return 0, false
}

func TestPageRunsAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var r pageRuns
	var model []bool
	type run struct{ i, n int }
	var live []run
	for step := range 20_000 {
		if len(live) > 0 && rng.IntN(5) < 2 {
			k := rng.IntN(len(live))
			v := live[k]
			live[k] = live[len(live)-1]
			live = live[:len(live)-1]
			r.set(v.i, v.n, true)
			for j := v.i; j < v.i+v.n; j++ {
				model[j] = true
			}
			continue
		}
		n := 1 + rng.IntN(1<<rng.IntN(9))
		i, ok := r.find(n)
		wi, wok := naiveFind(model, n)
		if i != wi || ok != wok {
			t.Fatalf("step %d: find(%d) = %d, %v; the model says %d, %v", step, n, i, ok, wi, wok)
		}
		if !ok {
			words := 1 + rng.IntN(5)
			r.grow(words)
			for range words * wordBits {
				model = append(model, true)
			}
			continue
		}
		if !r.isFree(i, n) {
			t.Fatalf("step %d: find gives %d granules from %d, which isFree denies", step, n, i)
		}
		r.set(i, n, false)
		for j := i; j < i+n; j++ {
			model[j] = false
		}
		live = append(live, run{i, n})
	}
}

func TestNextRun(t *testing.T) {
	words := make([]uint64, 4)
	for _, set := range [][2]int{{0, 1}, {3, 60}, {64, 64}, {130, 70}, {255, 1}} {
		setBits(words, set[0], set[1], true)
	}
	want := [][2]int{{0, 1}, {3, 60}, {64, 64}, {130, 70}, {255, 1}}
	i := 0
	for _, w := range want {
		start, n := nextRun(words, i, 256, 1000)
		if start != w[0] || n != w[1] {
			t.Fatalf("from %d: run %d+%d, want %d+%d", i, start, n, w[0], w[1])
		}
		i = start + n
	}
	if _, n := nextRun(words, i, 256, 1000); n != 0 {
		t.Fatalf("a run of %d after the last", n)
	}
	if s, n := nextRun(words, 64, 256, 10); s != 64 || n != 10 {
		t.Fatalf("limited run is %d+%d", s, n)
	}
	if s, n := nextRun(words, 100, 110, 1000); s != 100 || n != 10 {
		t.Fatalf("run cut off at the end is %d+%d", s, n)
	}
	if _, n := nextRun(words, 1, 3, 1000); n != 0 {
		t.Fatalf("a run of %d where there is none", n)
	}
	set := 0
	for _, w := range words {
		set += bits.OnesCount64(w)
	}
	if set != 196 {
		t.Fatalf("%d bits set, want 196", set)
	}
}
