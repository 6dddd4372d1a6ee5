// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/vmem"
)

// The tests here make states by hand that a heap has while a thread is stopped between two steps.

// TestInstallOnAnotherP: a goroutine that gets a slab is on another P by then, which never used the size. The slab is taken
// back like every other.
func TestInstallOnAnotherP(t *testing.T) {
	needOwnMemory(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	h := releasedHeap(t, &fakemem.Fake{})
	q := h.request(8, false)
	if _, err := h.allocBytes("Alloc", 8, q); err != nil { // The P has slots.
		t.Fatal(err)
	}
	b := h.bin(h.plain, sizeclass.Of(32<<10))
	install := func(blocks int64) {
		sp, _, err := h.slab(b, true)
		if err != nil {
			t.Fatal(err)
		}
		for range blocks {
			sp.takeOne(h.heap)
		}
		b.add(blocks)
		h.install(b, nil, sp)
	}
	install(0)
	h.purge.run(true)
	if n := b.slabs.Load(); n != 0 {
		t.Errorf("after a purge %d slabs without a block in use are left", n)
	}
	install(1)
	h.SetLimit(inUseOf(h.heap, nil) + int64(b.size))
	q.local = openLocal(t, h) // As a request on a third P.
	before := h.flushes.Load()
	if _, err := h.allocBytes("Alloc", 32<<10, q); err != nil {
		t.Errorf("%v; %d bytes are in use, and %d free", err, inUseOf(h.heap, nil), h.spare(b))
	}
	for range 100 {
		if _, err := h.allocBytes("Alloc", 32<<10, q); !errors.Is(err, ErrLimit) {
			t.Fatal(err)
		}
	}
	if n := h.flushes.Load() - before; n > 2 {
		t.Errorf("100 refusals stop the world %d times", n)
	}
}

// TestSumsBesideCounts: while blocks of a bin that has no slab any more are counted, the sum of the blocks in use is not too high.
func TestSumsBesideCounts(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	b := h.bin(h.plain, sizeclass.Of(4096))
	for _, n := range []int64{-1, 1} {
		var over atomic.Bool
		var group sync.WaitGroup
		group.Go(func() {
			defer over.Store(true)
			for range 300_000 {
				b.add(n)
			}
		})
		for !over.Load() {
			if used := inUseOf(h.heap, nil); used > 0 {
				t.Errorf("%d bytes are in use, want none, while blocks are counted by %d", used, n)
				break
			}
		}
		group.Wait()
	}
}

// TestOtherErrorAlone: a request was refused by a limit, which is raised then, and now memory ends. A P has the free blocks of
// another size whose slab the request needs.
func TestOtherErrorAlone(t *testing.T) {
	needOwnMemory(t)
	fake := &fakemem.Fake{}
	h := releasedHeap(t, fake)
	q := h.request(8, false)
	x, err := h.allocBytes("Alloc", 1000, q)
	if err != nil {
		t.Fatal(err)
	}
	fake.FailFrom(1, vmem.OpCommit)
	allocUntilRefused(t, h.heap, q, 8192)
	h.freeSlow(addrOf(x), nil, "Free") // Its slab is free but for the P's group.
	if _, err := h.supplyAlone(h.bin(h.plain, sizeclass.Of(8192)), &limitError{}); err != nil {
		t.Error(err)
	}
}

// TestQuotaAfterRefusals: after a request that a limit or the end of memory refuses, the quota of a limit that the spans do not reach is
// open.
func TestQuotaAfterRefusals(t *testing.T) {
	needOwnMemory(t)
	fake := &fakemem.Fake{}
	h := releasedHeap(t, fake)
	h.SetLimit(16 << 20)
	if _, err := h.allocBytes("Alloc", 64<<10, h.request(8, false)); err != nil {
		t.Fatal(err)
	}
	const n = 15900 << 10
	q := request{kind: h.newKind(limited("p", 1<<20), nil), align: 8}
	if _, err := h.allocBytes("Alloc", n, q); !errors.Is(err, ErrLimit) || h.quota.left.Load() != 0 {
		t.Errorf("%v, and the heap's quota is %d, after the purpose's refusal", err, h.quota.left.Load())
	}
	fake.FailFrom(1, vmem.OpCommit)
	if _, err := h.allocBytes("Alloc", n, h.request(8, false)); !errors.Is(err, ErrOutOfMemory) || h.quota.left.Load() != 0 {
		t.Errorf("%v, and the heap's quota is %d, after the end of memory", err, h.quota.left.Load())
	}
}

// TestLargeBesideSmall: at the end of memory a P has empty slabs. A large and a small request, which both need their memory, are served.
func TestLargeBesideSmall(t *testing.T) {
	needOwnMemory(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	sizes := []int{64 << 10, 56 << 10, 48 << 10, 40 << 10}
	for range 20 {
		fake := &fakemem.Fake{}
		h := releasedHeap(t, fake)
		q := h.request(8, false)
		alloc := func(n int) uintptr {
			x, err := h.allocBytes("Alloc", n, q)
			if err != nil {
				t.Fatal(err)
			}
			return addrOf(x)
		}
		var all []uintptr
		for _, n := range sizes {
			for range 2 * rareAsks { // The P gets slabs of its own.
				h.freeSlow(alloc(n), nil, "Free")
			}
			all = append(all, alloc(n), alloc(n))
		}
		fake.FailFrom(1, vmem.OpCommit, vmem.OpReserve)
		for _, n := range []uintptr{128 << 10, 8 << 10} {
			for {
				if _, err := h.allocLarge(h.plain, n, 8, false); err != nil {
					break
				}
			}
		}
		for _, n := range sizes {
			h.freeSlow(alloc(n), nil, "Free")
		}
		for _, addr := range all {
			h.freeSlow(addr, nil, "Free")
		}
		runtime.GOMAXPROCS(4)
		var both sync.WaitGroup
		both.Go(func() {
			if _, err := h.allocLarge(h.plain, 128<<10, 8, false); err != nil {
				t.Error("the large one:", err)
			}
		})
		both.Go(func() {
			if _, err := h.allocBytes("Alloc", 8<<10, q); err != nil {
				t.Error("the small one:", err)
			}
		})
		both.Wait()
		runtime.GOMAXPROCS(1)
	}
}
