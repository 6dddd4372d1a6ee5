// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/vmem"
)

// TestLocalExchangesBlocks frees blocks of one holder by another, in all directions.
func TestLocalExchangesBlocks(t *testing.T) {
	quiet(t)
	a, b := NewLocal(), NewLocal()
	defer a.Close()
	defer b.Close()
	type way struct {
		name  string
		alloc func(n int) []byte
		free  func(b []byte)
	}
	ways := []way{{"a", a.AllocUninit, a.Free}, {"b", b.AllocUninit, b.Free}, {"package", AllocUninit, Free}}
	rounds := 20
	if testing.Short() {
		rounds = 4
	}
	before := ReadStats().InUse
	for round := range rounds {
		for i, from := range ways {
			for j, to := range ways {
				var live [][]byte
				for k := range 300 {
					c := from.alloc(1 + (k*k+round)%70_000)
					fill(c[:min(len(c), 100)], k)
					live = append(live, c)
				}
				for k, c := range live {
					if !filled(c[:min(len(c), 100)], k) {
						t.Fatalf("round %d: block %d of %s changed", round, k, from.name)
					}
					if (k+i+j)%2 == 0 {
						to.free(c)
					} else {
						from.free(c)
					}
				}
			}
		}
		if now := ReadStats().InUse; now != before {
			t.Fatalf("round %d: %d bytes in use, %d before", round, now, before)
		}
	}
}

// TestLocalFreedElsewhere hands the blocks of a Local to a goroutine that frees them.
func TestLocalFreedElsewhere(t *testing.T) {
	quiet(t)
	blocks, ended := make(chan []byte, 100), make(chan struct{})
	go func() {
		defer close(ended)
		for b := range blocks {
			if !filled(b, len(b)) {
				t.Error("a block changed on the way")
			}
			Free(b)
		}
	}()
	l := NewLocal()
	for i := range 50_000 {
		b := l.AllocUninit(1 + i%300)
		fill(b, len(b))
		blocks <- b
	}
	l.Close() // With blocks under way.
	close(blocks)
	<-ended
}

func TestLocalCloseWithLiveBlocks(t *testing.T) {
	quiet(t)
	var live [][]byte
	var values []*flags
	for i := range 200 {
		l := NewLocal()
		b := l.Alloc(1 + i*10)
		fill(b, i)
		v := In[flags](l).New()
		v.N = int64(i)
		l.Close()
		l.Close()
		live, values = append(live, b), append(values, v)
	}
	other := NewLocal()
	defer other.Close()
	for i, b := range live {
		if !filled(b, i) || values[i].N != int64(i) {
			t.Fatalf("block %d changed after the Close of its Local", i)
		}
		other.Free(b)
		Delete(values[i])
	}
}

func TestLocalUseAfterClose(t *testing.T) {
	quiet(t)
	l := NewLocal()
	b, p, w := l.Alloc(100), In[point](l).New(), In[link](l).New()
	large := l.Alloc(100_000)
	fill(b, 9)
	l.Close()
	for what, f := range map[string]func(){
		"Alloc":               func() { l.Alloc(100) },
		"Alloc of much":       func() { l.Alloc(100_000) },
		"TryAlloc":            func() { _, _ = l.TryAlloc(1) },
		"AllocUninit":         func() { l.AllocUninit(100) },
		"TryAllocUninit":      func() { _, _ = l.TryAllocUninit(100) },
		"Free":                func() { l.Free(b) },
		"Free of a large one": func() { l.Free(large) },
		"NewIn":               func() { In[point](l).New() },
		"NewIn of 100 KB":     func() { In[[100_000]byte](l).New() },
		"DeleteIn":            func() { deleteIn(l, p) },
		"DeleteIn with wipe":  func() { deleteIn(l, w) },
	} {
		alloctest.MustPanic(t, f, "offheap: ", "Local that is closed")
		if t.Failed() {
			t.Fatal(what)
		}
	}
	if !filled(b, 9) {
		t.Error("a Free that was refused changed the block")
	}
	Free(b)
	Free(large)
	Delete(p)
	Delete(w)
}

// TestMoreLocalsThanNumbers makes so many Locals that the last ones have no slots of their own.
func TestMoreLocalsThanNumbers(t *testing.T) {
	needOwnMemory(t)
	if !is64 {
		t.Skip("the slots of so many Locals take most of the address space")
	}
	if testing.Short() {
		t.Skip("makes 12,288 Locals")
	}
	h := releasedHeap(t, &fakemem.Fake{})
	var all []*Local
	for range maxHolders - maxPs {
		l := openLocal(t, h)
		if l.id == sharedLocal {
			t.Fatalf("Local %d has no slots", len(all))
		}
		all = append(all, l)
	}
	for range 10 {
		if l := openLocal(t, h); l.id != sharedLocal {
			t.Fatalf("more Locals than numbers: %d", l.id)
		}
	}
	id := all[17].id
	all[17].Close()
	if l := openLocal(t, h); l.id != id {
		t.Errorf("the number of a closed Local is not used again: %d, want %d", l.id, id)
	}
}

// openLocal makes a Local of h, whose memory is released after the test. The collector must not
// close the Local then, so it stays reachable until its cleanup is stopped.
func openLocal(t testing.TB, h testHeap) *Local {
	l := h.newLocal()
	t.Cleanup(func() {
		l.cleanup.Stop()
		runtime.KeepAlive(l)
	})
	return l
}

