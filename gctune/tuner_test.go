// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/freehold-go/freehold/internal/memlimit"
)

// world is a pretended runtime under a tuner.
type world struct {
	cur     int64 // GOMEMLIMIT
	gogc    int
	offHeap int64
	go_     goState
	env     map[string]string
	log     bytes.Buffer
}

// newWorld has the default settings of Go and a heap of 40 MiB live, 100 MiB taken.
func newWorld() *world {
	return &world{cur: none, gogc: 100, go_: goState{live: 40 * mib, roots: mib, taken: 100 * mib, beside: 6 * mib}}
}

func (w *world) environment() environment {
	set := func(n int64) int64 {
		old := w.cur
		if n >= 0 {
			w.cur = n
		}
		return old
	}
	return environment{
		limiter: memlimit.New(set, func() int64 { return w.go_.live + w.go_.live/4 + w.go_.beside }),
		current: func() int64 { return w.cur },
		setGC:   func(n int) int { old := w.gogc; w.gogc = n; return old },
		read:    func() goState { w.go_.gogc = w.gogc; return w.go_ },
		offHeap: func() int64 { return w.offHeap },
		getenv:  func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
	}
}

func (w *world) tuner(t *testing.T, o Options) *Tuner {
	t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(&w.log, nil))
	tuner, err := newTuner(o, w.environment())
	if err != nil {
		t.Fatal(err)
	}
	tuner.begin()
	return tuner
}

func (w *world) look(t *testing.T, tuner *Tuner) Stats {
	t.Helper()
	if err := tuner.look(); err != nil {
		t.Fatal(err)
	}
	return tuner.Stats()
}

func layout(name string) fs.FS { return os.DirFS(filepath.Join("testdata", name)) }

// about reports whether got is want or the odd number under it, by which the limiter knows its own
// values.
func about(got, want int64) bool { return got == want || got == want-1 }

func fixed(n int64) func() (int64, error) { return func() (int64, error) { return n, nil } }

