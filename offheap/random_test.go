// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/vmem"
)

// newRandomHeap is a heap with random placement whose numbers are those of next.
func newRandomHeap(t testing.TB, next func() uint64) testHeap {
	t.Helper()
	if !vmem.Supported || hooks == 0 {
		t.Skip("no random placement here")
	}
	h := newTestHeap(vmem.System())
	h.random = next
	return h
}

// TestRandomSuite: with random placement a heap is an allocator as any other.
func TestRandomSuite(t *testing.T) {
	if !vmem.Supported {
		t.Skip("no memory outside the Go heap here")
	}
	cfg := config()
	cfg.Limits = false // Of the process's limits, which a heap of its own does not have.
	cfg.New = func(t testing.TB) alloctest.Allocator {
		return newRandomHeap(t, rand.New(rand.NewPCG(1, 2)).Uint64)
	}
	cfg.Concurrent = false // The generator serves one goroutine.
	alloctest.Test(t, cfg)
}

// TestRandomBlock: each of the 32 blocks of a group is the first that is handed out for one of 32
// rolls, and so is the one that was just freed.
func TestRandomBlock(t *testing.T) {
	const size = 64
	first, again := map[uintptr]int{}, 0
	var roll uint64
	h := newRandomHeap(t, func() uint64 { return roll })
	for i := range uint64(32) {
		roll = i<<32 | 1 // Stay with the group.
		b, err := h.TryAllocUninit(size)
		if err != nil {
			t.Fatal(err)
		}
		addr := addrOf(b)
		first[addr]++
		h.Free(b)
		roll = 5<<32 | 1
		c, _ := h.TryAllocUninit(size)
		if addrOf(c) == addr {
			again++
		}
		h.Free(c)
	}
	if len(first) != 32 {
		t.Errorf("32 rolls chose %d different blocks of a group, want all 32", len(first))
	}
	if again != 1 {
		t.Errorf("the block that was just freed is the next one for %d of 32 rolls, want 1", again)
	}
}

// TestRandomGroup: the group is drawn where it has a single block, and all blocks are handed out
// once.
func TestRandomGroup(t *testing.T) {
	for _, size := range []int{16, 64, 1000, 8192, 20_000, 65_536} {
		gen := rand.New(rand.NewPCG(3, uint64(size)))
		h := newRandomHeap(t, gen.Uint64)
		ascending, seen, last := 0, map[uintptr]bool{}, uintptr(0)
		var blocks [][]byte
		const n = 200
		for range n {
			b, err := h.TryAllocUninit(size)
			if err != nil {
				t.Fatal(err)
			}
			addr := addrOf(b)
			if seen[addr] {
				t.Fatalf("%d bytes: the block at %#x was handed out twice", size, addr)
			}
			if addr > last {
				ascending++
			}
			seen[addr], last = true, addr
			blocks = append(blocks, b)
		}
		// In the order of addresses all would follow the one before; by chance half do. The numbers
		// are always the same ones.
		if ascending < n/4 || ascending > n*3/4+n/8 {
			t.Errorf("%d bytes: %d of %d blocks lie above the one before", size, ascending, n)
		}
		for _, b := range blocks {
			h.Free(b)
		}
		if h.InUse() != 0 {
			t.Errorf("%d bytes: %d bytes are in use after all frees", size, h.InUse())
		}
		h.Purge()
		if held := h.stats().Held; held != 0 {
			t.Errorf("%d bytes: %d bytes are held after all frees and a purge", size, held)
		}
	}
}

// TestRandomSlab: a roll chooses one of the first slabs of the list.
func TestRandomSlab(t *testing.T) {
	h := newRandomHeap(t, func() uint64 { return 0 })
	b := h.bin(h.plain, 0)
	var slabs []*span
	for range listDepth + 1 {
		sp, _, err := h.slab(b, true)
		if err != nil {
			t.Fatal(err)
		}
		slabs = append(slabs, sp)
	}
	for _, sp := range slabs {
		sp.state.Store(spanUnlisted)
		b.relist(sp)
	}
	for roll := range uint64(2 * listDepth) {
		want := spanAt(b.list)
		for range roll % listDepth {
			want = spanAt(want.next)
		}
		got := b.takeListed(roll)
		if got != want {
			t.Errorf("roll %d took another slab than the one at place %d of the list", roll, roll%listDepth)
		}
		got.state.Store(spanUnlisted)
		b.relist(got)
	}
}

// TestNthBit: each bit of a mask is chosen by as many rolls as each other.
func TestNthBit(t *testing.T) {
	for _, m := range []uint32{1, 1 << 31, 0b1011, 1<<32 - 1, 0xf0f0_f0f0} {
		n := uint32(bits.OnesCount32(m))
		chosen := map[int]int{}
		for roll := range 3 * n {
			i := nthBit(m, roll)
			if m>>i&1 == 0 {
				t.Fatalf("mask %#x, roll %d: bit %d is not set", m, roll, i)
			}
			chosen[i]++
		}
		for i, times := range chosen {
			if times != 3 || len(chosen) != int(n) {
				t.Errorf("mask %#x: bit %d was chosen %d times, %d bits of %d in all", m, i, times, len(chosen), n)
			}
		}
	}
}

// TestRandomWord: the word random of FREEHOLD keeps the package's functions from the fast path.
func TestRandomWord(t *testing.T) {
	if !testenv.InChild(t, "FREEHOLD=random") {
		return
	}
	needSlabs(t)
	if std.random == nil {
		t.Fatal("FREEHOLD=random does not switch random placement on")
	}
	seen := map[uintptr]bool{}
	for range 64 { // One group would give 32 addresses at most, and the fast path one.
		b := Alloc(64)
		seen[addrOf(b)] = true
		Free(b)
	}
	if hooks != 0 && len(seen) < 2 {
		t.Error("64 allocations, each freed before the next, got one block")
	}
}
