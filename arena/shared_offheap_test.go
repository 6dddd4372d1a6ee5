// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

func sharedOffHeap() *Arena { return NewOffHeap(Options{Shared: true}) }

// TestSharedOffHeapParallel: many goroutines make values of all flows outside the Go heap, and each
// finds its own again.
func TestSharedOffHeapParallel(t *testing.T) {
	p := offheap.NewPurpose("shared arena")
	a := NewOffHeap(Options{Shared: true, Purpose: p})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			flags := Of[flag](a)
			var list []*point
			var bools []*flag
			var texts []string
			var grown []int32
			m := NewMap[int64, int64](a, 0)
			for i := range 1000 {
				list = append(list, NewFrom(a, point{int64(worker), int64(i)}))
				f := flags.New()
				f.ok = i%2 == 0
				bools = append(bools, f)
				texts = append(texts, String(a, fmt.Sprintf("%d of %d", i, worker)))
				grown = Append(a, grown, int32(i))
				m.Update(int64(i%10), func(n int64, _ bool) int64 { return n + 1 })
				if i%200 == 0 {
					a.Stats()
					List()
				}
			}
			for i := range 1000 {
				if *list[i] != (point{int64(worker), int64(i)}) || bools[i].ok != (i%2 == 0) || texts[i] != fmt.Sprintf("%d of %d", i, worker) || grown[i] != int32(i) {
					t.Errorf("worker %d: value %d is another's", worker, i)
					return
				}
			}
			for k, n := range m.All() {
				if n != 100 {
					t.Errorf("worker %d: %d is %d", worker, k, n)
				}
			}
		})
	}
	wg.Wait()
	s := a.Stats()
	if s.InUse < 8*1000*(16+1+4) || s.Held < s.InUse || s.Retained != s.Held-s.InUse {
		t.Errorf("%+v", s)
	}
	if !freehold.HeapMode() {
		for _, i := range List() {
			if i.ID == a.ID() && i.Kind != "off-heap" {
				t.Errorf("the kind is %q", i.Kind)
			}
		}
		before := ReadTotals()
		if before.OffHeap < s.Held {
			t.Errorf("%d bytes off the heap, %d of them in this arena", before.OffHeap, s.Held)
		}
	}
	a.Reset(Keep)
	a.Reset(GiveBack)
	if s = a.Stats(); s.Held != 0 {
		t.Errorf("after Reset: %+v", s)
	}
	a.Free()
}

// TestSharedOffHeapFree: after Free, the goroutines that still allocate panic, and no other does. Of
// several Frees one succeeds.
func TestSharedOffHeapFree(t *testing.T) {
	for range 10 {
		a := sharedOffHeap()
		freeBeside(t, a, func() {
			New[point](a)
			MakeSlice[int](a, 2, 2)
			New[flag](a)
			NewFrom(a, point{1, 2}) // It writes before another goroutine can free the value.
		})
	}
}

// TestSharedOffHeapResets: Reset, Checkpoint and Rewind come between the values that other goroutines
// make, and the bytes that are counted are those that the parts have.
func TestSharedOffHeapResets(t *testing.T) {
	a := sharedOffHeap()
	defer a.Free()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				NewFrom(a, point{1, 2})
				SliceFrom(a, []int32{1, 2, 3})
				String(a, "5")
				MakeSlice[flag](a, 3, 3)
				runtime.Gosched()
			}
		})
	}
	for i := range 100 {
		c := a.Checkpoint()
		a.Stats()
		switch i % 4 {
		case 0:
			a.Reset(Keep)
		case 1:
			a.Reset(KeepUpTo(4 << 10))
		default:
			a.Rewind(c)
		}
		runtime.Gosched()
	}
	stop.Store(true)
	wg.Wait()
	if a.Reset(GiveBack); a.Stats() != (Stats{Types: a.Stats().Types}) {
		t.Errorf("after Reset: %+v", a.Stats())
	}
}

