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
		f.Made(s, size, 10_000, 0)
		if len(stacks) > 1 {
			f.Made(s, size*2, 5_000, 0)
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

// TestArenaUnit wants an arena for the function or the round that ends the use of the values, and
// none where something holds them longer, where they are few, or where that is not known.
func TestArenaUnit(t *testing.T) {
	const served = ";net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve"
	for _, c := range []struct {
		name, stack string
		unit        string // what the arena is made or reset for, "" for no arena
		code        string // part of the snippet, or why there is no arena
	}{
		{"a builder called by main", "main.tree#node;main.tree#left;main.main#round", "each iteration of the loop in main.main that calls main.tree.", "… main.tree(a, …)\n"},
		{"its helper", "main.newNode#new;main.tree#left;main.tree#left;main.main#round", "", "it is not known where"}, // no call of it is on the line
		{"kept for the round", "main.tree#node;main.tree#left;main.main#kept for the round", "each iteration of the loop in main.main that calls main.tree.", "a.Reset(arena.Keep)"},
		{"kept for longer", "main.tree#node;main.tree#left;main.main#kept for longer", "", "the values stay in what outlives main.main"},
		{"a handler", "main.list#item;main.handle#list" + served, "each call of main.handle.", "// in main.handle:\n"},
		{"a handler's tree", "main.tree#node;main.tree#left;main.handle#tree" + served, "each call of main.handle.", "// in main.handle:\n"},
		{"in a variable around a literal", "main.newItem#new item;main.each.func1#field;example.com/doc.Fields;main.each#each" + served, "each call of main.each.", "// in main.each:\n"},
		{"in a variable around a literal that is called later", "main.newItem#new item;main.each.func1#field;example.com/doc.Fields;example.com/doc.Serve", "", "it is not known where"},
		{"in a parameter", "main.tree#node;main.tree#left;main.handle#in the writer" + served, "", "it is not known where"},
		{"in a global", "main.tree#node;main.tree#left;main.handle#global" + served, "", "the values stay in what outlives main.handle"},
		{"one object in each round", "main.main#one", "", "there are few of them for each iteration of the loop in main.main"},
		{"a benchmark of one object", "main.newNode#new;main.BenchmarkTree#benchmark;testing.(*B).runN", "", "there are few of them"},
		{"no source", "main.build;main.build;main.serve;main.main", "", "it is not known where"},
		{"a library", "example.com/rpc.Decode;main.handle#list" + served, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			f.Ran("runtime.mallocgc;runtime.newobject;"+c.stack, 50)
			f.Made(c.stack, 48, 1_000_000, 0)
			f.Ran("main.work;main.main", 50)
			f.locate(t, treesText)
			e := f.evidence()
			e.Main = "example.com/shop"
			report := Diagnose(t.Context(), with(e, nil))
			found := findingOf(report, "short-lived-objects")
			switch {
			case c.unit == "" && found != nil:
				t.Errorf("%+v", found.Remedy)
			case c.unit == "":
				hot := findingOf(report, hotPathID)
				if why, _ := hot.Evidence["no_arena_because"].(string); !strings.HasPrefix(why, c.code) || strings.Contains(hot.Remedy.Text+hot.Remedy.Snippet, "arena") {
					t.Errorf("because %s: %s", why, hot.Remedy.Text)
				}
			case found == nil:
				t.Errorf("not found: %s", list(report))
			case !strings.Contains(found.Remedy.Text, " for "+c.unit) || !strings.Contains(found.Remedy.Snippet, c.code):
				t.Errorf("%s\n%s\nwant %q and %q", found.Remedy.Text, found.Remedy.Snippet, c.unit, c.code)
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
	f.Ran("runtime.mallocgc;runtime.newobject;main.list#item;main.handle#list;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 30)
	f.Ran("main.list#item;main.handle#list;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 20)
	f.Ran("main.work;main.main", 50)
	f.Made("main.list#item;main.handle#list;net/http.HandlerFunc.ServeHTTP;net/http.(*conn).serve", 48, 1_000_000, 0)
	f.locate(t, treesText)
	found := findingOf(Diagnose(t.Context(), with(f.evidence(), nil)), "short-lived-objects")
	if found == nil || math.Abs(found.CPUShare-0.5) > 1e-9 || found.Gain.Best() > found.CPUShare {
		t.Errorf("%+v, want a cost of 0.5 and a gain below it", found)
	}
}
