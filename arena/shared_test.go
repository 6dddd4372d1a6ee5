// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

func TestSharedParallel(t *testing.T) {
	a := NewShared()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			var list *node
			nodes := Of[node](a)
			for i := range 3000 {
				n := nodes.New()
				n.name, n.next = String(a, strings.Repeat("x", worker)), list
				n.kids = Append(a, MakeSlice[*node](a, 0, 1), n, list)
				list = n
				p := New[point](a)
				p.x = int64(i)
				if i%500 == 0 {
					a.Stats()
					List()
				}
			}
			count := 0
			for n := list; n != nil; n = n.next {
				if count++; len(n.name) != worker || n.kids[0] != n {
					t.Errorf("worker %d: value %d is another's", worker, count)
					return
				}
			}
			if count != 3000 {
				t.Errorf("worker %d: %d values", worker, count)
			}
		})
	}
	wg.Wait()
	a.Free()
}

// freeBeside lets goroutines make values in a shared arena while two of them free it: of the two
// Frees one succeeds, and all that still make values panic.
func freeBeside(t *testing.T, a *Arena, makeValues func()) {
	t.Helper()
	var late, freed atomic.Int32
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			err, _ := caught(func() {
				for i := 0; ; i++ {
					makeValues()
					if worker < 2 && i == 300 {
						a.Free()
						freed.Add(1)
						return
					}
				}
			}).(error)
			if err != nil {
				late.Add(1)
				if !strings.Contains(err.Error(), "freed") {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if freed.Load() != 1 || late.Load() != 5 {
		t.Errorf("%d Frees succeeded, %d goroutines were late", freed.Load(), late.Load())
	}
}

// TestSharedFree: after Free, the goroutines that still make values panic.
func TestSharedFree(t *testing.T) {
	for range 20 {
		a := NewShared()
		freeBeside(t, a, func() {
			p := New[*int](a)
			MakeSlice[int](a, 2, 2)
			if !sanitize.Race { // The race detector would report, rightly, that this memory may be freed by now.
				*p = new(int)
				String(a, "text")
			}
		})
	}
}

func TestPool(t *testing.T) {
	p := &Pool{Arenas: 2, Bytes: 1 << 20}
	var ids []uint64
	for range 5 {
		a, b, c := p.Get(), p.Get(), p.Get()
		for i, a := range []*Arena{a, b, c} {
			ids = append(ids, a.ID())
			for range 1000 {
				if n := New[node](a); n.next != nil || n.name != "" {
					t.Fatal("a value from a Pool's arena is not zero")
				} else {
					n.next, n.name = n, String(a, "x")
				}
			}
			MakeSlice[int](a, 1<<i*100_000, 1<<i*100_000)
		}
		for _, a := range []*Arena{a, b, c} {
			p.Put(a)
			if caught(func() { p.Put(a) }) == nil {
				t.Error("an arena is put back twice")
			}
		}
		want := p.Arenas
		if freehold.NoReuseMode() || keptApart() {
			want = 0
		}
		if n := len(p.open("").kits); n != want && !freehold.HeapMode() {
			t.Errorf("%d kits, want %d", n, want)
		}
		for _, k := range p.open("").kits {
			if k.held > p.Bytes {
				t.Errorf("a kit of %d bytes", k.held)
			}
		}
		p.Put(nil)
	}
	for i, id := range ids {
		if i > 0 && id <= ids[i-1] {
			t.Error("an ID is used again")
		}
	}
}

// TestPoolForgotten: when a Pool is unreachable, the memory that it kept is no longer counted.
func TestPoolForgotten(t *testing.T) {
	chunked(t)
	const n, size = 20, 1 << 20
	before := pooled.Load()
	for range n {
		p := new(Pool)
		a := p.Get()
		MakeSlice[byte](a, size, size)
		p.Put(a)
	}
	// The last one may still be in a register, and other tests' Pools may die now.
	for deadline := time.Now().Add(time.Minute); pooled.Load() > before+2*size && time.Now().Before(deadline); {
		runtime.GC()
		time.Sleep(time.Millisecond) // The cleanups run some time after the collection.
	}
	if left := pooled.Load() - before; left > 2*size {
		t.Errorf("%d bytes are counted for Pools that are gone", left)
	}
}

func TestPoolParallel(t *testing.T) {
	p := new(Pool)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 300 {
				a := p.Get()
				nodes := make([]*node, i%50)
				for j := range nodes {
					nodes[j] = New[node](a)
					nodes[j].name = String(a, strings.Repeat("w", worker))
				}
				for _, n := range nodes {
					if len(n.name) != worker {
						t.Error("a value is another request's")
					}
				}
				p.Put(a)
			}
		})
	}
	wg.Wait()
}

