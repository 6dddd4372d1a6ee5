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
	shows := func(limit, live, goal float64) map[string]float64 { // by MemStats
		return map[string]float64{evidence.MetricLiveHeap: live, evidence.MetricHeapGoal: goal, evidence.MetricShownLimit: limit}
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
		{"next GC at GOGC=10", nil, shows(131.3e6, 100e6, 110.3e6), 10, Inferred, false},
		{"a limit that shows", nil, shows(150<<20+2, 100e6, 110.3e6), 0, "", true},
		{"a limit in no need", nil, shows(300<<20, 100e6, 237e6), 0, "", true},
		{"a limit, or GOGC=10", nil, metrics(100e6, 110.3e6), 0, "", true},
		{"a limit, or GOGC=17", nil, metrics(100e6, 117e6), 0, "", true},
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
			if got := r.First[0]; c.limited && got.Finding != limitID {
				t.Errorf("%+v stands first", got)
			}
		})
	}
}

// HeapAlloc read in the midst of a cycle is not the live heap, whatever its size, where the counters
// of the window tell better.
func TestPaceMidCycle(t *testing.T) {
	for _, c := range []struct {
		name             string
		live, goal, room float64 // live is HeapAlloc
		gogc             float64
	}{
		{"300 collections a second", 3.8 * (1 << 20), 4 << 20, 1.9 * (1 << 20), 100},
		{"above the smallest heap", 9e6, 10e6, 4.1e6, 100},
		{"a large heap", 190e6, 200e6, 96e6, 100},
		{"a large heap at GOGC=400", 400e6, 500e6, 375e6, 400},
		{"GOGC=50 of a large heap", 145e6, 150e6, 49e6, 50},
	} {
		f := newFake()
		f.Ran("main.use;main.main", 500)
		f.Collector(400, 0)
		f.Made("main.use;main.main", 64, 1000, int64(c.goal/(1+c.gogc/100)/64))
		values := map[string]float64{evidence.MetricLiveHeap: c.live, evidence.MetricHeapGoal: c.goal, evidence.MetricShownLimit: 2.3 * c.goal, evidence.MetricAllocBytes: 5500 * c.room, evidence.MetricCyclesTotal: 5500}
		e := with(f.evidence(), values)
		e.Metrics[0].Set(evidence.MetricAllocBytes, 5000*c.room*0.8) // smaller before the window
		e.Metrics[0].Set(evidence.MetricCyclesTotal, 5000)
		e.Metrics[1].Set(evidence.MetricAllocBytes, 5000*c.room*0.8+500*c.room)
		a := newAccount(e)
		if a.pace.gogc != c.gogc || a.pace.limited {
			t.Errorf("%s: GOGC=%v, limited %t; want %v", c.name, a.pace.gogc, a.pace.limited, c.gogc)
		}
		for _, row := range a.settings() {
			if row.GOGC <= c.gogc {
				t.Errorf("%s: a gain for GOGC=%v, which is in force", c.name, row.GOGC)
			}
		}
	}
	// The goal at rest says nothing about collections under load.
	f := newFake()
	f.Ran("main.use;main.main", 500)
	f.Made("main.use;main.main", 64, 1000, 2200000/64)
	e := with(f.evidence(), map[string]float64{evidence.MetricHeapGoal: 4.4e6, evidence.MetricAllocBytes: 600 * 3.9e6, evidence.MetricCyclesTotal: 600})
	if p := newAccount(e).pace; p.gogc != 100 {
		t.Errorf("at rest: GOGC=%v", p.gogc)
	}
}

// A limit that MemStats show has its rows and is named.
func TestRowsOfShownLimit(t *testing.T) {
	f := newFake()
	f.Ran("main.use;main.main", 500)
	f.Collector(400, 0)
	values := map[string]float64{evidence.MetricLiveHeap: 100e6, evidence.MetricHeapGoal: 112e6, evidence.MetricShownLimit: 150<<20 + 1, evidence.MetricAllocBytes: 100 * 12e6, evidence.MetricCyclesTotal: 100}
	r := Diagnose(t.Context(), with(f.evidence(), values))
	if s, ok := proposedSetting(r.Settings); !ok || s.MemoryLimit < 230<<20 || s.MemoryLimit > 250<<20 || len(r.Settings) != 1 {
		t.Errorf("rows %+v", r.Settings)
	}
	if f := findingOf(r, "limit-thrash"); f == nil || f.Evidence["memory_limit_bytes"] != float64(150<<20) {
		t.Errorf("%+v", f)
	}
}

// TestKnee wants the setting where gains flatten, for all gains that are worth it, and none for too
// much memory.
func TestKnee(t *testing.T) {
	rows := func(now, share, live float64) (list []Setting) {
		for _, gogc := range triedGOGC {
			if gogc > now {
				list = append(list, Setting{GOGC: gogc, Gain: Gain{SameGOGC: share * (1 - now/gogc)}, MoreBytes: live * (gogc - now) / 100})
			}
		}
		return list
	}
	for _, c := range []struct {
		name             string
		now, share, live float64 // in MiB
		want             float64 // 0 for none
	}{
		{"a small heap", 100, 0.3, 3, 400},
		{"the same with less CPU time", 100, 0.24, 3, 400},
		{"the same with more", 100, 0.36, 3, 400},
		{"364 MiB more for nothing", 100, 0.2, 52, 400},
		{"much memory for much time", 100, 0.35, 91, 400},
		{"too little time", 100, 0.02, 3, 0},
		{"too much memory", 100, 0.08, 100, 0},
		{"GOGC=10", 10, 0.5, 5, 100},
		{"GOGC=50", 50, 0.3, 10, 200},
	} {
		list := rows(c.now, c.share, c.live*(1<<20))
		propose(list, 1)
		if s, _ := proposedSetting(list); s.GOGC != c.want {
			t.Errorf("%s: GOGC=%v, want %v", c.name, s.GOGC, c.want)
		}
	}
}

// TestCommandKnee wants the second row where the largest is cut by what the program allocates, and takes
// the memory of a command that was profiled as a whole for less.
func TestCommandKnee(t *testing.T) {
	for _, c := range []struct {
		gains []float64
		price float64
		want  float64
	}{
		{[]float64{0.11, 0.15, 0.15}, commandMemory, 400},
		{[]float64{0.10, 0.13, 0.11}, commandMemory, 400},
		{[]float64{0.10, 0.13, 0.11}, 1, 0},
	} {
		var list []Setting
		for i, g := range c.gains {
			list = append(list, Setting{GOGC: triedGOGC[i+1], Gain: Gain{SameGOGC: g}, MoreBytes: float64(min(2*i+1, 2)) * (500 << 20)})
		}
		propose(list, c.price)
		if s, _ := proposedSetting(list); s.GOGC != c.want {
			t.Errorf("%v: GOGC=%v, want %v", c.gains, s.GOGC, c.want)
		}
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