// TestDecideLayouts holds the formula against numbers that were worked out by hand.
func TestDecideLayouts(t *testing.T) {
	const v1Limit = 256 * mib
	for _, c := range []struct {
		name, layout string
		o            Options
		offHeap      int64
		user         int64
		source       string // the end of it
		other, limit int64
	}{
		// All of the group's 21 MiB are less than what Go says it has taken.
		{"v1", "v1", Options{}, 64 * mib, none, "memory/app (memory.limit_in_bytes)", 0, v1Limit*9/10 - 64*mib},
		// The rest keeps the floor above the live heap.
		{"v1, more in reserve than there is", "v1", Options{Reserve: math.MaxInt64}, 64 * mib, none, "app (memory.limit_in_bytes)", 0, 56 * mib},
		{"v1, others take more than there is", "v1", Options{Reserve: math.MaxInt64, Other: func() int64 { return math.MaxInt64 }}, 64 * mib, none, "app (memory.limit_in_bytes)", unlimited, v1Limit / 100},
		{"v1, ratio and reserve", "v1", Options{Ratio: 0.8, Reserve: 10 * mib}, 64 * mib, none, "app (memory.limit_in_bytes)", 0, v1Limit*8/10 - 74*mib},
		{"v1 in a container", "v1-container", Options{}, 0, none, "(hierarchical_memory_limit)", 0, 512 * mib * 9 / 10},
		// 218 MiB are used without the page cache, 164 of them by Go and off the heap.
		{"v2", "v2", Options{}, 64 * mib, none, "cgroup (memory.max)", 54 * mib, 512*mib*9/10 - (54+64)*mib},
		{"v2, told of less", "v2", Options{Other: func() int64 { return 20 * mib }}, 64 * mib, none, "(memory.max)", 54 * mib, 512*mib*9/10 - (54+64)*mib},
		{"v2, told of more", "v2", Options{Other: func() int64 { return 80 * mib }}, 64 * mib, none, "(memory.max)", 80 * mib, 512*mib*9/10 - (80+64)*mib},
		{"v2, user's limit is less", "v2", Options{}, 64 * mib, 200 * mib, "(memory.max)", 54 * mib, 136 * mib},
		{"v2, user's limit is more", "v2", Options{}, 64 * mib, 500 * mib, "(memory.max)", 54 * mib, 512*mib*9/10 - (54+64)*mib},
		// The group alone would leave 536 MiB; the other container of the pod takes 563 MiB of the
		// pod's limit.
		{"v2 nested", "v2-nested", Options{}, 64 * mib, none, "pod1.slice (memory.max)", 563 * mib, 1024*mib*9/10 - (563+64)*mib},
		{"the machine", "v1", Options{Source: Machine}, 64 * mib, none, "the machine", 24684044<<10 - 23592960<<10 - 164*mib,
			24684044<<10*9/10 - (24684044<<10 - 23592960<<10 - 164*mib) - 64*mib},
		{"a limit of the program's own", "nowhere", Options{Limit: fixed(300 * mib)}, 64 * mib, none, "Options.Limit", 0, 206 * mib},
		{"no limit at all", "nowhere", Options{}, 64 * mib, none, "", 0, none},
		{"the user's alone", "nowhere", Options{}, 64 * mib, 200 * mib, "", 0, 136 * mib},
		{"least limit", "v1", Options{Min: 180 * mib}, 64 * mib, none, "app (memory.limit_in_bytes)", 0, 180 * mib},
		{"least limit above what there is", "v1", Options{Min: 250 * mib}, 64 * mib, none, "app (memory.limit_in_bytes)", 0, v1Limit - 64*mib - v1Limit/40},
	} {
		w := newWorld()
		w.cur, w.offHeap = c.user, c.offHeap
		c.o.Root = layout(c.layout)
		tuner := w.tuner(t, c.o)
		s := w.look(t, tuner)
		if !strings.HasSuffix(s.Source, c.source) || (c.source == "") != (s.Source == "") || s.Other != c.other {
			t.Errorf("%s: source %q, other %d; want %q, %d", c.name, s.Source, s.Other, c.source, c.other)
		}
		// 0.9 is no binary fraction: a byte more or less.
		if s.Limit != w.cur || abs(w.cur-c.limit) > 2 {
			t.Errorf("%s: limit %d, told as %d; want %d", c.name, w.cur, s.Limit, c.limit)
		}
		tuner.restore()
		want := c.user
		if c.user != none {
			want -= c.offHeap // as without a tuner
		}
		if !about(w.cur, want) || w.gogc != 100 {
			t.Errorf("%s: after the end limit %d and GOGC %d; want %d and 100", c.name, w.cur, w.gogc, want)
		}
	}
}

