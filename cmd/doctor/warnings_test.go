// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/cmd/evidence"
)

// A heap profile of the program's exit is no picture of the live heap, and a small heap is one.
func TestExitHeap(t *testing.T) {
	of := func(mark, inuse int64) *evidence.Evidence {
		f := newFake()
		f.Ran("main.work;main.main", 900)
		f.Ran("runtime.mallocgc;runtime.newobject;main.work;main.main", 100)
		f.Collector(mark, 10)
		f.Made("main.work;main.main", 1<<10, 1<<20, inuse) // 1 GiB, at least 256 collections
		e := f.evidence()
		e.Heap[0], e.Window = nil, 10e9
		return e
	}
	traced := of(100, 1<<12)
	traced.Trace = &evidence.GCTrace{Cycles: []evidence.GCCycle{{Number: 1, Live: 200 << 20, Goal: 400 << 20, Procs: 4}}}
	for _, c := range []struct {
		name string
		e    *evidence.Evidence
		exit bool
	}{
		{"much marking of nothing", of(400, 2), true}, // 16 ms a collection
		{"a small heap", of(10, 2), false},            // 0.4 ms a collection
		{"what a command leaves", of(100, 512), true}, // 4 ms a collection of 512 KiB
		{"much marking of much", of(400, 1<<17), false},
		{"less than the trace says", traced, true},
	} {
		a := newAccount(c.e)
		text := fmt.Sprint(a.warnings())
		if a.exitHeap != c.exit || strings.Contains(text, "taken at the program's exit") != c.exit {
			t.Errorf("%s: %v, %s", c.name, a.exitHeap, text)
		}
		for _, s := range a.settings() {
			if unknown := c.exit && c.e.Trace == nil; (s.MoreHeaps > 0) != unknown || (s.MoreBytes > 0) == unknown {
				t.Errorf("%s: the row %+v", c.name, s)
			}
		}
		if _, known := a.ageOf(a.sites); known == c.exit {
			t.Errorf("%s: the age of objects is known: %v", c.name, known)
		}
		if c.exit && (a.sum(a.sites).inuseBytes != 0 || !strings.Contains(fmt.Sprint(a.missing()), "heap profile with the bytes in use")) {
			t.Errorf("%s: the bytes in use count, or the report does not ask for them", c.name)
		}
	}
	if a := newAccount(traced); a.live != 200<<20 {
		t.Errorf("the live heap is %v, want that of the trace", a.live)
	}
}

// The difference of heap profiles has the allocations of its window.
func TestDelta(t *testing.T) {
	f := newFake()
	f.Ran("main.work;main.main", 1000)
	f.Made("main.work;main.main", 1<<10, 1<<20, 0)
	e := f.evidence()
	e.Heap[0], e.Delta, e.NoInUse, e.Window = nil, true, true, 5e9
	e.Metrics[1].Set(evidence.MetricUptime, 50)
	e.Metrics[1].Set(evidence.MetricCyclesTotal, 100)
	a := newAccount(e)
	if a.window != 5e9 || a.cycles != 10 || a.allocBytes != 1<<30 {
		t.Errorf("%v cycles and %v bytes in %v", a.cycles, a.allocBytes, a.window)
	}
	if text := fmt.Sprint(a.missing()); strings.Contains(text, "from the start of the window") || !strings.Contains(text, "with the bytes in use") {
		t.Error(text)
	}
}

// With the collector off the verdict says so first.
func TestVerdictOff(t *testing.T) {
	f := newFake()
	f.Ran("main.work;main.main", 1000)
	e := with(f.evidence(), map[string]float64{evidence.MetricGOGC: -1})
	if r := Diagnose(t.Context(), e); !strings.HasPrefix(r.Verdict, "The collector is off (GOGC=off), so the heap only grows. ") {
		t.Error(r.Verdict)
	}
}
