// SPDX-License-Identifier: Apache-2.0

package promstats

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// gather is the value of each metric by name and label, as in `freehold_mode{mode="heap"}`.
func gather(t testing.TB) map[string]float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry() // Holds metrics to their descriptions.
	r.MustRegister(NewCollector())
	return gatherFrom(t, r)
}

func gatherFrom(t testing.TB, r prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += "{" + l.GetName() + `="` + l.GetValue() + `"}`
			}
			values[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

func TestLint(t *testing.T) {
	problems, err := testutil.CollectAndLint(NewCollector())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// TestValues: each figure follows what the program does.
func TestValues(t *testing.T) {
	p := offheap.NewPurpose("prometheus")
	before := gather(t)
	b := p.Alloc(10 << 20)
	p.SetLimit(1 << 30)
	old := offheap.SetLimit(1 << 40)
	a, o := arena.NewArena(), arena.NewOffHeap(arena.Options{Purpose: p})
	arena.MakeSlice[int64](a, 1<<17, 1<<17)
	arena.MakeSlice[int64](o, 1<<18, 1<<18)
	after := gather(t)
	rise := func(name string, least, most float64) {
		t.Helper()
		if d := after[name] - before[name]; d < least || d > most {
			t.Errorf("%s rose by %.0f, want %.0f to %.0f", name, d, least, most)
		}
	}
	const mib = 1 << 20
	if !freehold.Modes().Heap && !race { // Else Go counts these bytes.
		rise(`freehold_in_use_bytes{package="offheap"}`, 12*mib, 16*mib)
		// What other tests have reserved may do.
		if r, used := after[`freehold_reserved_bytes{package="offheap"}`], after[`freehold_in_use_bytes{package="offheap"}`]; r < used {
			t.Errorf("%.0f bytes are reserved and %.0f in use", r, used)
		}
	}
	if !freehold.Modes().Heap { // Else arenas do not tell where values lie.
		rise(`freehold_purpose_in_use_bytes{purpose="prometheus"}`, 12*mib, 16*mib)
		rise(`freehold_arena_held_bytes{memory="offheap"}`, 2*mib, 4*mib)
		rise(`freehold_arena_held_bytes{memory="go"}`, 1*mib, 2*mib)
	}
	rise(`freehold_purpose_held_bytes{purpose="prometheus"}`, 10*mib, 16*mib)
	rise(`freehold_purpose_limit_bytes{purpose="prometheus"}`, 1<<30, 1<<30)
	rise(`freehold_offheap_held_bytes`, 10*mib, 18*mib)
	rise(`freehold_offheap_limit_bytes`, 1<<40, 1<<40)
	rise(`freehold_arenas`, 2, 2)
	a.Free()
	o.Free()
	offheap.Free(b)
	p.SetLimit(0)
	offheap.SetLimit(old)
	after = gather(t)
	rise(`freehold_arenas`, 0, 0)
	rise(`freehold_purpose_in_use_bytes{purpose="prometheus"}`, 0, 0)
	for _, name := range []string{"freehold_offheap_limit_bytes", `freehold_purpose_limit_bytes{purpose="prometheus"}`, "freehold_go_memory_limit_bytes"} {
		if v, ok := after[name]; ok {
			t.Errorf("%s is %.0f where there is no limit", name, v)
		}
	}
}

func TestLeakedArena(t *testing.T) {
	if freehold.Modes().Heap {
		t.Skip("the collector takes what nobody holds")
	}
	before := gather(t)
	elsewhere(func() { arena.New[int](arena.NewOffHeap(arena.Options{})) })
	var after map[string]float64
	rise := func(name string) float64 { return after[name] - before[name] }
	if !collected(func() bool { after = gather(t); return rise("freehold_arenas_leaked") > 0 }) ||
		rise("freehold_arenas_leaked") != 1 || rise("freehold_arena_leaked_bytes") <= 0 {
		t.Errorf("one arena was leaked; before %v, after %v", before, after)
	}
}

func TestForgottenArena(t *testing.T) {
	if freehold.Modes().Heap {
		t.Skip("arenas own nothing")
	}
	before := gather(t)
	elsewhere(func() {
		for range 10 {
			arena.New[int](arena.NewArena())
		}
	})
	var n float64
	if !collected(func() bool {
		n = gather(t)["freehold_arenas_forgotten_total"] - before["freehold_arenas_forgotten_total"]
		return n >= 10
	}) || n != 10 {
		t.Errorf("10 arenas were forgotten, %.0f counted", n)
	}
}

// elsewhere runs f in a goroutine of its own, whose stack is gone afterwards, and with it all that
// f left there.
func elsewhere(f func()) {
	done := make(chan bool)
	go func() { defer close(done); f() }()
	<-done
}

// collected runs the collector until done, for a minute at most, and returns whether it is. What
// cleanups do comes some time after a collection, and the first one may have begun before what it
// is to find was dropped.
func collected(done func() bool) bool {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		if done() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// TestAllPresent: the documentation lists what a collection has, and no more. Limits are set for
// it.
func TestAllPresent(t *testing.T) {
	defer offheap.SetLimit(offheap.SetLimit(1 << 40))
	p := offheap.NewPurpose("all present")
	defer p.SetLimit(p.SetLimit(1 << 30))
	values := gather(t)
	for _, word := range []string{"heap", "nomemlimit", "noreuse", "guard", "leaks", "pointers", "sample"} {
		if _, ok := values[`freehold_mode{mode="`+word+`"}`]; !ok {
			t.Errorf("no freehold_mode for %s", word)
		}
	}
	names := map[string]bool{}
	for name := range values {
		name, _, _ = strings.Cut(name, "{")
		names[name] = true
	}
	for _, d := range descs {
		name := strings.Split(d.String(), `"`)[1]
		if !names[name] && name != "freehold_go_memory_limit_bytes" {
			t.Errorf("%s was described and not collected", name)
		}
		delete(names, name)
	}
	if len(names) > 0 {
		t.Errorf("collected and not described: %v", names)
	}
}

// TestNames: a name that Prometheus would refuse must not cost all other figures.
func TestNames(t *testing.T) {
	offheap.NewPurpose("bad \xff name")
	offheap.NewPurpose("bad \xfe name")
	var names []string
	for name := range gather(t) {
		if strings.Contains(name, "bad") && strings.HasPrefix(name, "freehold_purpose_held_bytes") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	want := []string{`freehold_purpose_held_bytes{purpose=""bad \xfe name""}`, `freehold_purpose_held_bytes{purpose=""bad \xff name""}`}
	if !slices.Equal(names, want) {
		t.Errorf("purposes %q, want %q", names, want)
	}
}

func TestRegisteredTwice(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(NewCollector())
	if err := r.Register(NewCollector()); err == nil {
		t.Error("a registry took two of them, and will fail at each collection")
	}
}

// BenchmarkCollect is a collection beside 1000 arenas.
func BenchmarkCollect(b *testing.B) {
	var list []*arena.Arena
	for range 1000 {
		list = append(list, arena.NewArena())
	}
	for b.Loop() {
		testutil.CollectAndCount(NewCollector())
	}
	for _, a := range list {
		a.Free()
	}
}
