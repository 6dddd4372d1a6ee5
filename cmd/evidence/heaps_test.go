// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/freehold-go/freehold/cmd/internal/profiletest"
)

// readAll reads files in an order.
func readAll(t *testing.T, files [][]byte, order []int) *Evidence {
	t.Helper()
	e := &Evidence{}
	for _, i := range order {
		if err := e.Read(fmt.Sprintf("file%d", i), bytes.NewReader(files[i])); err != nil {
			t.Fatalf("order %v: %v", order, err)
		}
	}
	return e
}

// heapAt is a heap profile of a time, with objects allocated and in use.
func heapAt(seconds, objects, inuse int64) *profile.Profile {
	f := profiletest.NewFake()
	f.Made("main.work;main.main", 64<<10, objects, inuse)
	f.Heap.TimeNanos = seconds * 1e9
	return f.Heap
}

// textHeap is a heap in the text form, with HeapAlloc and NextGC.
func textHeap(alloc, next int64) []byte {
	return fmt.Appendf(nil, "heap profile: 100: 6553600 [900: 58982400] @ heap/1048576\n100: 6553600 [900: 58982400] @ 0x1 0x2\n"+
		"#\t0x1\tmain.work+0x1\t/src/app/main.go:10\n#\t0x2\tmain.main+0x1\t/src/app/main.go:20\n\n"+
		"# runtime.MemStats\n# TotalAlloc = 99000000\n# HeapAlloc = %d\n# NextGC = %d\n# LastGC = 20000000000\n# NumGC = 33\n", alloc, next)
}

