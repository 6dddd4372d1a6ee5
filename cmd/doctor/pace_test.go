// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// traceOf is a trace of cycles in which the live heap goes from one size to another, in MiB, and
// the goals are as a function says, which has the live heap of the cycle before.
func traceOf(cycles int, from, to float64, goal func(live float64) float64) *evidence.GCTrace {
	t := &evidence.GCTrace{}
	before := from
	for i := range cycles {
		live := from + (to-from)*float64(i)/float64(cycles)
		t.Cycles = append(t.Cycles, evidence.GCCycle{Number: i + 1, At: time.Duration(i+1) * time.Second, CPUBackground: 50 * time.Millisecond,
			Live: int64(math.Round(live)) << 20, Goal: int64(math.Round(goal(before))) << 20, Procs: 2})
		before = live
	}
	return t
}

// TestPace infers GOGC from what people have: the statistics of memory, and traces.
func TestPace(t *testing.T) {
	atGOGC := func(gogc float64) func(float64) float64 {
		return func(live float64) float64 { return max(live*(1+gogc/100), 4*gogc/100) }
	}
	metrics := func(live, goal float64) map[string]float64 {
		return map[string]float64{evidence.MetricLiveHeap: live, evidence.MetricHeapGoal: goal}
	}
	forced := traceOf(20, 50, 50, atGOGC(100))
	last := &forced.Cycles[len(forced.Cycles)-1]
	last.Forced, last.Live = true, 1<<20
	for _, c := range []struct {
		name    string
		trace   *evidence.GCTrace
		values  map[string]float64
		gogc    float64
		how     Knowledge
		limited bool
	}{
		{"told", nil, map[string]float64{evidence.MetricGOGC: 150, evidence.MetricLiveHeap: 100e6}, 150, Told, false},
		{"next GC", nil, metrics(100e6, 201e6), 100, Inferred, false},
		{"next GC at GOGC=10", nil, metrics(100e6, 110.3e6), 10, Inferred, false},
		{"no common value", nil, metrics(100e6, 237e6), 137, Inferred, false},
		{"the smallest heap", nil, metrics(300e3, 4<<20), 100, Inferred, false},
		{"the smallest heap of GOGC=400", nil, metrics(1e6, 16<<20), 400, Inferred, false},
		{"switched off", nil, metrics(100e6, math.MaxUint64), -1, Inferred, false},
		{"a trace", traceOf(20, 10, 200, atGOGC(100)), nil, 100, Inferred, false},
		{"the program sets 400 itself", traceOf(20, 10, 200, atGOGC(400)), map[string]float64{evidence.MetricGOGC: 100}, 400, Inferred, false},
		{"the program switches GOGC off and sets a limit", traceOf(20, 10, 200, func(float64) float64 { return 400 }), map[string]float64{evidence.MetricGOGC: 100, evidence.MetricMemoryLimit: math.MaxInt64}, 0, "", true},
		{"a limit from the environment", traceOf(20, 100, 150, func(float64) float64 { return 200 }), map[string]float64{evidence.MetricGOGC: -1, evidence.MetricMemoryLimit: 220 << 20}, -1, Told, true},
		{"a collection at the end", forced, nil, 100, Inferred, false},
		{"too small to tell", traceOf(20, 1, 1, atGOGC(100)), map[string]float64{evidence.MetricGOGC: 100}, 100, Told, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			f.Ran("main.use;main.main", 500)
			e := f.evidence()
			e.Trace = c.trace
			p := newAccount(with(e, c.values)).pace
			if p.gogc != c.gogc || p.how != c.how || p.limited != c.limited {
				t.Errorf("GOGC=%v (%s), limited %v; want %v (%s), %v", p.gogc, p.how, p.limited, c.gogc, c.how, c.limited)
			}
		})
	}
}

// TestSettings wants rows whose gain is the part of marking that falls away, with what it slows, and whose memory is
// what the heap's goal grows by.
func TestSettings(t *testing.T) {
	f := newFake()
	f.Ran("main.use;main.main", 600)
	f.Collector(400, 0)
	e := with(f.evidence(), map[string]float64{evidence.MetricGOGC: 100, evidence.MetricLiveHeap: 1 << 20, evidence.MetricHeapGoal: 4 << 20, evidence.MetricCyclesTotal: 3000})
	r := Diagnose(t.Context(), e)
	if len(r.Settings) != 3 {
		t.Fatalf("%d rows: %+v", len(r.Settings), r.Settings)
	}
	for i, want := range []struct{ gogc, left, more float64 }{{200, 3. / 7, 4 << 20}, {400, 3. / 15, 12 << 20}, {800, 3. / 31, 28 << 20}} {
		s := r.Settings[i]
		if s.GOGC != want.gogc || math.Abs(s.CyclesLeft-want.left) > 1e-6 || math.Abs(s.MoreBytes-want.more) > 1 || math.Abs(s.Gain.SameGOGC-0.4*(1+0.6*besideMark)*(1-want.left)) > 1e-6 {
			t.Errorf("row %d is %+v, want GOGC=%v with %.3f of the collections for %v bytes", i, s, want.gogc, want.left, want.more)
		}
	}
	if first := r.First[0]; first.Part != Now || first.Finding != tooOftenID || !strings.Contains(first.Text, "Set GOGC=400.") || !strings.Contains(first.Text, "times a second") {
		t.Errorf("first is %+v", first)
	}

	e = with(f.evidence(), map[string]float64{evidence.MetricLiveHeap: 1 << 20, evidence.MetricHeapGoal: math.MaxUint64})
	if r := Diagnose(t.Context(), e); len(r.Settings) > 0 || r.Heap.GOGC != -1 {
		t.Errorf("switched off: GOGC=%v, rows %+v", r.Heap.GOGC, r.Settings)
	}
}