// TestAbsurdNumbers: no figure of a decision overflows, whatever the options and the system say, and its text
// is complete. Limits of 1 EiB and more are none.
func TestAbsurdNumbers(t *testing.T) {
	absurd := []int64{0, 1, unlimited - 1, unlimited, math.MaxInt64}
	roots := map[string]fs.FS{"": layout("nowhere")}
	for _, n := range []int64{1 << 10, unlimited - 1, unlimited, 1 << 62, math.MaxInt64 - 1, math.MaxInt64} {
		roots[fmt.Sprint("memory.max ", n)] = v2("memory.max", fmt.Sprint(n), "memory.current", fmt.Sprint(int64(math.MaxInt64)))
		roots[fmt.Sprint("memory.high ", n)] = v2("memory.high", fmt.Sprint(n), "memory.max", fmt.Sprint(int64(math.MaxInt64)), "memory.current", "1")
		roots[fmt.Sprint("machine ", n)] = fstest.MapFS{"proc/meminfo": {Data: fmt.Appendf(nil, "MemTotal: %d kB\n", n>>10)}}
	}
	for _, n := range []int64{1, mib, 1 << 40, unlimited - 1, unlimited, math.MaxInt64 - 1, math.MaxInt64} {
		roots[fmt.Sprint("Limit ", n)] = nil
	}
	for from, root := range roots {
		var limit int64
		_, _ = fmt.Sscan(from[strings.LastIndexByte(from, ' ')+1:], &limit)
		for i := range 4 * len(absurd) * 2 * 8 {
			pick := func(n int) (k int) { k, i = i%n, i/n; return k }
			o := Options{Root: root, Ratio: []float64{math.SmallestNonzeroFloat64, 1e-18, 0.5, 1}[pick(4)], Reserve: absurd[pick(len(absurd))], Min: []int64{0, math.MaxInt64}[pick(2)]}
			if root == nil {
				o.Root, o.Limit = roots[""], fixed(limit)
			}
			w := newWorld()
			if pick(2) == 1 {
				o.MaxGrowth, o.Policy = math.MaxInt64, Throughput
			}
			if pick(2) == 1 {
				o.Other = func() int64 { return math.MaxInt64 }
			}
			tuner := w.tuner(t, o)
			if pick(2) == 1 {
				tuner.squeeze = squeezeMost
			}
			for range 2 {
				d := w.look(t, tuner).Decision
				for _, n := range []int64{d.Total, d.Headroom, d.Squeezed, d.Other, d.Limit, d.Room, d.Wanted, int64(d.GOGC)} {
					if n < 0 {
						t.Fatalf("%s, %+v: %+v", from, o, d)
					}
				}
				if none := from == "" || limit >= unlimited; none != (d.Source == "") || none && d.Limit != math.MaxInt64 || !none && d.Limit > limit {
					t.Fatalf("%s, %+v: %+v", from, o, d)
				}
				if s := d.String(); !strings.HasSuffix(s, ".") || strings.Contains(s, " -") {
					t.Fatalf("%s, %+v: %s", from, o, s)
				}
			}
		}
	}
}

// TestFullMachine: others on the machine take from what a program might use, and leave it what it
// takes by default.
func TestFullMachine(t *testing.T) {
	const total = 1000 * mib
	for _, c := range []struct{ available, want int64 }{
		{900 * mib, 900*mib - 50*mib},               // no other memory: a tenth stays free
		{600 * mib, 900*mib - 250*mib - 50*mib},     // others have 250 MiB
		{20 * mib, (2*40 + 1 + 6) * mib * 100 / 97}, // all is taken: 2·live + roots + memory beside the heap
		{0, (2*40 + 1 + 6) * mib * 100 / 97},        // not a byte is left
	} {
		w := newWorld()
		w.offHeap = 50 * mib
		info := fmt.Sprintf("MemTotal: %d kB\nMemAvailable: %d kB\n", total>>10, c.available>>10)
		tuner := w.tuner(t, Options{Root: fstest.MapFS{"proc/meminfo": {Data: []byte(info)}}})
		if s := w.look(t, tuner); abs(w.cur-c.want) > 2 || s.Source != "the machine" {
			t.Errorf("%d MiB available: limit %.1f MiB, want %.1f; %v", c.available/mib, float64(w.cur)/mib, float64(c.want)/mib, s)
		}
	}
}

// TestFollows changes everything that a limit depends on.
func TestFollows(t *testing.T) {
	w := newWorld()
	total := int64(400 * mib)
	told := int64(0)
	tuner := w.tuner(t, Options{Root: layout("nowhere"), Ratio: 1, Limit: func() (int64, error) { return total, nil }, Other: func() int64 { return told }})
	for i, step := range []struct {
		total, offHeap, other, want int64
	}{
		{400 * mib, 0, 0, 400 * mib},
		{400 * mib, 100 * mib, 0, 300 * mib},
		{400 * mib, 100 * mib, 50 * mib, 250 * mib},
		{400 * mib, 102 * mib, 50 * mib, 250 * mib}, // less than 1/64: waits
		{800 * mib, 100 * mib, 200 * mib, 500 * mib},
		{800 * mib, 100 * mib, 0, 520 * mib}, // freed other memory counts nine tenths
		{500 * mib, 100 * mib, 0, 238 * mib},
		{none, 100 * mib, 0, none},
	} {
		total, w.offHeap, told = step.total, step.offHeap, step.other
		w.look(t, tuner)
		if w.cur != none && abs(w.cur-step.want) > 2 || (w.cur == none) != (step.want == none) {
			t.Errorf("step %d: limit %.1f MiB, want %.1f", i, float64(w.cur)/mib, float64(step.want)/mib)
		}
	}
	if s := tuner.Stats(); s.Looks != 8 || s.Changes != 7 {
		t.Errorf("%d looks and %d changes, want 8 and 7", s.Looks, s.Changes)
	}
}

