// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/checks/arenasuite"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/offheap"
)

// suites are what each kind of arena promises. The suite uses values that were given up, for which
// a sanitizer ends the program: then the test is skipped.
func suites(t testing.TB) map[string]arenasuite.Config {
	testenv.MisusesMemory(t)
	config := func(f func(t testing.TB) *arenasuite.Arena) arenasuite.Config {
		return arenasuite.Config{
			New: f, Misuse: true, ErrOutOfMemory: offheap.ErrOutOfMemory, ErrLimit: offheap.ErrLimit,
		}
	}
	onHeap := func(f func(t testing.TB) *arenasuite.Arena) arenasuite.Config {
		c := config(f)
		c.Drops, c.Forgets = true, true
		return c
	}
	pool := new(arena.Pool)
	list := map[string]arenasuite.Config{
		"NewArena":  onHeap(func(testing.TB) *arenasuite.Arena { return suiteArena(arena.NewArena(), true, true) }),
		"NewShared": onHeap(func(testing.TB) *arenasuite.Arena { return suiteArena(arena.NewShared(), true, true) }),
		"NoReuse": onHeap(func(testing.TB) *arenasuite.Arena {
			return suiteArena(arena.NewWith(arena.Options{NoReuse: true}), true, true)
		}),
		"NoReuse shared": onHeap(func(testing.TB) *arenasuite.Arena {
			return suiteArena(arena.NewWith(arena.Options{NoReuse: true, Shared: true}), true, true)
		}),
		"Pool": onHeap(func(testing.TB) *arenasuite.Arena {
			a := pool.Get()
			s := suiteArena(a, true, true)
			s.Free = func() { pool.Put(a) }
			return s
		}),
		"NewOffHeap": config(func(testing.TB) *arenasuite.Arena {
			return suiteArena(arena.NewOffHeap(arena.Options{}), false, true)
		}),
		"shared off-heap": config(func(testing.TB) *arenasuite.Arena {
			return suiteArena(arena.NewOffHeap(arena.Options{Shared: true}), false, true)
		}),
		"NewFixed": config(func(testing.TB) *arenasuite.Arena {
			return suiteArena(arena.NewFixed(2<<20), false, false)
		}),
		"nil": onHeap(func(testing.TB) *arenasuite.Arena { return suiteArena(nil, true, true) }),
	}
	set := func(name string, change func(c *arenasuite.Config)) {
		c := list[name]
		change(&c)
		list[name] = c
	}
	set("NewShared", func(c *arenasuite.Config) { c.Concurrent = true })
	set("NoReuse shared", func(c *arenasuite.Config) { c.Concurrent = true })
	set("shared off-heap", func(c *arenasuite.Config) { c.Concurrent = true })
	set("NewFixed", func(c *arenasuite.Config) { c.Full = true })
	set("nil", func(c *arenasuite.Config) {
		c.Misuse, c.Concurrent = false, true
		make := c.New
		c.New = func(t testing.TB) *arenasuite.Arena {
			s := make(t)
			s.Held, s.SetLimit = nil, nil // There is nothing that could be limited.
			return s
		}
	})
	return list
}

func TestArenas(t *testing.T) {
	testenv.LowerGCPercent(t, 50)
	for name, c := range suites(t) {
		t.Run(name, func(t *testing.T) { arenasuite.Test(t, c) })
	}
}

// TestArenaRefused refuses the memory for each growth of an arena in turn.
func TestArenasRefused(t *testing.T) {
	for _, name := range []string{"NewArena", "NewShared", "NewOffHeap", "NoReuse", "shared off-heap"} {
		t.Run(name, func(t *testing.T) { arenasuite.FailEach(t, suites(t)[name]) })
	}
	t.Run("purpose", func(t *testing.T) {
		if freehold.HeapMode() {
			t.Skip("there is no purpose whose limit an arena could reach")
		}
		// What refuses is offheap, not the arena.
		c := suites(t)["NewOffHeap"]
		c.LooseLimits = true
		c.New = func(testing.TB) *arenasuite.Arena {
			p := offheap.NewPurpose("arena suite")
			s := suiteArena(arena.NewOffHeap(arena.Options{Purpose: p}), false, true)
			s.SetLimit = p.SetLimit
			return s
		}
		arenasuite.FailEach(t, c)
	})
}

func FuzzArena(f *testing.F) {
	all := suites(f)
	names := []string{"NewArena", "NewShared", "Pool", "NewOffHeap", "NewFixed", "nil", "NoReuse", "NoReuse shared", "shared off-heap"}
	seeds := arenasuite.Seeds()[:6]
	if testing.Short() { // TestArenas runs them all.
		seeds = seeds[:2]
	}
	for i := range names {
		for _, s := range seeds {
			f.Add(byte(i), s)
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, ops []byte) {
		arenasuite.Ops(t, ops, all[names[int(kind)%len(names)]])
	})
}