// TestCountedPace infers the pace from the bytes allocated and the collections since the program's
// start, as the text of a heap profile has them.
func TestCountedPace(t *testing.T) {
	counts := func(live, goal, room float64) map[string]float64 {
		return map[string]float64{evidence.MetricHeapGoal: goal, evidence.MetricAllocBytes: 1000 * room, evidence.MetricCyclesTotal: 1002, evidence.MetricCyclesForced: 2}
	}
	for _, c := range []struct {
		name             string
		live, goal, room float64 // live as the heap profile has it
		gogc             float64
		limited          bool
	}{
		{"a heap profile with two samples of a small heap", 1 << 20, 9.0e6, 4.87e6, 100, false},
		{"collections that begin long before the goal", 2.7e6, 4.74e6, 2.05e6, 100, false},
		{"GOGC=25", 2.6e6, 6.72e6, 1.31e6, 25, false},
		{"a limit near the live heap", 42.2e6, 42.15e6, 1.06e6, 0, true},
		{"a large heap, which a profile knows better", 100e6, 200e6, 50e6, 100, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			f.Ran("main.use;main.main", 500)
			f.Collector(400, 0)
			f.Made("main.use;main.main", 64, 1000, int64(c.live/64))
			e := with(f.evidence(), counts(c.live, c.goal, c.room))
			a := newAccount(e)
			if p := a.pace; p.gogc != c.gogc || p.limited != c.limited {
				t.Fatalf("GOGC=%v (%s), limited %v; want %v, %v", p.gogc, p.how, p.limited, c.gogc, c.limited)
			}
			r := Diagnose(t.Context(), e)
			if len(r.Settings) == 0 || r.Settings[0].Name() == "" || r.Settings[0].MoreBytes <= 0 {
				t.Errorf("rows: %+v", r.Settings)
			}
			if got := r.First[0]; c.limited && got.Finding != "limit-thrash" {
				t.Errorf("%+v stands first", got)
			}
		})
	}
}

// TestFastHeap infers the default where the heap in use right after a collection is garbage for the
// most part already, because the next collection follows at once.
func TestFastHeap(t *testing.T) {
	for _, c := range []struct{ inUse, goal, room, cycles float64 }{
		{3.6e6, 4.2e6, 2.0e6, 3000}, // 300 collections a second
		{185e6, 200e6, 95e6, 600},   // 60 a second
		{7.4e6, 8.0e6, 3.9e6, 100},  // a small heap, 10 a second
	} {
		f := newFake()
		f.Ran("main.use;main.main", 500)
		f.Collector(400, 0)
		f.Made("main.use;main.main", 64, 100_000_000, int64(c.inUse/64))
		e := with(f.evidence(), map[string]float64{evidence.MetricLiveHeap: c.inUse, evidence.MetricHeapGoal: c.goal, evidence.MetricAllocBytes: 1e9 + c.room*c.cycles, evidence.MetricCyclesTotal: 50 + c.cycles})
		e.Metrics[0].Set(evidence.MetricAllocBytes, 1e9)
		e.Metrics[0].Set(evidence.MetricCyclesTotal, 50)
		a := newAccount(e)
		if p := a.pace; p.gogc != 100 || p.limited {
			t.Errorf("%+v: GOGC=%v (%s), limited %v", c, p.gogc, p.how, p.limited)
		}
		for _, s := range a.settings() {
			if s.GOGC == 100 {
				t.Errorf("%+v: a row for the setting in force", c)
			}
		}
	}
}

// TestOddGOGC takes a heap whose sizes fit no usual percentage, and differ at both ends, for one with a
// memory limit.
func TestOddGOGC(t *testing.T) {
	for _, c := range []struct {
		name                     string
		live0, goal0, live, goal float64
		limited                  bool
	}{
		{"a limit while the live heap grows", 60e6, 108e6, 80e6, 107e6, true},
		{"GOGC=50", 60e6, 90e6, 80e6, 120e6, false},
		{"GOGC=33 at both ends", 60e6, 79.8e6, 80e6, 106.4e6, false},
		{"GOGC=100", 60e6, 120e6, 80e6, 160e6, false},
	} {
		f := newFake()
		f.Ran("main.use;main.main", 500)
		f.Collector(400, 0)
		e := with(f.evidence(), map[string]float64{evidence.MetricLiveHeap: c.live, evidence.MetricHeapGoal: c.goal})
		e.Metrics[0].Set(evidence.MetricLiveHeap, c.live0)
		e.Metrics[0].Set(evidence.MetricHeapGoal, c.goal0)
		if p := newAccount(e).pace; p.limited != c.limited {
			t.Errorf("%s: GOGC=%v (%s), limited %v", c.name, p.gogc, p.how, p.limited)
		}
	}
}

// TestKnee wants the mark where the gains flatten, and at the same row whatever the noise.
func TestKnee(t *testing.T) {
	for _, mark := range []float64{0.12, 0.2, 0.3, 0.5} { // the gain of no collection at all
		list := []Setting{{GOGC: 200, Gain: Gain{SameGOGC: mark / 2}, MoreBytes: 50 << 20}, {GOGC: 400, Gain: Gain{SameGOGC: mark * 3 / 4}, MoreBytes: 150 << 20}, {GOGC: 800, Gain: Gain{SameGOGC: mark * 7 / 8}, MoreBytes: 350 << 20}}
		propose(list, 50<<20)
		if s, ok := proposedSetting(list); !ok || s.GOGC != 400 {
			t.Errorf("%v: %+v", mark, s)
		}
	}
}