// TestSharedFreeWaits: Reset of a shared arena frees no value that a goroutine still makes.
// Otherwise that goroutine would write to memory that is another's by then, although the program
// has no data race. Stats, which the test waits for, orders the goroutines up to the allocation and
// no further, so that the race detector sees each later write.
func TestSharedFreeWaits(t *testing.T) {
	owning(t)
	list := &node{name: strings.Repeat("n", 100), kids: make([]*node, 20)}
	for name, makeValue := range map[string]func(a *Arena){
		"Append":       func(a *Arena) { Append(a, nil, "one", "two", "three") },
		"String":       func(a *Arena) { String(a, "text") },
		"Bytes":        func(a *Arena) { Bytes(a, "text") },
		"Concat":       func(a *Arena) { Concat(a, "te", "xt") },
		"NewFrom":      func(a *Arena) { NewFrom(a, "text") },
		"SliceFrom":    func(a *Arena) { SliceFrom(a, []string{"one", "two"}) },
		"Grow":         func(a *Arena) { Grow(a, []string{"one"}, 5) },
		"Collect":      func(a *Arena) { Collect(a, slices.Values([]string{"one", "two"})) },
		"DeepClone":    func(a *Arena) { must(second(DeepClone(a, list))) },
		"slice":        func(a *Arena) { must(second(DeepClone(a, []any{1, "2", list, list.kids[3:7], list.kids}))) },
		"Builder":      func(a *Arena) { defer resetMeanwhile(); _, _ = NewBuilder(a).WriteString("text") },
		"Builder, nil": func(a *Arena) { defer resetMeanwhile(); NewBuilder(a).Grow(10) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				a := NewShared()
				var wg sync.WaitGroup
				wg.Go(func() { makeValue(a) })
				for a.Stats().InUse == 0 {
					runtime.Gosched()
				}
				a.Reset(Keep)
				*New[string](a) = "mine"
				New[node](a).name = "mine"
				clear(MakeSlice[byte](a, 100, 100))
				wg.Wait()
				a.Free()
			}
		})
	}
}

// resetMeanwhile recovers from the panic of a Builder that finds its arena reset when it has got memory.
func resetMeanwhile() {
	if r := recover(); r != nil && !strings.Contains(fmt.Sprint(r), "was reset") {
		panic(r)
	}
}

// TestSharedCounts: the parts of a shared arena count together, and Rewind and Reset take back what
// they free.
func TestSharedCounts(t *testing.T) {
	for _, heap := range []bool{false, true} { // As with the kill switch.
		a := NewShared()
		a.addPart()
		if heap {
			a.rec.kind = kindHeap
			for _, p := range a.parts {
				p.kind = kindHeap
				p.closeSlots()
			}
		}
		one, others := &a.parts[0].Arena, &a.parts[1].Arena
		MakeSlice[*int](one, 30, 30)
		MakeSlice[*int](others, 5000, 5000)
		if held, want := a.rec.held.Load(), int64(5030*unsafex.Size[*int]()); held < want || heap && held != want {
			t.Errorf("kill switch %v: the arena counts %d bytes, want %d", heap, held, want)
		}
		c := a.Checkpoint()
		MakeSlice[*int](others, 50, 50)
		before := a.rec.held.Load()
		a.Rewind(c)
		if held := a.rec.held.Load(); heap && held != before-int64(50*unsafex.Size[*int]()) {
			t.Errorf("kill switch: the arena counts %d bytes after Rewind, %d before", held, before)
		}
		a.Reset(GiveBack)
		if held := a.rec.held.Load(); held != 0 {
			t.Errorf("kill switch %v: the arena counts %d bytes after Reset", heap, held)
		}
		a.Free()
	}
}

