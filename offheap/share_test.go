// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/sizeclass"
)

// TestSmallSetTakesFewSlabs: holders that allocate little take their blocks from the same slabs, also
// after each has freed half and allocated as much again. Each of 64 holders would otherwise keep
// slabs of 64 to 512 KiB for each size.
func TestSmallSetTakesFewSlabs(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	const holders, each = 64, 2
	sizes := []int{16, 200, 1000, 5000, 20_000, 60_000}
	type block struct {
		addr uintptr
		n    int
	}
	var locals [holders]*Local
	var blocks [holders][]block
	live := int64(0)
	alloc := func(l *Local, n int) block {
		addr, err := h.allocate(request{kind: h.plain, n: uintptr(n), align: 8, local: l})
		if err != nil {
			t.Fatal(err)
		}
		return block{addr, n}
	}
	check := func(when string) {
		if held := h.stats().Held; held > live*3/2 {
			t.Errorf("%s: the slabs hold %d bytes, more than 1.5 times the %d in use", when, held, live)
		}
	}
	for i := range locals {
		locals[i] = openLocal(t, h)
		for _, n := range sizes {
			for range each {
				blocks[i] = append(blocks[i], alloc(locals[i], n))
				live += int64(n)
			}
		}
	}
	check("after growth")
	rng := rand.New(rand.NewPCG(15, 10))
	for range 4 {
		for i, l := range locals {
			var freed []*block
			for k := range blocks[i] {
				if rng.IntN(2) == 0 {
					h.freeSlow(blocks[i][k].addr, l, "Free")
					freed = append(freed, &blocks[i][k])
				}
			}
			for _, b := range freed {
				*b = alloc(l, b.n)
			}
		}
		check("after churn")
	}
	for i, l := range locals {
		for _, b := range blocks[i] {
			h.freeSlow(b.addr, l, "Free")
		}
		l.Close()
	}
	h.Purge()
	if held := h.stats().Held; held != 0 {
		t.Errorf("the slabs hold %d bytes after all was freed and purged", held)
	}
}

// TestBusyHolderHasSlab: a holder that asks often gets a slab of its own. After the purge has run, it
// shares again.
func TestBusyHolderHasSlab(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	for range 20 { // A bin is shared while it has few slabs for each holder.
		openLocal(t, h)
	}
	l := openLocal(t, h)
	for _, n := range []uintptr{64, 4096} { // By groups and by blocks.
		b := h.bin(h.plain, sizeclass.Of(n))
		s := l.cache.slot(b)
		one := func() {
			if _, err := h.allocate(request{kind: h.plain, n: n, align: 8, local: l}); err != nil {
				t.Fatal(err)
			}
		}
		one()
		if s.cur != 0 {
			t.Errorf("%d bytes: the first block takes a slab", n)
		}
		for range rareAsks << b.shift {
			one()
		}
		if s.cur == 0 {
			t.Errorf("%d bytes: after %d blocks the holder has no slab", n, rareAsks<<b.shift)
		}
		h.purge.run(false)
		for i := uint32(0); s.cur != 0 && i <= b.blocks; i++ {
			one()
		}
		if s.cur != 0 {
			t.Errorf("%d bytes: when the slab is used up, the holder takes another one", n)
		}
	}
}

// TestSharedSlabsFromManyGoroutines allocates, frees and purges at once, with few blocks, so that
// slabs are shared, used up, listed again and retired all the time. In the end no slab is left.
func TestSharedSlabsFromManyGoroutines(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	sizes := []uintptr{16, 500, 2000, 8000, 30_000, 64 << 10}
	passed := make(chan uintptr, 64)
	var workers, frees sync.WaitGroup
	frees.Go(func() {
		for addr := range passed {
			h.freeSlow(addr, nil, "Free")
		}
	})
	for g := range 6 {
		workers.Go(func() {
			var l *Local
			if g%2 == 0 {
				l = h.newLocal()
				defer l.Close()
			}
			rng := rand.New(rand.NewPCG(15, uint64(g)))
			var mine []uintptr
			for i := range 2000 {
				q := request{kind: h.plain, n: sizes[rng.IntN(len(sizes))], align: 8, local: l}
				addr, err := h.allocate(q)
				if err != nil {
					t.Error(err)
					return
				}
				mine = append(mine, addr)
				if i%200 == 0 {
					h.purge.run(i%400 == 0)
				}
				for len(mine) > 20 {
					k := rng.IntN(len(mine))
					addr, mine[k] = mine[k], mine[len(mine)-1]
					mine = mine[:len(mine)-1]
					if rng.IntN(2) == 0 {
						passed <- addr
					} else {
						h.freeSlow(addr, l, "Free")
					}
				}
			}
			for _, addr := range mine {
				h.freeSlow(addr, l, "Free")
			}
		})
	}
	workers.Wait()
	close(passed)
	frees.Wait()
	h.Purge()
	if n, held := inUseOf(h.heap, nil), h.stats().Held; n != 0 || held != 0 {
		t.Errorf("%d bytes in use, and slabs of %d bytes, after all was freed and purged", n, held)
	}
}
