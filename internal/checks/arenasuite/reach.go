// SPDX-License-Identifier: Apache-2.0

package arenasuite

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"
)

// checkDrops looks for targets of values that are still reachable after the values were freed, for
// each way to free them.
func checkDrops(t testing.TB, cfg *Config) {
	probe := start(t, cfg)
	names, resets := probe.a.Holds, len(probe.a.Resets)
	probe.finish()
	for what := range names {
		checkDropsOf(t, cfg, what, resets)
	}
}

// checkDropsOf does so for one kind of value. All arenas are filled before the first frees its
// values, so that no other can clear the memory, and one series of collections serves all.
func checkDropsOf(t testing.TB, cfg *Config, what string, resets int) {
	t.Helper()
	var all []*holding
	for way := range resets + 2 {
		all = append(all, hold(cfg.New(t), what, way))
	}
	for _, h := range all {
		h.drop()
	}
	for range 10 {
		if runtime.GC(); !slices.ContainsFunc(all, func(h *holding) bool { return h.reachable() > 0 }) {
			break
		}
	}
	for _, h := range all {
		if n := h.reachable(); n != 0 {
			t.Errorf("arenasuite: after %s, %d of 100 things that a %s pointed to are still reachable", h.how, n, h.what)
		}
		if h.how != "Free" {
			h.a.Free()
		}
	}
}

// A holding is an arena with values that point to the Go heap.
type holding struct {
	a          *Arena
	what, how  string
	way        int // 0 for Free, 1 for Rewind, then the Resets
	checkpoint any
	things     []weak.Pointer[Held]
}

// hold makes the values.
//
//go:noinline
func hold(a *Arena, what string, way int) *holding {
	h := &holding{a: a, what: what, way: way, things: make([]weak.Pointer[Held], 100)}
	if a.Checkpoint != nil {
		h.checkpoint = a.Checkpoint()
	}
	for i := range h.things {
		p := &Held{Text: strings.Repeat("x", i)}
		h.things[i] = weak.Make(p)
		a.Holds[what](p)
	}
	return h
}

// drop frees the values.
func (h *holding) drop() {
	switch {
	case h.way == 1 && h.checkpoint != nil:
		h.a.Rewind(h.checkpoint)
		h.how = "Rewind"
	case h.way <= 1: // Without checkpoints there is nothing to rewind to.
		h.a.Free()
		h.how = "Free"
	default:
		h.a.Resets[h.way-2]()
		h.how = "Reset"
	}
}

// reachable counts the targets that are still reachable.
func (h *holding) reachable() (n int) {
	for _, w := range h.things {
		if w.Value() != nil {
			n++
		}
	}
	return n
}

// checkForgets drops arenas whose values are still reachable, and runs the collector.
func checkForgets(t testing.TB, cfg *Config) {
	var checks []func() error
	for range 5 {
		checks = append(checks, forgetArena(t, cfg)...)
		runtime.GC()
		runtime.GC()
		m := start(t, cfg) // It must not get their memory.
		m.fill(20)
		m.finish()
		for _, check := range checks {
			if err := check(); err != nil {
				t.Fatalf("arenasuite: a value of an arena that nobody has: %v", err)
			}
		}
	}
}

// forgetArena returns checks that hold some values of an arena and not the arena.
//
//go:noinline
func forgetArena(t testing.TB, cfg *Config) (checks []func() error) {
	m := start(t, cfg)
	m.fill(20)
	for i, v := range m.live {
		if i%7 == 0 {
			checks = append(checks, v.check)
		}
	}
	return checks
}
