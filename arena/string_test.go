// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestStrings: a printed Arena and a printed Map are one short line in every state, and not their fields.
func TestStrings(t *testing.T) {
	check := func(what string, v any, parts ...string) {
		t.Helper()
		for _, s := range []string{fmt.Sprint(v), fmt.Sprintf("%v", v), fmt.Sprintf("%s", v)} {
			for _, p := range parts {
				if !strings.Contains(s, p) || len(s) > 100 || strings.Contains(s, "PANIC") {
					t.Errorf("%s: %q, want %q", what, s, p)
				}
			}
		}
	}
	for _, k := range kinds {
		a := k.make()
		m := NewMap[int, int](a, 0)
		m.Set(1, 1)
		New[int](a)
		name := fmt.Sprintf("arena %d", a.ID())
		check(k.name, a, name+" (", a.rec.from.name, fmt.Sprintf("%d bytes held", a.Stats().Held))
		check("Map", m, "Map[int, int] of ", name+" with 1 entries")
		check("copy of a Map", copyOf(m), "a copy of a Map[int, int] of "+name)
		a.Reset(Keep)
		check("reset Map", m, "Map[int, int] of "+name+", which was reset")
		if k.name == "Pool" {
			var p Pool
			b := p.Get()
			New[int](b)
			id := b.ID()
			p.Put(b)
			p.Get() // It has the record of the first one.
			check("put", b, fmt.Sprintf("arena %d (freed)", id))
		}
		a.Free()
		check(k.name, a, name+" (freed)")
	}
	var none *Arena
	var noMap *Map[int, bool]
	check("nil", none, "the Go heap")
	check("zero", new(Arena), "no function of the package made")
	check("nil Map", noMap, "a nil Map[int, bool]")
	check("zero Map", new(Map[int, bool]), "no function of the package made")
}

// TestStringBeside: an Arena may be printed while another goroutine allocates from it and frees it.
func TestStringBeside(t *testing.T) {
	a := NewArena()
	end := make(chan bool)
	go func() {
		for range 100 {
			MakeSlice[int](a, 1000, 1000)
			New[node](a)
			a.Reset(Keep)
		}
		a.Free()
		close(end)
	}()
	for {
		if s := a.String(); !strings.HasPrefix(s, a.name()) {
			t.Fatal(s)
		}
		select {
		case <-end:
			return
		default:
			runtime.Gosched() // js has one thread and no preemption
		}
	}
}
