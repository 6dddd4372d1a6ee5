// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
)

// localCalls are all calls of a Local, by what they are called in a panic.
func localCalls(l *Local, b []byte, p *point) map[string]func() {
	return map[string]func(){
		"Alloc":               func() { l.Alloc(100) },
		"Alloc of 100 KB":     func() { l.Alloc(100_000) },
		"TryAlloc":            func() { _, _ = l.TryAlloc(1) },
		"AllocUninit":         func() { l.AllocUninit(100) },
		"TryAllocUninit":      func() { _, _ = l.TryAllocUninit(100) },
		"Free":                func() { l.Free(b) },
		"NewIn":               func() { In[point](l).New() },
		"NewIn of another":    func() { In[link](l).New() },
		"NewIn of 100 KB":     func() { In[[100_000]byte](l).New() },
		"DeleteIn":            func() { deleteIn(l, p) },
		"NewIn of size zero":  func() { In[struct{}](l).New() },
		"DeleteIn, size zero": func() { deleteIn(l, new(struct{})) },
		"Free of nothing":     func() { l.Free(nil) },
		"DeleteIn of nil":     func() { deleteIn[point](l, nil) },
		"Close":               l.Close,
	}
}

// TestCopiedLocal calls everything of a copy: while the original is open, after its Close, and when
// its holder number serves another Local.
func TestCopiedLocal(t *testing.T) {
	quiet(t)
	l := NewLocal()
	b, p := l.Alloc(100), In[point](l).New()
	fill(b, 9)
	l.Free(l.Alloc(100)) // The slots have free blocks.
	deleteIn(l, In[point](l).New())
	c := copyOf(l)
	refused := func(when string) {
		t.Helper()
		for what, f := range localCalls(c, b, p) {
			m := wantMisuse(t, when+": "+what, "use of a copied Local", f)
			if strings.HasPrefix(what, "Alloc") && !strings.HasPrefix(what, m.Op) { // "Alloc" is not reported as AllocUninit.
				t.Errorf("%s: %s is reported as %s", when, what, m.Op)
			}
		}
	}
	refused("while the original is open")
	l.Free(l.Alloc(100))
	l.Close()
	refused("after the original's Close")
	next, other := NewLocal(), NewLocal()
	defer next.Close()
	defer other.Close()
	if next.cache == other.cache && next.id >= 0 {
		t.Fatal("two open Locals have the same slots")
	}
	next.Free(next.Alloc(100))
	refused("beside another Local of the same number")
	if !filled(b, 9) {
		t.Error("a call that was refused changed a block")
	}
	next.Free(b)
	deleteIn(next, p)
}

// TestCopiedAndClosedLocals is what a program with a copied Local did before: after two Closes of
// one Local, two later ones must not allocate the same block.
func TestCopiedAndClosedLocals(t *testing.T) {
	quiet(t)
	l := NewLocal()
	c := copyOf(l)
	l.Close()
	wantMisuse(t, "Close of a copy", "use of a copied Local", c.Close)
	x, y := NewLocal(), NewLocal()
	defer x.Close()
	defer y.Close()
	seen := map[uintptr]bool{}
	var live [][]byte
	for range 200 {
		for _, from := range []*Local{x, y} {
			b := from.AllocUninit(64)
			if seen[addrOf(b)] {
				t.Fatal("two Locals allocated the same block")
			}
			seen[addrOf(b)] = true
			live = append(live, b)
		}
	}
	for _, b := range live {
		x.Free(b)
	}
}

// TestLocalRestored writes an older copy over a closed Local. Its slots then belong to another
// Local, or to none.
func TestLocalRestored(t *testing.T) {
	quiet(t)
	l := NewLocal()
	b, p := l.Alloc(100), In[point](l).New()
	l.Free(l.Alloc(100)) // The slots have free blocks.
	deleteIn(l, In[point](l).New())
	typed, saved := In[point](l), copyOf(l)
	l.Close()
	overwrite(l, saved)
	refused := func(when string) {
		t.Helper()
		for what, f := range localCalls(l, b, p) {
			wantMisuse(t, when+": "+what, "use of a Local that is closed", f)
		}
		wantMisuse(t, when+": New of a Typed", "use of a Local that is closed", func() { typed.New() })
	}
	refused("after Close")
	next := NewLocal()
	defer next.Close()
	next.Free(next.Alloc(100))
	deleteIn(next, In[point](next).New())
	refused("when another Local has the slots")
	next.Free(b)
	deleteIn(next, p)
}

