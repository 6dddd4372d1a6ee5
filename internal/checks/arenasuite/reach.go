package arenasuite

import (
	"runtime"
	"strings"
	"testing"
	"weak"
)

// checkDrops looks for what values pointed to that is still reachable after they were given up.
func checkDrops(t testing.TB, cfg *Config) {
	probe := start(t, cfg)
	names, resets := probe.a.Holds, len(probe.a.Resets)
	probe.finish()
	for what := range names {
		for way := range resets + 2 {
			a := cfg.New(t)
			held, how := holdAndDrop(a, what, way)
			for range 10 {
				if runtime.GC(); held() == 0 {
					break
				}
			}
			if n := held(); n != 0 {
				t.Errorf("arenasuite: after %s, %d of 100 things that a %s pointed to are still reachable", how, n, what)
			}
			if way > 0 && how != "nothing" {
				a.Free()
			}
		}
	}
}

// holdAndDrop makes values that point to the Go heap and gives them up. It returns what counts the
// things that are still reachable.
//
//go:noinline
func holdAndDrop(a *Arena, what string, way int) (held func() int, how string) {
	var checkpoint any
	if a.Checkpoint != nil {
		checkpoint = a.Checkpoint()
	}
	things := make([]weak.Pointer[Held], 100)
	for i := range things {
		h := &Held{Text: strings.Repeat("x", i)}
		things[i] = weak.Make(h)
		a.Holds[what](h)
	}
	switch {
	case way == 0:
		a.Free()
		how = "Free"
	case way == 1 && checkpoint != nil:
		a.Rewind(checkpoint)
		how = "Rewind"
	case way == 1: // There are no checkpoints.
		a.Free()
		return func() int { return 0 }, "nothing"
	default:
		a.Resets[way-2]()
		how = "Reset"
	}
	return func() (n int) {
		for _, w := range things {
			if w.Value() != nil {
				n++
			}
		}
		return n
	}, how
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
