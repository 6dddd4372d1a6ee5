// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/vmem"
)

// manyBins is a heap all of whose bins with a slot in every holder's slots are in use.
func manyBins(t testing.TB, mem *fakemem.Fake) testHeap {
	h := releasedHeap(t, mem)
	for h.nfast < nullBin {
		h.bin(h.newKind(nil, nil), 0)
	}
	return h
}

// TestLateBinsHaveSlots: a bin beyond the first ones allocates from slots as they do, and counts right.
func TestLateBinsHaveSlots(t *testing.T) {
	needOwnMemory(t)
	h := manyBins(t, &fakemem.Fake{})
	const kinds, blocks, n = 2 * pageBins, 50, 64
	for i := range kinds {
		q := request{kind: h.newKind(nil, nil), align: 8}
		b := h.bin(q.kind, sizeclass.Of(n))
		var all []uintptr
		for range blocks {
			c, err := h.allocBytes("Alloc", n, q)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, addrOf(c))
		}
		if out := b.out.Load(); out != 0 {
			t.Fatalf("bin %d: %d blocks came one by one from the list", b.id, out)
		}
		h.mu.Lock()
		used := h.inUse(b)
		h.mu.Unlock()
		if used != blocks*n {
			t.Fatalf("bin %d: %d bytes in use, want %d", b.id, used, blocks*n)
		}
		for _, addr := range all {
			h.freeSlow(addr, nil, "Free")
		}
		if i%8 == 0 {
			h.flushPs()
		}
		h.mu.Lock()
		used = h.inUse(b)
		h.mu.Unlock()
		if used != 0 {
			t.Fatalf("bin %d: %d bytes in use after all was freed", b.id, used)
		}
	}
}

// TestLateBinsFromManyGoroutines allocates in some goroutines and frees in others, through Ps and
// Locals, while the Ps' slots are taken back. In the end no byte is in use.
func TestLateBinsFromManyGoroutines(t *testing.T) {
	needOwnMemory(t)
	h := manyBins(t, &fakemem.Fake{})
	kinds := make([]*kind, pageBins+10)
	for i := range kinds {
		kinds[i] = h.newKind(nil, nil)
	}
	passed := make(chan uintptr, 256)
	var workers, frees sync.WaitGroup
	for range 2 {
		frees.Go(func() {
			for addr := range passed {
				h.freeSlow(addr, nil, "Free")
			}
		})
	}
	for g := range 4 {
		workers.Go(func() {
			var l *Local
			if g%2 == 0 {
				l = h.newLocal()
				defer l.Close()
			}
			rng := rand.New(rand.NewPCG(15, uint64(g)))
			for i := range 3000 {
				q := request{kind: kinds[rng.IntN(len(kinds))], n: uintptr(16 + rng.IntN(2000)), align: 8, local: l}
				addr, err := h.allocate(q)
				if err != nil {
					t.Error(err)
					return
				}
				if i%3 == 0 {
					passed <- addr
					continue
				}
				h.freeSlow(addr, l, "Free")
				if i%500 == 0 {
					h.flushPs()
				}
			}
		})
	}
	workers.Wait()
	close(passed)
	frees.Wait()
	if n := inUseOf(h.heap, nil); n != 0 {
		t.Errorf("%d bytes in use after all was freed", n)
	}
}

// TestBinsBeyondAllPages: the last bin of the last page has slots. The blocks of the bin behind it come
// one by one.
func TestBinsBeyondAllPages(t *testing.T) {
	needOwnMemory(t)
	h := manyBins(t, &fakemem.Fake{})
	bins := *h.bins.Load()
	for len(bins) < fastBins+maxPages*pageBins-1 {
		bins = append(bins, &bin{id: nullBin, kind: h.plain}) // As where twins leave gaps.
	}
	h.bins.Store(&bins)
	for _, single := range []int64{0, 1} {
		k := h.newKind(nil, nil)
		b := h.bin(k, 0)
		c, err := h.allocBytes("Alloc", 16, request{kind: k, align: 8})
		if err != nil || b.out.Load() != single || b.slotted != (single == 0) {
			t.Fatalf("bin %d: %v, %d blocks counted, want %d", b.id, err, b.out.Load(), single)
		}
		h.freeSlow(addrOf(c), nil, "Free")
		if n := inUseOf(h.heap, nil); n != 0 {
			t.Errorf("bin %d: %d bytes in use after the free", b.id, n)
		}
	}
}

