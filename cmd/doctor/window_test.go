// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/evidence"
	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// Values that count from the program's start are put in proportion to the window that the heap
// profiles have, and the other way round.
func TestCounterAndWindow(t *testing.T) {
	metrics := func(uptime, cycles float64) (m evidence.Metrics) {
		m.Set(evidence.MetricUptime, uptime)
		m.Set(evidence.MetricCyclesTotal, cycles)
		return m
	}
	both := func() *evidence.Evidence { return newFake().evidence() } // ten seconds
	one := func() *evidence.Evidence {
		e := both()
		e.Heap[0] = nil
		return e
	}
	none := func() *evidence.Evidence {
		e := one()
		e.Heap[1] = nil
		return e
	}
	for _, c := range []struct {
		name   string
		e      *evidence.Evidence
		m      [2]evidence.Metrics
		window time.Duration
		cycles float64
	}{
		{"both ends of both", both(), [2]evidence.Metrics{metrics(90, 100), metrics(100, 130)}, 10 * time.Second, 30},
		{"metrics of the end alone", both(), [2]evidence.Metrics{{}, metrics(86400, 86400)}, 10 * time.Second, 10},
		{"one heap profile", one(), [2]evidence.Metrics{metrics(90, 100), metrics(100, 130)}, 100 * time.Second, 130},
		{"one of each", one(), [2]evidence.Metrics{{}, metrics(100, 130)}, 100 * time.Second, 130},
		{"metrics alone", none(), [2]evidence.Metrics{metrics(90, 100), metrics(100, 130)}, 10 * time.Second, 30},
	} {
		c.e.Metrics = c.m
		if a := newAccount(c.e); a.window != c.window || math.Abs(a.cycles-c.cycles) > 1e-9 {
			t.Errorf("%s: %v cycles in %v, want %v in %v", c.name, a.cycles, a.window, c.cycles, c.window)
		}
	}
}

// A heap that is collected early may have a low GOGC or a limit. In doubt the remedy is about the
// limit, and there is none about GOGC, nor if there is a limit.
func TestGOGCBehindALimit(t *testing.T) {
	diagnosed := func(limit float64) *Report {
		f := newFake()
		f.Ran("main.use;main.main", 500)
		f.Collector(300, 20)
		values := map[string]float64{evidence.MetricLiveHeap: 100e6, evidence.MetricHeapGoal: 120e6, evidence.MetricCyclesTotal: 100}
		if limit > 0 {
			values[evidence.MetricMemoryLimit] = limit
		}
		return Diagnose(t.Context(), with(f.evidence(), values))
	}
	find := func(limit float64) *Finding { return findingOf(diagnosed(limit), "gc-too-often") }
	doubt := findingOf(diagnosed(0), "limit-thrash")
	if doubt == nil || !strings.Contains(doubt.Remedy.Text, "If there is no limit, GOGC is 20, and 100 has the same effect.") || !strings.HasPrefix(doubt.Remedy.Text, "Look at GOMEMLIMIT (or debug.SetMemoryLimit) first") {
		t.Errorf("in doubt: %+v", doubt)
	}
	if f := find(0); f != nil {
		t.Errorf("the limit is not known: %+v", f)
	}
	if f := find(150e6); f != nil {
		t.Errorf("there is a limit: %+v", f)
	}
	if f := find(math.MaxInt64); f == nil || f.Evidence["gogc_percent"] != 20.0 {
		t.Errorf("there is no limit: %+v", f)
	}
}

// Profiles made by others may have the largest number there is for a function.
func TestLargeIDs(t *testing.T) {
	f := newFake()
	f.Ran("main.use;main.main", 500)
	f.Ran(newSmall+"main.list;main.main", 50)
	f.Collector(300, 20)
	for i, fn := range f.CPU.Function {
		fn.ID = math.MaxUint64 - uint64(i)
	}
	for i, l := range f.CPU.Location {
		l.ID = math.MaxUint64 - uint64(i)
	}
	var e evidence.Evidence
	if err := e.Read("cpu", bytes.NewReader(profiletest.Written(t, f.CPU, true))); err != nil {
		t.Fatal(err)
	}
	if p := Attributed(&e); nanoseconds(p) != nanoseconds(e.CPU) {
		t.Errorf("the attributed profile has %d ns of %d", nanoseconds(p), nanoseconds(e.CPU))
	}
}

func nanoseconds(p *profile.Profile) (sum int64) {
	for _, s := range p.Sample {
		sum += s.Value[1]
	}
	return sum
}