// TestOffHeapCountsOnce: between two looks the packages themselves have the limit follow, as they
// do without a tuner.
func TestOffHeapCountsOnce(t *testing.T) {
	w := newWorld()
	w.offHeap = 50 * mib
	tuner := w.tuner(t, Options{Root: layout("nowhere"), Ratio: 1, Limit: fixed(400 * mib)})
	w.look(t, tuner)
	for range 3 {
		w.offHeap = 150 * mib
		tuner.env.limiter.Sync(tuner.env.offHeap)
		if !about(w.cur, 250*mib) {
			t.Fatalf("limit %d MiB, want 250", w.cur/mib)
		}
		w.look(t, tuner)
	}
	if !about(w.cur, 250*mib) {
		t.Errorf("limit %d MiB after a look, want 250", w.cur/mib)
	}
}

// TestFloor: what the collector cannot work without is kept, and never so much that the group is
// full.
func TestFloor(t *testing.T) {
	for _, c := range []struct{ offHeap, live, want int64 }{
		{100 * mib, 40 * mib, 80 * mib},               // 0.9·200 − 100
		{140 * mib, 40 * mib, 50*mib + 6*mib - 1*mib}, // live and a quarter want 56, the headroom but a quarter leaves 55
		{130 * mib, 40 * mib, 56 * mib},               // live and a quarter and the runtime's 6
		{198 * mib, 40 * mib, 18 * mib},               // a tenth of 180, whatever happens
	} {
		w := newWorld()
		w.offHeap, w.go_.live = c.offHeap, c.live
		tuner := w.tuner(t, Options{Root: layout("nowhere"), Limit: fixed(200 * mib)})
		w.look(t, tuner)
		if abs(w.cur-c.want) > 2 {
			t.Errorf("%d MiB off heap: limit %.2f MiB, want %.2f", c.offHeap/mib, float64(w.cur)/mib, float64(c.want)/mib)
		}
	}
}

func TestThrashingIsTold(t *testing.T) {
	w := newWorld()
	var told []Stats
	tuner := w.tuner(t, Options{Root: layout("nowhere"), Ratio: 1, Limit: fixed(200 * mib), OnThrash: func(s Stats) { told = append(told, s) }})
	// The room is 0.97·200 − 6 = 188 MiB.
	for i, step := range []struct {
		live    int64
		limiter uint64
		want    State
	}{
		{40 * mib, 0, Ample},
		{130 * mib, 0, Tight},     // 1.45
		{122 * mib, 0, Tight},     // 1.54: not yet left
		{110 * mib, 0, Ample},     // 1.71
		{150 * mib, 0, Thrashing}, // 1.25
		{140 * mib, 0, Thrashing}, // 1.34: not yet left
		{130 * mib, 0, Tight},
		{40 * mib, 0, Ample},
		{40 * mib, 7, Thrashing}, // the runtime bounded the collector in cycle 7
		{40 * mib, 7, Ample},
	} {
		w.go_.live, w.go_.limiter = step.live, step.limiter
		s := w.look(t, tuner)
		if s.State != step.want {
			t.Errorf("step %d: %v with room %d and %d live, want %v", i, s.State, s.Room/mib, s.Live/mib, step.want)
		}
		if step.want == Thrashing && step.live > 100*mib {
			// 1.5·live and 6 MiB and the 3 % above it.
			if need := int64(1.5*float64(step.live)) - s.Room + 200*mib; abs(s.Wanted-need) > 2 {
				t.Errorf("step %d: a limit of %d is said to help, want %d", i, s.Wanted, need)
			}
		}
	}
	if len(told) != 2 || told[0].State != Thrashing || told[1].Looks != 9 {
		t.Errorf("OnThrash was called %d times: %+v", len(told), told)
	}
	if s := tuner.Stats(); s.Thrashing != 3 {
		t.Errorf("%d looks counted as thrashing, want 3", s.Thrashing)
	}
	if n := strings.Count(w.log.String(), "level=WARN"); n != 2 {
		t.Errorf("%d warnings, want 2:\n%s", n, w.log.String())
	}
}