// TestLateBinWithoutMemoryForSlots: if there is no memory for a page of slots, free blocks suffice.
func TestLateBinWithoutMemoryForSlots(t *testing.T) {
	needOwnMemory(t)
	mem := &fakemem.Fake{}
	h := manyBins(t, mem)
	q := request{kind: h.newKind(nil, nil), n: 64, align: 8}
	b := h.bin(q.kind, sizeclass.Of(q.n))
	addrs := []uintptr{0}
	var err error
	if addrs[0], err = h.allocShared(b); err != nil { // Its slab has the blocks for the others.
		t.Fatal(err)
	}
	h.mu.Lock()
	h.meta.next = h.meta.end
	h.mu.Unlock()
	mem.FailFrom(1, vmem.OpReserve, vmem.OpCommit)
	for i := range 2 {
		addr, err := h.allocate(q)
		if err != nil || b.out.Load() != 2 {
			t.Fatalf("%v, %d blocks came one by one, want 2: only the first two, without memory for slots", err, b.out.Load())
		}
		addrs = append(addrs, addr)
		if i == 0 {
			mem.Heal()
		}
	}
	for _, addr := range addrs {
		h.freeSlow(addr, nil, "Free")
	}
	if n := inUseOf(h.heap, nil); n != 0 {
		t.Errorf("%d bytes in use after all was freed", n)
	}
}

// TestLateBinDoubleFree: a second free of a block of a late bin panics, whether its group has the
// holder that frees, another one, or none.
func TestLateBinDoubleFree(t *testing.T) {
	needOwnMemory(t)
	h := manyBins(t, &fakemem.Fake{})
	owner, other := h.newLocal(), h.newLocal()
	q := request{kind: h.newKind(nil, nil), n: 64, align: 8, local: owner}
	keep, err := h.allocate(q)
	if err != nil {
		t.Fatal(err)
	}
	twice := func(who string, addr uintptr, l *Local) {
		if caught(func() { h.freeSlow(addr, l, "Free") }) == nil {
			t.Errorf("the second free, by %s, does not panic", who)
		}
	}
	for _, first := range []*Local{owner, other, nil} {
		addr, err := h.allocate(q)
		if err != nil {
			t.Fatal(err)
		}
		h.freeSlow(addr, first, "Free")
		twice("the holder of the group", addr, owner)
		twice("a holder without slots of the bin", addr, other)
		twice("a P", addr, nil)
	}
	owner.Close()
	h.freeSlow(keep, other, "Free")
	twice("a Local, when its group has no holder or this one", keep, other)
	other.Close()
	twice("a P, when its group has no holder", keep, nil)
}

// BenchmarkLateBin is an allocation and its free in one of the first bins, in one of the later ones
// and in one without slots.
func BenchmarkLateBin(b *testing.B) {
	needOwnMemory(b)
	h := manyBins(b, &fakemem.Fake{})
	early, late, none := h.plain, h.newKind(nil, nil), h.newKind(nil, nil)
	h.bin(none, sizeclass.Of(64)).slotted = false
	for _, way := range []struct {
		name string
		kind *kind
	}{{"early", early}, {"late", late}, {"none", none}} {
		b.Run(way.name, func(b *testing.B) {
			q := request{kind: way.kind, n: 64, align: 8}
			for b.Loop() {
				addr, err := h.allocate(q)
				if err != nil {
					b.Fatal(err)
				}
				h.freeSlow(addr, nil, "Free")
			}
		})
	}
}