// TestSharedOffHeapLimits: all parts share the arena's limit and the Purpose's; spare chunks of other
// parts go before a value is refused.
func TestSharedOffHeapLimits(t *testing.T) {
	owning(t)
	p := offheap.NewPurpose("limited")
	a := NewOffHeap(Options{Shared: true, Purpose: p, Limit: 1 << 20})
	defer a.Free()
	for round := range 3 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					if _, err := TryMakeSlice[int64](a, 100, 100); err != nil {
						if !errors.Is(err, offheap.ErrLimit) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		wg.Wait()
		if held := a.Stats().Held; held > 1<<20 || held < 1<<18 {
			t.Errorf("round %d: %d bytes held, with a limit of 1 MiB", round, held)
		}
		a.Reset(Keep)
		if s, err := TryMakeSlice[byte](a, 900<<10, 900<<10); err != nil || len(s) == 0 {
			t.Errorf("round %d: most of the limit at once, beside spare chunks: %v", round, err)
		}
		a.Reset(Keep)
	}
	a.SetLimit(0)
	a.Reset(GiveBack)
	p.SetLimit(256 << 10)
	if _, err := TryMakeSlice[byte](a, 1<<20, 1<<20); !errors.Is(err, offheap.ErrLimit) {
		t.Errorf("beyond the Purpose's limit: %v", err)
	}
	if _, err := TryNew[point](a); err != nil {
		t.Error(err)
	}
}

// TestSharedOffHeapRefuses: what an off-heap arena refuses, a shared one refuses, too, and at once.
func TestSharedOffHeapRefuses(t *testing.T) {
	if freehold.HeapMode() {
		t.Skip("the Go heap takes every type")
	}
	a := sharedOffHeap()
	defer a.Free()
	for name, f := range map[string]func(){
		"Of":        func() { Of[*int](a) },
		"NewFrom":   func() { NewFrom(a, "text") },
		"SliceFrom": func() { SliceFrom(a, []string{}) },
		"Collect":   func() { Collect(a, func(yield func(any) bool) { yield(1) }) },
		"NewMap":    func() { NewMap[string, int](a, 0) },
	} {
		wantPanic(t, name, f, "arena: "+name+" of ", "in an off-heap arena")
	}
	wantPanic(t, "Reset", func() { a.Reset(NoReuse) }, "arena: Reset with NoReuse")
	wantPanic(t, "NewOffHeap", func() { NewOffHeap(Options{Shared: true, NoReuse: true}) }, "arena: NewOffHeap with NoReuse")
	pool := new(Pool)
	b := sharedOffHeap()
	pool.Put(b)
	wantPanic(t, "New", func() { New[int](b) }, "was freed")
}

// TestSharedOffHeapLeaks: in the mode leaks the arena is one leak, of the size that it holds after
// many goroutines have used it at once.
func TestSharedOffHeapLeaks(t *testing.T) {
	if !inModes(t, "leaks") {
		return
	}
	test := &leakTest{}
	CheckLeaks(test)
	a := sharedOffHeap()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				New[[100]int64](a)
			}
		})
	}
	wg.Wait()
	list := offheapLeaks()
	if len(list) != 1 || list[0].Arena != a.ID() || int64(list[0].Size) != a.Stats().Held || !strings.Contains(list[0].Alloc.String(), "arena.sharedOffHeap") {
		t.Errorf("%+v, the arena holds %d", list, a.Stats().Held)
	}
	if s := test.end(); !strings.Contains(s, "(off-heap)") || !strings.Contains(s, "shared_offheap_test.go") {
		t.Errorf("%q", s)
	}
	if a.Free(); len(offheapLeaks()) != 0 {
		t.Errorf("after Free: %+v", offheapLeaks())
	}
}

// TestSharedOffHeapModes: under the debug modes each value is a block, the counts stay right, and a
// write beside a value is found when the arena is freed.
func TestSharedOffHeapModes(t *testing.T) {
	for _, words := range []string{"guard,guardmaps=1", "guard,leaks,pointers"} {
		t.Run(words, func(t *testing.T) {
			if !inModes(t, words) {
				return
			}
			a := sharedOffHeap()
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for i := range 100 {
						New[point](a).x = 5
						SliceFrom(a, make([]byte, i))
						New[flag](a).ok = true
					}
				})
			}
			wg.Wait()
			if s := a.Stats(); s.InUse != s.Held || s.InUse < 4*100*17 {
				t.Errorf("%+v", s)
			}
			if err := a.Check(); err != nil {
				t.Error(err)
			}
			a.Reset(Keep)
			if s := a.Stats(); s.Held != 0 {
				t.Errorf("after Reset: %+v", s)
			}
			a.Free()
		})
	}
}