func TestPressureTakesHeadroom(t *testing.T) {
	w := newWorld()
	tuner := w.tuner(t, Options{Ratio: 1, Root: v2("memory.current", "1", "memory.max", "419430400", "memory.pressure", "some avg10=40.00\nfull avg10=5.00\n")})
	w.look(t, tuner) // learns of it
	for range 12 {
		w.look(t, tuner)
	}
	if s := tuner.Stats(); !about(w.cur, 320*mib) || s.Squeezed != 80*mib || s.Pressure != (Pressure{true, 40, 5}) {
		t.Errorf("after ten looks under pressure limit %d MiB, %+v; want 320 MiB", w.cur/mib, s.Decision)
	}
	tuner.o.Root = v2("memory.current", "1", "memory.max", "419430400", "memory.pressure", "some avg10=0.00\nfull avg10=0.00\n")
	for range 25 {
		w.look(t, tuner)
	}
	if !about(w.cur, 400*mib) {
		t.Errorf("long after the pressure limit %d MiB, want 400", w.cur/mib)
	}
	// A heap without room gains nothing by less.
	w.go_.live = 300 * mib
	tuner.o.Root = v2("memory.current", "1", "memory.max", "419430400", "memory.pressure", "some avg10=40.00\nfull avg10=5.00\n")
	for range 5 {
		w.look(t, tuner)
	}
	if !about(w.cur, 400*mib) {
		t.Errorf("limit %d MiB while thrashing, want 400", w.cur/mib)
	}
}

// TestLogIsQuiet: the log hears of the first decision and of changes, not of every look.
func TestLogIsQuiet(t *testing.T) {
	w := newWorld()
	tuner := w.tuner(t, Options{Root: layout("nowhere"), Limit: fixed(512 * mib)})
	for _, step := range []struct{ offHeap, lines int64 }{{0, 1}, {0, 1}, {mib, 1}, {0, 1}, {60 * mib, 2}, {60 * mib, 2}} {
		w.offHeap = step.offHeap
		w.look(t, tuner)
		if n := strings.Count(w.log.String(), "level=INFO"); int64(n) != step.lines {
			t.Errorf("%d MiB off heap: %d lines, want %d\n%s", w.offHeap/mib, n, step.lines, w.log.String())
		}
	}
	if text := w.log.String(); !strings.Contains(text, "decision.limit=") || !strings.Contains(text, "why=\"Options.Limit allows 512 MiB") {
		t.Errorf("the log lacks the numbers or the reason: %s", text)
	}
}

func TestErrorsKeepTheLastDecision(t *testing.T) {
	w := newWorld()
	fail := error(nil)
	tuner := w.tuner(t, Options{Root: layout("nowhere"), Ratio: 1, Limit: func() (int64, error) { return 400 * mib, fail }})
	w.look(t, tuner)
	fail = errors.New("the oracle is silent")
	if err := tuner.look(); !errors.Is(err, fail) || err.Error() != "gctune: Options.Limit: the oracle is silent" {
		t.Errorf("error %v", err)
	}
	if s := tuner.Stats(); s.Errors != 1 || s.Looks != 1 || !about(w.cur, 400*mib) {
		t.Errorf("%+v, limit %d; want the first decision to stand", s, w.cur)
	}
	for _, n := range []int64{0, -1} {
		tuner.o.Limit = fixed(n)
		if err := tuner.look(); err == nil || !strings.Contains(err.Error(), "want more than 0") {
			t.Errorf("limit %d: error %v", n, err)
		}
	}
}

