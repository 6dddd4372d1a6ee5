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
		if n := len(p.open("").states); n != want && !freehold.HeapMode() {
			t.Errorf("%d states, want %d", n, want)
		}
		for _, k := range p.open("").states {
			if k.held > p.Bytes {
				t.Errorf("a state of %d bytes", k.held)
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
// values.
func TestSharedStatsAddUp(t *testing.T) {
	a := NewShared()
	defer a.Free()
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
		New[node](a)
		New[node](a)
		if s := a.Stats(); s.Types != 1 || s.Chunks != 1 {
			t.Errorf("%s: two values: %+v", k.name, s)
		}
		if a.Reset(GiveBack); a.Stats() != (Stats{}) {
			t.Errorf("%s: after Reset: %+v", k.name, a.Stats())
		}
		a.Free()
	}
}

// TestSharedApart: no two values overlap, whatever looks at the arena meanwhile. The number of Ps changes while they run.
func TestSharedApart(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	a := NewShared()
	defer a.Free()
	const workers, n = 6, 600
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			var points []*point
			var nodes *node
			var odds []*odd
			var texts []string
			var flags []*flag
			var lists [][]*point
			for i := range n {
				points = append(points, NewFrom(a, point{int64(worker), int64(i)}))
				nodes = NewFrom(a, node{name: strings.Repeat("n", i%9), next: nodes}) // Pointers, while the collector runs.
				o := New[odd](a)
				*o = odd{byte(worker), byte(i), byte(i >> 8)}
				odds = append(odds, o)
				texts = append(texts, String(a, string(rune('a'+worker))+strings.Repeat("t", i%70)))
				flags = append(flags, New[flag](a))
				flags[i].ok = worker%2 == 0
				lists = append(lists, MakeSlice[*point](a, 3, 3))
				lists[i][2] = points[i]
				if i%50 == 0 {
					runtime.Gosched()
				}
			}
			for i := n - 1; i >= 0; i, nodes = i-1, nodes.next {
				if len(nodes.name) != i%9 {
					t.Errorf("worker %d: node %d is another's", worker, i)
					return
				}
			}
			for i := range n {
				if *points[i] != (point{int64(worker), int64(i)}) || *odds[i] != (odd{byte(worker), byte(i), byte(i >> 8)}) ||
					texts[i] != string(rune('a'+worker))+strings.Repeat("t", i%70) || flags[i].ok != (worker%2 == 0) ||
					lists[i][0] != nil || lists[i][2] != points[i] {
					t.Errorf("worker %d: value %d is another's", worker, i)
					return
				}
			}
		})
	}
	for i := range 40 {
		a.Stats()
		a.Checkpoint()
		if err := a.Check(); err != nil {
			t.Error(err)
		}
		if i%10 == 9 {
			runtime.GC()
			runtime.GOMAXPROCS(1 + i/10%2*3)
		}
		runtime.Gosched()
	}
	wg.Wait()
}

// TestSharedFreed: after Free each way of making a value panics, and so does a copy of the arena before.
func TestSharedFreed(t *testing.T) {
	for name, f := range map[string]func(a *Arena){
		"New":       func(a *Arena) { New[point](a) },
		"New, odd":  func(a *Arena) { New[odd](a) },
		"Typed.New": func(a *Arena) { Typed[point]{b: &bump{chunk: &noChunk, a: a}}.New() },
		"NewFrom":   func(a *Arena) { NewFrom(a, point{}) },
		"MakeSlice": func(a *Arena) { MakeSlice[int](a, 1, 1) },
		"String":    func(a *Arena) { String(a, "text") },
		"Bytes":     func(a *Arena) { Bytes(a, "text") },
		"Append":    func(a *Arena) { Append(a, nil, 1) },
		"Grow":      func(a *Arena) { Grow(a, []int(nil), 1) },
		"Of":        func(a *Arena) { Of[int](a) },
		"Stats":     func(a *Arena) { a.Stats() },
		"Free":      func(a *Arena) { a.Free() },
	} {
		a := NewShared()
		for range 3 {
			New[point](a)
			New[odd](a)
			NewFrom(a, point{})
			String(a, "text")
			MakeSlice[int](a, 1, 1)
		}
		b := copyOf(a)
		wantPanic(t, name, func() { f(b) }, "copy of arena")
		a.Free()
		wantPanic(t, name, func() { f(a) }, "was freed")
	}
}