// TestSharedMapResetMeanwhile: if Reset comes while another goroutine makes a Map, the Map has lost
// its table and says so, or its table is one of its own.
func TestSharedMapResetMeanwhile(t *testing.T) {
	owning(t)
	if debugging() {
		t.Skip("the debug modes keep the memory")
	}
	const entries = 64
	for range 5000 {
		a := NewShared()
		var m *Map[string, *int]
		var wg sync.WaitGroup
		wg.Go(func() { m = NewMap[string, *int](a, entries) })
		for a.Stats().InUse == 0 {
			runtime.Gosched()
		}
		a.Reset(Keep)
		wg.Wait()
		if caught(func() { m.Len() }) != nil {
			a.Free()
			continue
		}
		const mine = "mine"
		m.Set(mine, new(int))
		for range 8 { // One of them gets the table's memory, and clears it, if Reset freed it.
			NewMap[string, *int](a, entries)
		}
		if v, ok := m.Get(mine); !ok || v == nil || m.Len() != 1 {
			t.Fatal("a Map that was made beside a Reset shares its memory with others")
		}
		a.Free()
	}
}

// TestSharedMapGrowsMeanwhile: if Reset comes while a Map grows, the Map does not take the new table.
func TestSharedMapGrowsMeanwhile(t *testing.T) {
	a := NewShared()
	defer a.Free()
	m := NewMap[string, *int](a, 1)
	if _, err := m.newTable("Map.Set", 1, 8); err != nil {
		t.Fatal(err)
	}
	a.Checkpoint() // This frees nothing.
	m.tookMemory("Map.Set")
	a.Reset(Keep)
	wantPanic(t, "Map.Set", func() { m.tookMemory("Map.Set") }, "reset since the Map was made")
}

// TestSharedRewindMeanwhile: if another goroutine notes a checkpoint and rewinds to it, or resets the
// arena, while a Map or a Builder takes memory, this memory may be freed. The Map and the Builder do
// not take it for theirs.
func TestSharedRewindMeanwhile(t *testing.T) {
	for _, how := range []string{"rewound", "reset"} {
		a := NewShared()
		free := func(c Checkpoint) {
			if how == "reset" {
				a.Reset(Keep)
			} else {
				a.Rewind(c)
			}
		}
		m := NewMap[string, *int](a, 1)
		c := a.Checkpoint()
		if _, err := m.newTable("Map.Set", 1, 8); err != nil {
			t.Fatal(err)
		}
		free(c)
		wantPanic(t, how, func() { m.tookMemory("Map.Set") }, "Map.Set on a Map of arena "+fmt.Sprint(a.ID())+", which was "+how)

		b := NewBuilder(a)
		if err := b.WriteByte('a'); err != nil {
			t.Fatal(err)
		}
		c = a.Checkpoint()
		buf, err := appendTo("Builder.Write", a, b.buf, make([]byte, 100))
		if err != nil {
			t.Fatal(err)
		}
		free(c)
		wantPanic(t, how, func() { b.use("Builder.Write", buf) }, "Builder.Write on a Builder that was written to before arena "+fmt.Sprint(a.ID())+" was "+how)
		a.Free()
	}
}

// TestSharedStatsAddUp: the figures are those of one moment, also while other goroutines make and free
// values. A type counts once, whatever parts of the arena have values of it.
func TestSharedStatsAddUp(t *testing.T) {
	a := NewShared()
	defer a.Free()
	a.addPart()
	var wg sync.WaitGroup
	defer wg.Wait()
	var over atomic.Bool
	wg.Go(func() {
		defer over.Store(true)
		for range 5000 {
			New[node](a)
			MakeSlice[int64](a, 1000, 1000)
			a.Reset(GiveBack)
			runtime.Gosched() // Go for js never preempts a goroutine.
		}
	})
	for !over.Load() {
		if s := a.Stats(); s.Retained < 0 || s.InUse < 0 || s.Types > 1 {
			t.Fatalf("%+v", s)
		}
		runtime.Gosched()
	}
}

// TestStatsTypes: Stats counts the types that have chunks, and each of them once.
func TestStatsTypes(t *testing.T) {
	chunked(t)
	for _, k := range kinds {
		if !k.pointers {
			continue
		}
		a := k.make()
		parts := []*Arena{a}
		if a.kind == kindShared {
			a.addPart()
			parts = nil
			for _, p := range a.parts {
				parts = append(parts, &p.Arena)
			}
		}
		for _, p := range parts {
			New[node](p)
		}
		if s := a.Stats(); s.Types != 1 || s.Chunks != len(parts) {
			t.Errorf("%s: a value in each of %d parts: %+v", k.name, len(parts), s)
		}
		if a.Reset(GiveBack); a.Stats() != (Stats{}) {
			t.Errorf("%s: after Reset: %+v", k.name, a.Stats())
		}
		a.Free()
	}
}
