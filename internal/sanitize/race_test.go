// SPDX-License-Identifier: Apache-2.0

//go:build race && linux && (amd64 || arm64)

package sanitize_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

//go:noinline
func giveUp(p *node) { sanitize.RaceFree(unsafex.Addr(p), nodeSize) }

//go:noinline
func writeElsewhere(p *node) { p.b = 7 }

// together runs both without order between them.
func together(f, g func()) {
	var wg sync.WaitGroup
	for _, f := range []func(){f, g} {
		wg.Go(f)
	}
	wg.Wait()
}

var raceRows = []row{
	{name: "correct, freed when others are done", run: func() {
		p := new(node)
		var done atomic.Bool
		together(func() {
			writeElsewhere(p)
			done.Store(true)
		}, func() {
			for !done.Load() {
			}
			giveUp(p)
		})
	}},
	{name: "freed while another writes", run: func() {
		p := new(node)
		together(func() { writeElsewhere(p) }, func() { giveUp(p) })
	}, race: []string{"WARNING: DATA RACE", "sanitize_test.writeElsewhere", "sanitize_test.giveUp"}},
}

// guarded is data of the Go heap that the flag protects.
func guarded(flag *atomic.Uint32) {
	data := 0
	together(func() {
		data = 7
		flag.Store(1)
	}, func() {
		for flag.Load() == 0 {
			runtime.Gosched()
		}
		sink += uint64(data)
	})
}

var raceLibraryRows = []row{
	{name: "offheap: correct, an atomic flag in a block orders accesses to Go's memory", run: func() {
		flag := offheap.New[atomic.Uint32]()
		guarded(flag)
		offheap.Delete(flag)
	}},
	{name: "arena: correct, an atomic flag in an arena orders accesses to Go's memory", run: func() {
		for _, a := range []*arena.Arena{arena.NewArena(), arena.NewOffHeap(arena.Options{})} {
			guarded(arena.New[atomic.Uint32](a))
			a.Free()
		}
	}},
	{name: "offheap: correct, a block goes from hand to hand", run: func() {
		blocks := make(chan []byte)
		together(func() {
			for i := range 1000 {
				b := offheap.Alloc(64)
				b[0] = byte(i)
				blocks <- b
			}
			close(blocks)
		}, func() {
			for b := range blocks {
				b[1] = b[0]
				offheap.Free(b)
			}
		})
	}},
	{name: "offheap: two write without order", run: func() {
		p := offheap.New[node]()
		together(func() { writeElsewhere(p) }, func() { p.b = 8 })
	}, race: []string{"WARNING: DATA RACE", "sanitize_test.writeElsewhere"}},
	{name: "arena: two write without order", run: func() {
		p := arena.New[node](arena.NewArena())
		together(func() { writeElsewhere(p) }, func() { p.b = 8 })
	}, race: []string{"WARNING: DATA RACE", "sanitize_test.writeElsewhere"}},
	{name: "arena: off the heap, two write without order", run: func() {
		p := arena.New[node](arena.NewOffHeap(arena.Options{}))
		together(func() { writeElsewhere(p) }, func() { p.b = 8 })
	}, race: []string{"WARNING: DATA RACE", "sanitize_test.writeElsewhere"}},
	{name: "offheap: freed while another writes", run: func() {
		p := offheap.New[node]()
		together(func() { writeElsewhere(p) }, func() { deleteElsewhere(p) })
	}, race: []string{"WARNING: DATA RACE", "sanitize_test.writeElsewhere", "sanitize_test.deleteElsewhere"}},
	{name: "arena: freed while another writes", run: func() {
		a := arena.NewArena()
		p := arena.New[node](a)
		together(func() { writeElsewhere(p) }, func() { freeElsewhere(a) })
	}, race: []string{"WARNING: DATA RACE", "sanitize_test.writeElsewhere", "sanitize_test.freeElsewhere"}},
	{name: "arena: off the heap, freed while another writes", run: func() {
		a := arena.NewOffHeap(arena.Options{})
		p := arena.New[node](a)
		together(func() { writeElsewhere(p) }, func() { freeElsewhere(a) })
	}, race: []string{"WARNING: DATA RACE", "sanitize_test.writeElsewhere", "sanitize_test.freeElsewhere"}},
}

//go:noinline
func deleteElsewhere(p *node) { offheap.Delete(p) }

//go:noinline
func freeElsewhere(a *arena.Arena) { a.Free() }

func init() { all = append(append(all, raceRows...), raceLibraryRows...) }

// TestRaceOfLibrary: the race detector sees blocks and values, what atomics in them order, and
// frees.
func TestRaceOfLibrary(t *testing.T) { check(t, raceLibraryRows) }

// TestRaceFree holds RaceFree to its promise.
func TestRaceFree(t *testing.T) {
	if !sanitize.Race {
		t.Fatal("the race detector is on, and Race is false")
	}
	check(t, raceRows)
}