func TestZeroLocal(t *testing.T) {
	quiet(t)
	b, p := Alloc(100), New[point]()
	for what, f := range localCalls(new(Local), b, p) {
		wantMisuse(t, what, "use of a Local that NewLocal did not make", f)
	}
	Free(b)
	Delete(p)
}

// TestDroppedLocal drops Locals with free blocks and blocks in use. The collector must find them;
// then their numbers and free blocks serve again, and the blocks in use stay as they are.
func TestDroppedLocal(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	const n = 20
	kept := dropLocals(h.heap, n)
	awaitDropped(t, h.heap, n)
	h.mu.Lock()
	if len(h.locals) != n || h.nlocal != n {
		t.Errorf("of %d numbers %d serve again, want all %d", h.nlocal, len(h.locals), n)
	}
	h.mu.Unlock()
	if s := h.stats(); s.InUse != n*1024 {
		t.Errorf("%d bytes are in use, want those of %d blocks of 1024", s.InUse, n)
	}
	for i, b := range kept {
		if !filled(b, i) {
			t.Errorf("block %d of a dropped Local changed", i)
		}
		h.freeSlow(addrOf(b), nil, "Free")
	}
	h.purge.run(true)
	if s := h.stats(); s.InUse != 0 || s.Held != 0 {
		t.Errorf("%d bytes are in use and %d held at the end", s.InUse, s.Held)
	}
	before := h.stats().Metadata
	for range n {
		h.newLocal().Close()
	}
	if after := h.stats().Metadata; after != before {
		t.Errorf("new Locals took %d bytes of metadata beside what the dropped ones had", after-before)
	}
}

// awaitDropped waits until the cleanups of n Locals in all have run.
func awaitDropped(t *testing.T, h *heap, n int64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); h.localsDropped.Load() < n; {
		runtime.GC() // Cleanups run some time after a collection.
		if time.Now().After(deadline) {
			t.Fatalf("the collector found %d of %d dropped Locals within a minute", h.localsDropped.Load(), n)
		}
		runtime.Gosched()
	}
}

// dropLocals makes n Locals, keeps a block of each and drops them.
//
//go:noinline
func dropLocals(h *heap, n int) (kept [][]byte) {
	for i := range n {
		l := h.newLocal()
		for range 3 {
			q := h.request(8, false)
			q.local = l
			b, err := h.allocBytes("Alloc", 1024, q)
			must(err)
			kept = append(kept, b)
		}
		for range 2 {
			h.freeSlow(addrOf(kept[len(kept)-1]), l, "Free")
			kept = kept[:len(kept)-1]
		}
		fill(kept[i], i)
	}
	return kept
}

// TestLocalUnderCollection uses Locals while the collector runs: as long as a Local is in use, its
// slots stay its own, though the last pointer to it is in a register of the fast path.
func TestLocalUnderCollection(t *testing.T) {
	quiet(t)
	const n = 300
	dropped := std.localsDropped.Load()
	var done atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !done.Load() {
			runtime.GC()
		}
	}()
	var kept [][]byte
	for i := range n {
		b := lastUse()
		fill(b, i)
		kept = append(kept, b)
	}
	done.Store(true)
	<-ended
	for i, b := range kept {
		if !filled(b, i) {
			t.Fatalf("block %d changed", i)
		}
		Free(b)
	}
	// While a cleanup moves the counts of a Local's slots, the sum may lack them.
	awaitDropped(t, &std, dropped+n)
}

// lastUse allocates from a Local that is garbage afterwards.
//
//go:noinline
func lastUse() []byte {
	l := NewLocal()
	l.Free(l.AllocUninit(40))
	return l.AllocUninit(40)
}
