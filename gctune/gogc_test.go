// SPDX-License-Identifier: Apache-2.0

package gctune

import (
	"math"
	"strings"
	"testing"
)

func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		name       string
		policy     Policy
		total      int64
		live       int64
		want, most int
		growth     int64
	}{
		// Room is 0.97·total − 6 MiB; GOGC = 100·(share·room − live)/(live + 1 MiB).
		{"balanced, plenty", Balanced, 8192 * mib, 100 * mib, 400, 400, 0},
		{"balanced, half the room is 2.4 times the live heap", Balanced, 500 * mib, 100 * mib, 137, 138, 0},
		{"balanced, little room", Balanced, 300 * mib, 200 * mib, 100, 100, 0},
		{"balanced, little live", Balanced, 8192 * mib, 3 * mib, 724, 726, 0},      // the heap may grow to 32 MiB
		{"balanced, nearly nothing live", Balanced, 8192 * mib, 1000, 800, 800, 0}, // 4 MiB·GOGC/100 is then the goal
		{"balanced, little live in a small group", Balanced, 24 * mib, 3 * mib, 140, 141, 0},
		{"throughput, plenty", Throughput, 8192 * mib, 100 * mib, 800, 800, 0},
		{"throughput, some", Throughput, 500 * mib, 100 * mib, 280, 281, 0},
		{"throughput, little live", Throughput, 8192 * mib, 7 * mib, 800, 800, 0},
		{"throughput, nearly nothing live", Throughput, 8192 * mib, 1000, 1600, 1600, 0},
		{"small", Small, 8192 * mib, 100 * mib, 50, 50, 0},
		{"small, little live", Small, 8192 * mib, 1000, 50, 50, 0},
		{"thrashing keeps GOGC finite", Throughput, 200 * mib, 180 * mib, 100, 100, 0},
		{"balanced, nobody knows the limit", Balanced, none, 100 * mib, 100, 100, 0},
		{"small, nobody knows the limit", Small, none, 100 * mib, 50, 50, 0},
		{name: "balanced, grows by 40 MiB", total: 8192 * mib, live: 9 * mib, want: 400, most: 400, growth: 40 * mib},
		{name: "balanced, grows by 40 MiB, which is less", total: 8192 * mib, live: 19 * mib, want: 199, most: 200, growth: 40 * mib},
		{name: "balanced, would grow by less", total: 300 * mib, live: 200 * mib, want: 100, most: 100, growth: 1024 * mib},
		{name: "a growth that is too small", total: 8192 * mib, live: 1024 * mib, want: 25, most: 25, growth: 40 * mib},
		{name: "grows by 40 MiB, nobody knows the limit", total: none, live: 79 * mib, want: 49, most: 50, growth: 40 * mib},
		{name: "grows by as much as it likes", total: 8192 * mib, live: 100 * mib, want: 400, most: 400, growth: none},
	} {
		w := newWorld()
		w.go_.live = c.live
		tuner := w.tuner(t, Options{Root: layout("nowhere"), Ratio: 1, Policy: c.policy, MaxGrowth: c.growth, Limit: fixed(c.total)})
		s := w.look(t, tuner)
		if w.gogc < c.want || w.gogc > c.most || s.GOGC != w.gogc || s.GOGCWhy != "" {
			t.Errorf("%s: GOGC %d, told as %d (%s); want %d to %d", c.name, w.gogc, s.GOGC, s.GOGCWhy, c.want, c.most)
		}
		tuner.restore()
		if w.gogc != 100 {
			t.Errorf("%s: GOGC %d after the end, want 100", c.name, w.gogc)
		}
	}
}

// TestPercentFor holds the formula against what the runtime makes of it: goal = live + (live +
// roots)·GOGC/100.
func TestPercentFor(t *testing.T) {
	for _, c := range []struct {
		goal, live, roots int64
		want              int
	}{
		{300 * mib, 100 * mib, 0, 200},
		{300 * mib, 100 * mib, 100 * mib, 100},
		{100 * mib, 100 * mib, 0, 0},
		{50 * mib, 100 * mib, 0, 0},
		{none, 0, 0, math.MaxInt32},
		{8 * mib, 0, 0, 200}, // the runtime's least goal is 4 MiB·GOGC/100
	} {
		if got := percentFor(c.goal, c.live, c.roots); got != c.want {
			t.Errorf("goal %d, live %d, roots %d: %d, want %d", c.goal, c.live, c.roots, got, c.want)
		}
	}
}

func TestGOGCOfOthersStays(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		env  map[string]string
		gogc int
		why  string
	}{
		"KeepGOGC":        {Options{KeepGOGC: true}, nil, 100, "Options.KeepGOGC says so"},
		"environment":     {Options{}, map[string]string{"GOGC": "100"}, 100, "the environment sets it"},
		"set before":      {Options{}, nil, 250, "the program has set it"},
		"switched off":    {Options{}, nil, -1, "the program has set it"},
		"off by variable": {Options{}, map[string]string{"GOGC": "off"}, -1, "the environment sets it"},
	} {
		w := newWorld()
		w.gogc, w.env = c.gogc, c.env
		c.o.Root = layout("v2")
		tuner := w.tuner(t, c.o)
		s := w.look(t, tuner)
		tuner.restore()
		if w.gogc != c.gogc || s.GOGC != c.gogc || s.GOGCWhy != c.why {
			t.Errorf("%s: GOGC %d, told as %d, %q; want %d, %q", name, w.gogc, s.GOGC, s.GOGCWhy, c.gogc, c.why)
		}
		if text := s.String(); !strings.Contains(text, c.why+".") {
			t.Errorf("%s: not explained: %s", name, text)
		}
	}
}

// TestGOGCSetSinceStays: a program that sets GOGC while the tuner runs keeps it, also past the tuner's
// end.
func TestGOGCSetSinceStays(t *testing.T) {
	for _, live := range []int64{40 * mib, 200 * mib} { // the policy's value at first is 393, or the default
		w := newWorld()
		w.go_.live = live
		tuner := w.tuner(t, Options{Root: layout("v2")})
		w.look(t, tuner)
		w.gogc = 77
		for range 2 {
			if s := w.look(t, tuner); w.gogc != 77 || s.GOGC != 77 || s.GOGCWhy != "the program has set it since" {
				t.Errorf("GOGC %d, told as %d, %q", w.gogc, s.GOGC, s.GOGCWhy)
			}
		}
		tuner.restore()
		if w.gogc != 77 {
			t.Errorf("GOGC %d after the end, want 77", w.gogc)
		}
	}
}

// TestGOGCIsSteady: a change of less than a tenth waits.
func TestGOGCIsSteady(t *testing.T) {
	w := newWorld()
	w.go_.live = 100 * mib
	tuner := w.tuner(t, Options{Root: layout("nowhere"), Ratio: 1, Limit: fixed(600 * mib)})
	w.look(t, tuner)
	first := w.gogc
	w.go_.live = 102 * mib
	w.look(t, tuner)
	if w.gogc != first {
		t.Errorf("GOGC went from %d to %d", first, w.gogc)
	}
	w.go_.live = 120 * mib
	w.look(t, tuner)
	if w.gogc >= first {
		t.Errorf("GOGC stays %d with a fifth more live", w.gogc)
	}
}
