// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/allocsample"
)

//go:noinline
func sampledMix(l *Local, sizes []int) (blocks [][]byte) {
	for _, n := range sizes {
		blocks = append(blocks, l.AllocUninit(n))
	}
	return blocks
}

// estimates adds up what the samples of sampledMix stand for: blocks and bytes that were allocated,
// and those of them that are in use.
func estimates() (v [4]float64) {
	for s := range Samples() {
		frames := runtime.CallersFrames(s.Stack)
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.HasSuffix(f.Function, ".sampledMix") {
				for i, n := range []int64{s.Allocs, s.Allocs - s.Frees} {
					v[2*i] += float64(n) * s.Weight
					v[2*i+1] += float64(n) * s.Weight * float64(s.Size)
				}
			}
		}
	}
	return v
}

// TestSamples allocates blocks of many sizes, frees some of them, and compares the estimates with
// the exact counts: within five standard deviations of the sum of independent samples, each
// weighted by the reciprocal of its probability p, whose variance is size² (1-p)/p.
func TestSamples(t *testing.T) {
	const period = 64 << 10
	sampling(t, period)
	if std.guards != nil {
		t.Skip("guarded blocks count as large as they were asked for")
	}
	l := NewLocal()
	defer l.Close()
	rng := rand.New(rand.NewPCG(5, 6))
	sizes := make([]int, 200_000)
	for i := range sizes {
		sizes[i] = 16 << rng.IntN(10)
		if i%1000 == 0 {
			sizes[i] = 128 << 10
		}
	}
	blocks := sampledMix(l, sizes)
	all := estimates()
	var want, variance [4]float64
	note := func(n int, first int) {
		p := allocsample.Probability(uintptr(n), period)
		want[first]++
		want[first+1] += float64(n)
		variance[first] += (1 - p) / p
		variance[first+1] += float64(n) * float64(n) * (1 - p) / p
	}
	for i, b := range blocks {
		note(sizes[i], 0)
		if i%3 == 0 {
			l.Free(b)
		} else {
			note(sizes[i], 2)
		}
	}
	got := estimates()
	for i, what := range []string{"blocks allocated", "bytes allocated", "blocks in use", "bytes in use"} {
		deviation := math.Sqrt(variance[i])
		if math.Abs(got[i]-want[i]) > 5*deviation || deviation > want[i]/5 {
			t.Errorf("%s: about %.0f, want %.0f ± %.0f", what, got[i], want[i], deviation)
		}
	}
	if math.Abs(all[1]-got[1]) > 1 || math.Abs(all[3]-all[1]) > 1 {
		t.Errorf("freeing changed what was allocated from %.0f to %.0f", all, got)
	}
	for i, b := range blocks {
		if i%3 != 0 {
			l.Free(b)
		}
	}
	if left := estimates(); left[2] != 0 || left[3] != 0 || math.Abs(left[1]-all[1]) > 1 {
		t.Errorf("after all was freed: %.0f", left)
	}
}

// TestSetSamplePeriod reads the period, and ends a range over samples early.
func TestSetSamplePeriod(t *testing.T) {
	sampling(t, 1)
	if old, now := SetSamplePeriod(-1), SetSamplePeriod(500); old != 1 || now != 1 {
		t.Errorf("the period was %d and %d, want 1", old, now)
	}
	if now := SetSamplePeriod(1); now != 500 {
		t.Errorf("the period was %d, want 500", now)
	}
	Free(Alloc(100))
	Free(Alloc(1000))
	n := 0
	for range Samples() {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d samples after a break", n)
	}
}
