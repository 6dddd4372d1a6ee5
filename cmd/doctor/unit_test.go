// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"math"
	"strings"
	"testing"
)

// remedyOf is the finding that a program gets which spends half of its time in allocating objects
// of a size on a stack.
func remedyOf(t *testing.T, id string, size int64, entry string, stacks ...string) Finding {
	t.Helper()
	f := newFake()
	for _, s := range stacks {
		f.Ran("runtime.mallocgc;"+entry+";"+s, 50/int64(len(stacks)))
		f.Made(s, size, 1_000_000, 0)
		if len(stacks) > 1 {
			f.Made(s, size*2, 500_000, 0)
		}
	}
	f.Ran("main.work;main.main", 50)
	e := f.evidence()
	e.Main = "example.com/shop"
	for _, found := range Diagnose(t.Context(), with(e, nil)).Findings {
		if found.ID == id {
			return found
		}
	}
	t.Fatalf("no finding %s", id)
	return Finding{}
}

// TestArenaUnit wants no arena in a function that may return values made in it: they would be freed
// before their use.
func TestArenaUnit(t *testing.T) {
	for _, c := range []struct {
		name   string
		stacks []string
		unit   string // what the arena is made or reset for
		code   string // part of the snippet
	}{
		{"a recursive builder called by main", []string{"main.build;main.build;main.build;main.main"},
			"each iteration of the loop in main.main that calls main.build.", "… main.build(a, …)\n"},
		{"its helper", []string{"main.newNode;main.build;main.build;main.main"}, "each iteration of the loop in main.main that calls main.build.", "a.Reset(arena.Keep)"},
		{"main itself", []string{"main.main"}, "each iteration of the loop in main.main.", "a.Reset(arena.Keep)"},
		{"a goroutine of main's", []string{"main.build;main.main.func1"}, "each iteration of the loop in main.main.func1 that calls main.build.", "a.Reset(arena.Keep)"},
		{"a goroutine's own", []string{"main.worker"}, "each iteration of the loop in main.worker.", "a.Reset(arena.Keep)"},
		{"a handler", []string{"main.handle;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve"}, "each call of main.handle.", "// in main.handle:\n"},
		{"a benchmark", []string{"main.build;main.BenchmarkBuild;testing.(*B).runN"}, "each iteration of the loop in main.BenchmarkBuild that calls main.build.", "a.Reset(arena.Keep)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := remedyOf(t, "short-lived-objects", 48, "runtime.newobject", c.stacks...).Remedy
			if !strings.Contains(r.Text, " for "+c.unit) || !strings.Contains(r.Snippet, c.code) {
				t.Errorf("%s\n%s\nwant %q and %q", r.Text, r.Snippet, c.unit, c.code)
			}
		})
	}
}

// TestNoArena wants no arena where it is not known that the memory's use ends with a function or a
// loop, and where the code of others makes the memory.
func TestNoArena(t *testing.T) {
	for _, c := range []struct {
		name, why string
		stacks    []string
	}{
		{"two that call each other", "it is not known where", []string{"main.build;main.walk;main.build;main.serve;main.main"}},
		{"a function and its helper", "it is not known where", []string{"main.build;main.serve;main.main", "main.newNode;main.build;main.serve;main.main"}},
		{"called by a library", "it is not known where", []string{"main.handle;example.com/rpc.(*Server).call;example.com/rpc.(*Server).serve"}},
		{"a library", "package example.com/rpc makes the memory", []string{"example.com/rpc.Decode;main.handle;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := remedyOf(t, hotPathID, 48, "runtime.newobject", c.stacks...)
			if why, _ := f.Evidence["no_arena_because"].(string); !strings.HasPrefix(why, c.why) || strings.Contains(f.Remedy.Text+f.Remedy.Snippet, "arena") {
				t.Errorf("because %s: %s\n%s", why, f.Remedy.Text, f.Remedy.Snippet)
			}
		})
	}
}

// TestPutUnit wants no Put deferred where the memory is made: its function may return it.
func TestPutUnit(t *testing.T) {
	for _, f := range []Finding{
		remedyOf(t, "recycled-type", 1024, "runtime.newobject", "main.newState;main.main"),
		remedyOf(t, "large-buffers", 64<<10, "runtime.makeslice", "main.newBuffer;main.main"),
	} {
		if strings.Contains(f.Remedy.Snippet, "defer") || !strings.Contains(f.Remedy.Snippet, "after the last use") || !strings.Contains(f.Remedy.Text, "returns it") {
			t.Errorf("%s: %s\n%s", f.ID, f.Remedy.Text, f.Remedy.Snippet)
		}
	}
}

// TestCostHasFirstWrites wants the time of the first writes to new memory in what a finding costs,
// as it is in its gain.
func TestCostHasFirstWrites(t *testing.T) {
	f := newFake()
	f.Ran("runtime.mallocgc;runtime.newobject;main.build;main.serve;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 30)
	f.Ran("main.build;main.serve;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 20)
	f.Ran("main.work;main.main", 50)
	f.Made("main.build;main.serve;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 48, 1_000_000, 0)
	found := findingOf(Diagnose(t.Context(), with(f.evidence(), nil)), "short-lived-objects")
	if found == nil || math.Abs(found.CPUShare-0.5) > 1e-9 || found.Gain.Best() > found.CPUShare {
		t.Errorf("%+v, want a cost of 0.5 and a gain below it", found)
	}
}