// orders are all orders of n things.
func orders(n int) (list [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, o := range orders(n - 1) {
		for i := range n {
			list = append(list, slices.Insert(slices.Clone(o), i, n-1))
		}
	}
	return list
}

// The text form beside binary profiles gives its statistics, whatever the order of the files.
func TestTextBesideBinary(t *testing.T) {
	live := int64(56_000_000) // the samples say 55.8 MB
	files := [][]byte{
		profiletest.Written(t, profiletest.Program().CPU, true), profiletest.Written(t, heapAt(5, 500, 400), true), profiletest.Written(t, heapAt(20, 900, 800), true),
		textHeap(live, 2*live),
	}
	for _, order := range orders(len(files)) {
		e := readAll(t, files, order)
		if e.Heap[0] == nil || e.Heap[0].TimeNanos != 5e9 || e.Heap[1].TimeNanos != 20e9 || InUse(e.Heap[1]) != 800*64<<10 {
			t.Fatalf("order %v: the heap profiles are %v and %v", order, e.Heap[0], e.Heap[1])
		}
		for name, want := range map[string]float64{MetricHeapGoal: float64(2 * live), MetricCyclesTotal: 33, MetricLiveHeap: float64(live)} {
			if v, _ := e.Metrics[1].Get(name); v != want {
				t.Errorf("order %v: %s is %v, want %v", order, name, v, want)
			}
		}
		if p := e.Problems(); len(p) != 0 {
			t.Errorf("order %v: problems %v", order, p)
		}
	}
	// Without a binary profile the text is the heap profile, at the time of the last collection.
	if e := readAll(t, files[3:], []int{0}); e.Heap[1] == nil || e.Heap[1].TimeNanos != 20e9 {
		t.Errorf("the text alone: %v", e.Heap[1])
	}
}

// HeapAlloc is the live heap only right after a collection.
func TestTextLiveHeap(t *testing.T) {
	e := readAll(t, [][]byte{textHeap(90_000_000, 112_000_000)}, []int{0})
	if v, ok := e.Metrics[1].Get(MetricLiveHeap); ok {
		t.Errorf("half a cycle after the collection, %v counts as live", v)
	}
	// The live heap and the goal come from one source.
	vars := []byte(`{"memstats": {"TotalAlloc": 99000000, "NextGC": 77, "NumGC": 33}}`)
	for _, order := range orders(2) {
		e = readAll(t, [][]byte{vars, textHeap(56_000_000, 112_000_000)}, order)
		if goal, _ := e.Metrics[1].Get(MetricHeapGoal); goal != 112_000_000 {
			t.Errorf("order %v: the goal is %v, want that of the text", order, goal)
		}
	}
}

// TestTextThird: texts have no order beyond two.
func TestTextThird(t *testing.T) {
	e := readAll(t, [][]byte{textHeap(56_000_000, 1), textHeap(57_000_000, 1)}, []int{0, 1})
	if err := e.Read("FILE", bytes.NewReader(textHeap(58_000_000, 1))); err == nil || !strings.Contains(err.Error(), "FILE: a third heap profile in text form; ") {
		t.Error(err)
	}
}

// Heap profiles between the first and the last give the curve of the bytes in use.
func TestHeapCurve(t *testing.T) {
	var files [][]byte
	for i := range int64(4) {
		files = append(files, profiletest.Written(t, heapAt(10+i, 1000+i, 100*(i+1)), true))
	}
	want := []float64{100 * 64 << 10, 200 * 64 << 10, 300 * 64 << 10, 400 * 64 << 10}
	for _, order := range orders(len(files)) {
		e := readAll(t, files, order)
		if e.Heap[0].TimeNanos != 10e9 || e.Heap[1].TimeNanos != 13e9 || !slices.Equal(e.Curve, want) {
			t.Errorf("order %v: from %d to %d, curve %v", order, e.Heap[0].TimeNanos, e.Heap[1].TimeNanos, e.Curve)
		}
	}
}

// A difference of heap profiles has the allocations of its window. The bytes in use come from a
// whole profile, or are unknown.
func TestHeapDelta(t *testing.T) {
	delta := heapAt(20, 40, -7)
	delta.DurationNanos = 5e9
	files := [][]byte{profiletest.Written(t, delta, true), profiletest.Written(t, heapAt(19, 900, 300), true), profiletest.Written(t, heapAt(3, 100, 100), true)}
	e := readAll(t, files, []int{0})
	if !e.Delta || !e.NoInUse || e.Window != 5e9 || InUse(e.Heap[1]) != 0 || sum(e.Heap[1], "alloc_objects") != 40 {
		t.Errorf("alone: %+v, %v", e, e.Heap[1])
	}
	for _, order := range orders(2) {
		e = readAll(t, files, order)
		if !e.Delta || e.NoInUse || e.Heap[0] != nil || InUse(e.Heap[1]) != 300*64<<10 || sum(e.Heap[1], "alloc_objects") != 40 {
			t.Errorf("order %v, beside a whole one: %+v, %v", order, e, e.Heap[1])
		}
	}
	for _, order := range orders(3) {
		e = readAll(t, files, order)
		if e.Delta || e.Window != 0 || e.Heap[0] == nil || sum(e.Heap[1], "alloc_objects") != 900 || !strings.Contains(fmt.Sprint(e.Problems()), "heap?seconds=N) is left out") {
			t.Errorf("order %v, beside two whole ones: %+v, %v", order, e, e.Problems())
		}
	}
	wrong := heapAt(20, -40, 7)
	if err := new(Evidence).Read("FILE", bytes.NewReader(profiletest.Written(t, wrong, true))); err == nil || !strings.Contains(err.Error(), "subtract the earlier profile from the later one") {
		t.Errorf("a difference the wrong way round: %v", err)
	}
}

// window is a profile of the allocations since the one before, with all that is in use, as
// continuous profilers write it. It makes so many MiB, and old objects are in use.
func window(seconds, mib, old int64) *profile.Profile {
	f := profiletest.NewFake()
	f.Made("main.work;main.main", 64<<10, 16*mib, 0)
	if old > 0 {
		f.Made("main.load;main.main", 64<<10, 0, old)
	}
	f.Heap.TimeNanos = seconds * 1e9
	return f.Heap
}

// Profiles of windows are added up, and not subtracted.
func TestHeapWindows(t *testing.T) {
	timed := func(p *profile.Profile, seconds int64) *profile.Profile {
		p.DurationNanos = seconds * 1e9
		return p
	}
	whole := heapAt(15, 90000, 300)
	for _, c := range []struct {
		name    string
		heaps   []*profile.Profile
		made    float64 // MiB
		window  time.Duration
		inuse   float64
		unknown bool
		noted   bool
	}{
		{"one after the other", []*profile.Profile{window(10, 900, 300), window(20, 750, 300)}, 750, 10e9, 300, false, false},
		{"the later has more", []*profile.Profile{window(10, 600, 300), window(20, 750, 300)}, 750, 10e9, 300, false, false},
		{"three", []*profile.Profile{window(10, 600, 300), window(20, 750, 300), window(30, 650, 200)}, 1400, 20e9, 200, false, false},
		{"with their lengths", []*profile.Profile{timed(window(10, 600, 300), 10), timed(window(40, 750, 300), 8)}, 1350, 18e9, 300, false, false},
		{"with a whole one", []*profile.Profile{window(10, 600, 0), whole}, 5625 - 600, 5e9, 300, false, false},
		{"before a whole one", []*profile.Profile{window(10, 600, 200), whole}, 600, 0, 300, false, false},
		{"after a whole one", []*profile.Profile{whole, window(20, 750, 200)}, 750, 0, 300, false, false},
		{"nothing in use", []*profile.Profile{window(10, 900, 0), window(20, 750, 0)}, 750, 10e9, 0, false, true},
		{"after a whole one, nothing in use", []*profile.Profile{whole, window(20, 750, 0)}, 750, 5e9, 0, false, true},
		{"of one length, nothing in use", []*profile.Profile{timed(window(10, 900, 0), 10), timed(window(20, 750, 0), 10)}, 1650, 20e9, 0, true, false},
	} {
		var files [][]byte
		for _, p := range c.heaps {
			files = append(files, profiletest.Written(t, p, true))
		}
		for _, order := range orders(len(files)) {
			e := readAll(t, files, order)
			made := sum(e.Heap[1], "alloc_space") - sum(cmp.Or(e.Heap[0], &profile.Profile{}), "alloc_space")
			window := e.Window
			if e.Heap[0] != nil {
				window = time.Duration(e.Heap[1].TimeNanos - e.Heap[0].TimeNanos)
			}
			if made != c.made*(1<<20) || window != c.window || InUse(e.Heap[1]) != c.inuse*(64<<10) || e.NoInUse != c.unknown || (len(e.Problems()) > 0) != c.noted {
				t.Errorf("%s, order %v: %.0f MiB made in %v, %.0f in use (unknown: %t), problems %v", c.name, order, made/(1<<20), window, InUse(e.Heap[1])/(64<<10), e.NoInUse, e.Problems())
			}
		}
	}
}