func localWithoutSlots() *Local {
	l := &Local{id: sharedLocal, cache: &noCache}
	l.self, l.handle = l, newHandle(&std, sharedLocal)
	return l
}

// TestLocalWithoutSlots uses a Local as NewLocal returns it when there are no numbers left.
func TestLocalWithoutSlots(t *testing.T) {
	quiet(t)
	cfg := config()
	cfg.Concurrent, cfg.Limits = false, false
	for _, ops := range alloctest.Seeds() {
		l := localWithoutSlots()
		alloctest.Ops(t, localHeap{l}, ops, cfg)
		v := In[link](l).New()
		if *v != (link{}) {
			t.Fatalf("NewIn: %+v", *v)
		}
		deleteIn(l, v)
		wantMisuse(t, "second DeleteIn", "double free", func() { deleteIn(l, v) })
		l.Close()
		alloctest.MustPanic(t, func() { In[link](l).New() }, "closed")
	}
	if noCache.bins != ([fastBins]slot{}) {
		t.Error("something was put into the slots that are nobody's")
	}
}

// TestLocalDoubleFree frees through one holder what another has freed.
func TestLocalDoubleFree(t *testing.T) {
	quiet(t)
	a, b := NewLocal(), NewLocal()
	defer a.Close()
	defer b.Close()
	ways := []func([]byte){a.Free, b.Free, Free, func(c []byte) { Realloc(c, 0) }}
	for _, n := range []int{1, 8, 48, 1000, 4096, 65_536, 70_000} {
		for i, first := range ways {
			for j, second := range ways {
				for k, alloc := range []func(int) []byte{a.Alloc, b.Alloc, Alloc} {
					c, neighbour := alloc(n), alloc(n)
					first(c)
					m := wantMisuse(t, "second free", "double free", func() { second(c) })
					if m.Addr != addrOf(c) {
						t.Fatalf("%d bytes, %d then %d, allocated by %d: the message names %#x, want %#x", n, i, j, k, m.Addr, addrOf(c))
					}
					first(neighbour)
				}
			}
		}
	}
	p := In[link](a).New()
	deleteIn(b, p)
	wantMisuse(t, "Delete", "double free", func() { Delete(p) })
	wantMisuse(t, "DeleteIn", "double free", func() { deleteIn(a, p) })
}

// TestActiveSlots opens and closes Locals in random order: those that are open are listed once, and
// at most half of the list is of closed ones.
func TestActiveSlots(t *testing.T) {
	if std.start(); std.serving() != nil {
		t.Skip("the Go heap serves all")
	}
	var open []*Local
	for range 3000 {
		if n := len(open); n > 0 && rand.IntN(2) == 0 {
			i := rand.IntN(n)
			open[i].Close()
			open[i], open = open[n-1], open[:n-1]
		} else {
			open = append(open, NewLocal())
		}
	}
	listed := map[*cache]int{}
	for _, c := range *std.active.Load() {
		listed[c]++
	}
	for _, l := range open {
		if listed[l.cache] != 1 {
			t.Fatalf("the slots of an open Local are listed %d times", listed[l.cache])
		}
		delete(listed, l.cache)
		l.Close()
	}
	std.mu.Lock()
	defer std.mu.Unlock()
	retired, active := 0, *std.active.Load()
	for _, c := range active {
		if c.unused {
			retired++
		}
	}
	if retired != std.unlisted || retired > len(active)/2 {
		t.Errorf("of %d slots %d are retired, %d are counted", len(active), retired, std.unlisted)
	}
}

// TestNoMemoryForSlots: a P that first allocates when the system refuses memory gets no slots. Free
// blocks serve it all the same.
func TestNoMemoryForSlots(t *testing.T) {
	needOwnMemory(t)
	fake := &fakemem.Fake{}
	h := releasedHeap(t, fake)
	l := openLocal(t, h)
	q := h.request(8, false)
	q.local = l
	b, err := h.allocBytes("AllocUninit", 1000, q)
	if err != nil {
		t.Fatal(err)
	}
	h.Free(b)
	l.Close()
	h.mu.Lock()
	h.meta.next = h.meta.end // No more records can be added.
	h.mu.Unlock()
	fake.FailFrom(1, vmem.OpReserve, vmem.OpCommit)
	for range 100 {
		b, err := h.TryAlloc(1000)
		if err != nil || !allZero(b) {
			t.Fatalf("%v, or bytes of the block before", err)
		}
		fill(b, 1)
		h.Free(b)
	}
	if n := h.InUse(); n != 0 {
		t.Errorf("%d bytes are in use at the end", n)
	}
}

// TestNoMemoryBesideAnother: the only slab is in use by another P, and this one has neither slots
// nor memory for them.
func TestNoMemoryBesideAnother(t *testing.T) {
	needOwnMemory(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	fake := &fakemem.Fake{}
	h := releasedHeap(t, fake)
	kept, err := h.TryAlloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	h.meta.next = h.meta.end
	h.mu.Unlock()
	fake.FailFrom(1, vmem.OpReserve, vmem.OpCommit)
	runtime.GOMAXPROCS(2)
	var done atomic.Bool
	go func() {
		defer done.Store(true)
		b, err := h.TryAlloc(1000)
		if err != nil {
			t.Error(err)
			return
		}
		h.Free(b)
	}()
	for !done.Load() { // It stays on its P, so that the other goroutine gets the other one.
	}
	h.Free(kept)
}
