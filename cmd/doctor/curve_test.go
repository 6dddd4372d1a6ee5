// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"testing"
)

// In a heap that grew over the window the mean counts, and GOGC follows from the end.
func TestCurve(t *testing.T) {
	of := func(curve ...float64) *account {
		f := newFake()
		f.Ran("main.work;main.main", 900)
		f.Collector(90, 10)
		f.Made("main.keep;main.main", 1<<10, 1<<20, 200<<10) // 200 MiB at the end
		e := with(f.evidence(), map[string]float64{"/gc/heap/goal:bytes": 400 << 20})
		e.Curve = curve
		return newAccount(e)
	}
	const mib = 1 << 20
	a := of(0, 50*mib, 100*mib, 150*mib, 200*mib)
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 0.01*want {
			t.Errorf("%s is %.4g, want %.4g", name, got, want)
		}
	}
	near("live", a.live, 100*mib)
	near("in use", a.sum(a.sites).inuseBytes, 100*mib)
	near("GOGC", a.pace.gogc, 100)
	near("room", a.pace.room, 100*mib)
	near("cycles", a.cycles, 1024/100.)
	if _, goal, _ := a.liveAndGoal(); goal != 400*mib {
		t.Errorf("the goal that was told became %.4g", goal)
	}
	for _, curve := range [][]float64{{2 * mib, 9 * mib, 15 * mib}, nil, {100 * mib, 200 * mib}, {190 * mib, 195 * mib, 200 * mib}} {
		near("live without growth", of(curve...).live, 200*mib)
	}
}

// TestCurveOfSmallHeap wants no growth where a handful of samples comes and goes.
func TestCurveOfSmallHeap(t *testing.T) {
	f := newFake()
	f.Ran("main.work;main.main", 900)
	f.Collector(90, 10)
	f.Made("main.keep;main.main", 512<<10, 1<<20, 8) // 4 MiB
	e := f.evidence()
	e.Curve = []float64{1 << 20, 12 << 20, 2 << 20, 4 << 20}
	if a := newAccount(e); a.live != 4<<20 || a.growth != 0 {
		t.Errorf("live %v, growth %v", a.live, a.growth)
	}
}