func TestNothingIsSet(t *testing.T) {
	for name, c := range map[string]struct {
		o   Options
		env string
		off string
	}{
		"a dry run":            {Options{DryRun: true}, "", "a dry run"},
		"dryrun by the system": {Options{}, "dryrun", "a dry run"},
		"off":                  {Options{}, "off", "GCTUNE=off"},
	} {
		w := newWorld()
		w.env = map[string]string{"GCTUNE": c.env}
		c.o.Root, c.o.Policy = layout("v2"), Throughput
		tuner := w.tuner(t, c.o)
		s := w.look(t, tuner)
		tuner.restore()
		if w.cur != none || w.gogc != 100 {
			t.Errorf("%s: limit %d, GOGC %d", name, w.cur, w.gogc)
		}
		if s.Off != c.off || abs(s.Limit-(512*mib*9/10-118*mib)) > 2 || s.GOGC <= 100 {
			t.Errorf("%s: %+v", name, s.Decision)
		}
	}
}

// TestStart runs the real thing in this process.
func TestStart(t *testing.T) {
	t.Setenv("GOGC", "100")
	env := process()
	before, gogcBefore := env.current(), env.read().gogc
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tuner, err := Start(ctx, Options{Limit: fixed(1 << 40), Ratio: 0.5, Interval: -1})
	if err != nil {
		t.Fatal(err)
	}
	if got := env.current(); got > 1<<39 || got < 1<<38 {
		t.Errorf("limit %d, want a little under %d", got, int64(1<<39))
	}
	if s, ok := ReadStats(); !ok || s.Looks != 1 || s.Limit != env.current() || s.GOGCWhy == "" {
		t.Errorf("stats %+v, %v", s, ok)
	}
	if _, err := Start(ctx, Options{}); !errors.Is(err, ErrRunning) {
		t.Errorf("a second tuner: error %v, want ErrRunning", err)
	}
	cancel()
	<-tuner.Done()
	if got := env.current(); got != before {
		t.Errorf("limit %d after the end, want %d", got, before)
	}
	if got := env.read().gogc; got != gogcBefore {
		t.Errorf("GOGC %d after the end, want %d", got, gogcBefore)
	}
	if _, ok := ReadStats(); ok {
		t.Error("there are stats after the end")
	}
	if _, err := Start(ctx, Options{Limit: fixed(0)}); err == nil {
		t.Error("a limit of 0 was taken")
	}
	if _, ok := ReadStats(); ok {
		t.Error("a tuner runs although Start failed")
	}
}

// TestStartPanics: the program's own values are in force after a panic inside Start, and another tuner may start.
func TestStartPanics(t *testing.T) {
	env := process()
	before, gogcBefore := env.current(), env.read().gogc
	for name, o := range map[string]Options{
		"Limit":  {Limit: func() (int64, error) { panic("in a test") }},
		"Other":  {Limit: fixed(1 << 40), Other: func() int64 { panic("in a test") }},
		"Logger": {Limit: fixed(1 << 40), Ratio: 0.5, Policy: Small, Logger: slog.New(panicking{slog.DiscardHandler})},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic inside Start", name)
				}
			}()
			_, _ = Start(t.Context(), o)
		}()
		if _, ok := ReadStats(); ok || env.current() != before || env.read().gogc != gogcBefore {
			t.Errorf("after a panic of %s a tuner runs (%v), GOMEMLIMIT is %d, before %d, GOGC %d, before %d", name, ok, env.current(), before, env.read().gogc, gogcBefore)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	tuner, err := Start(ctx, Options{Limit: fixed(1 << 40)})
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	<-tuner.Done()
}

// panicking is a handler that panics.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool  { return true }
func (panicking) Handle(context.Context, slog.Record) error { panic("in a test") }

