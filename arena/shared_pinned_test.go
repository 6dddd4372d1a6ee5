// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/typeinfo"
)

// TestSharedPinnedExcludes: a pinned goroutine does nothing in a part that another goroutine uses, and
// Reset, Rewind, Free and each function that looks at the arena wait for a pinned goroutine. Otherwise
// that goroutine would write its value to memory that has another owner by then.
func TestSharedPinnedExcludes(t *testing.T) {
	chunked(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for name, use := range map[string]func(a *Arena, c Checkpoint){
		"Reset":      func(a *Arena, _ Checkpoint) { a.Reset(Keep) },
		"Rewind":     func(a *Arena, c Checkpoint) { a.Rewind(c) },
		"Free":       func(a *Arena, _ Checkpoint) { a.Free() },
		"Stats":      func(a *Arena, _ Checkpoint) { a.Stats() },
		"Checkpoint": func(a *Arena, _ Checkpoint) { a.Checkpoint() },
		"Check":      func(a *Arena, _ Checkpoint) { _ = a.Check() },
		"Owns":       func(a *Arena, _ Checkpoint) { a.Owns(new(int)) },
		"DeepClone":  func(a *Arena, _ Checkpoint) { must(second(DeepClone(a, &node{}))) },
	} {
		a := NewShared()
		c := a.Checkpoint()
		for _, p := range a.parts {
			New[point](&p.Arena)
			New[odd](&p.Arena)
		}
		for _, p := range a.parts {
			if !p.take() {
				t.Fatal("a part is in use")
			}
		}
		if newFromPinned(a, point{1, 2}) != nil || a.textPinned([]byte("text")) != nil || a.cutPinned(typeinfo.Key[point](), 16) != nil ||
			a.cutOddPinned(typeinfo.Key[odd](), 3, 1) != nil || a.parts[0].tryLock() {
			t.Error("a value is made in a part that is in use")
		}
		var done atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			use(a, c)
			done.Store(true)
		})
		for range 200 {
			runtime.Gosched()
		}
		if done.Load() {
			t.Errorf("%s does not wait for a pinned goroutine", name)
		}
		for _, p := range a.parts {
			p.busy.Store(0)
		}
		wg.Wait()
		if name != "Free" {
			a.Free()
		}
	}
}

// TestSharedPinnedApart: no two values overlap, however goroutines move between Ps, and whatever looks
// at the arena meanwhile. The number of Ps changes while they run.
func TestSharedPinnedApart(t *testing.T) {
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
			runtime.GOMAXPROCS(1 + i/10%2*3) // Beyond the number of parts, and back.
		}
		runtime.Gosched()
	}
	wg.Wait()
}

// TestSharedPinnedFreed: after Free each way of making a value panics, also those that find the memory
// without a lock, and so does a copy of the arena before.
func TestSharedPinnedFreed(t *testing.T) {
	for name, f := range map[string]func(a *Arena){
		"New":       func(a *Arena) { New[point](a) },
		"New, odd":  func(a *Arena) { New[odd](a) },
		"Typed.New": func(a *Arena) { Typed[point]{b: &bump{chunk: &noChunk, cursor: &noCursor, a: a}}.New() },
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
		b := sealedCopy(a)
		wantPanic(t, name, func() { f(b) }, "copy of arena")
		a.Free()
		wantPanic(t, name, func() { f(a) }, "was freed")
	}
}

// sealedCopy is a copy of an Arena, which go vet would not let the test make.
func sealedCopy(a *Arena) *Arena {
	b := new(Arena)
	b.rec, b.kind, b.seal, b.parts, b.recent = a.rec, a.kind, a.seal, a.parts, a.recent
	return b
}

// TestSharedPinnedAllocatesNothing: small values cost no memory of the Go heap once the arena has
// chunks, so that nothing is left of the way over the lock.
func TestSharedPinnedAllocatesNothing(t *testing.T) {
	chunked(t)
	if raceEnabled || !percpu.Linkname || debugging() {
		t.Skip("IDs come from a list or a sync.Pool, or some values lie elsewhere")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a := NewShared()
	defer a.Free()
	slow := 0
	for _, p := range a.parts {
		MakeSlice[byte](&p.Arena, 1, 1)
	}
	for range 3000 {
		before := a.parts[0].words.chunk
		at := a.parts[0].words.used
		New[point](a)
		if a.parts[0].words.chunk == before && a.parts[0].words.used != at+16 {
			slow++
		}
	}
	if slow > 0 {
		t.Errorf("%d of 3000 values lie elsewhere than at the position of the P's part", slow)
	}
	if n := testing.AllocsPerRun(100, func() { NewFrom(a, point{1, 2}); New[odd](a); String(a, "text") }); n >= 1 {
		t.Errorf("three small values take %v allocations on the Go heap", n)
	}
}