// TestStartAfterAnother: a tuner is made while another one ends. The GOGC that it finds is its own to set.
func TestStartAfterAnother(t *testing.T) {
	w := newWorld()
	w.gogc = 300
	tuner, err := newTuner(Options{Limit: fixed(1 << 40), Policy: Small, Root: layout("nowhere")}, w.environment())
	if err != nil {
		t.Fatal(err)
	}
	w.gogc = defaultGOGC
	tuner.begin()
	if s := w.look(t, tuner); s.GOGCWhy != "" || w.gogc != policies[Small].low {
		t.Errorf("GOGC is %d, because %q; want %d", w.gogc, s.GOGCWhy, policies[Small].low)
	}
}

func TestDecide(t *testing.T) {
	before := process().current()
	d, err := Decide(Options{Limit: fixed(1 << 40), Policy: Small, OnThrash: func(Stats) { t.Error("called in a dry run") }})
	if err != nil || d.Off != "a dry run" || d.Total != 1<<40 || math.Abs(float64(d.Limit)/(1<<40)-0.9) > 0.05 {
		t.Errorf("%+v, error %v", d, err)
	}
	if got := process().current(); got != before {
		t.Errorf("the limit went from %d to %d", before, got)
	}
	if _, err := Decide(Options{Ratio: 2}); err == nil {
		t.Error("a ratio of 2 was taken")
	}
}

func BenchmarkLook(b *testing.B) {
	o := Options{DryRun: true}
	tuner, err := newTuner(o, process())
	if err != nil {
		b.Fatal(err)
	}
	tuner.begin()
	for b.Loop() {
		if err := tuner.look(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestZeroTuner: a wait for a Tuner that nothing runs would never end.
func TestZeroTuner(t *testing.T) {
	defer func() {
		if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), "Start did not make") {
			t.Errorf("Done of a zero Tuner: %v", err)
		}
	}()
	new(Tuner).Done()
}

// TestDecideBesideTuner: a GOGC that the tuner of the process has set is not the program's own. One that the program has set is.
func TestDecideBesideTuner(t *testing.T) {
	if _, set := os.LookupEnv("GOGC"); set {
		t.Skip("the environment sets GOGC")
	}
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Limit: fixed(1 << 40), Policy: Small, Interval: -1}
	tuner, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); <-tuner.Done() }()
	small := policies[Small].low
	if s := tuner.Stats(); s.GOGC != small || s.GOGCWhy != "" {
		t.Skipf("the tuner leaves GOGC at %d: %q", s.GOGC, s.GOGCWhy)
	}
	if d, err := Decide(o); err != nil || d.GOGC != small || d.GOGCWhy != "" {
		t.Errorf("GOGC %d, because %q, error %v; want %d", d.GOGC, d.GOGCWhy, err, small)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(small + 10))
	if d, err := Decide(o); err != nil || d.GOGC != small+10 || d.GOGCWhy != "the program has set it" {
		t.Errorf("GOGC %d, because %q, error %v; want %d, which the program has set", d.GOGC, d.GOGCWhy, err, small+10)
	}
}

// TestTunerString: a printed Tuner is one line in every state, and not its fields.
func TestTunerString(t *testing.T) {
	w := newWorld()
	tuner := w.tuner(t, Options{Limit: fixed(300 * mib), Policy: Small})
	w.look(t, tuner)
	dry := w.tuner(t, Options{Limit: fixed(300 * mib), DryRun: true})
	w.look(t, dry)
	var none *Tuner
	for v, want := range map[*Tuner]string{
		tuner:      fmt.Sprintf("Tuner: GOMEMLIMIT %s, GOGC %d, ", size(tuner.Stats().Limit), tuner.Stats().GOGC),
		dry:        "nothing is set (a dry run)",
		none:       "no Tuner",
		new(Tuner): "a Tuner that Start did not make",
	} {
		if s := fmt.Sprint(v); !strings.Contains(s, want) || len(s) > 120 {
			t.Errorf("%q, want %q", s, want)
		}
	}
}
