// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// slabInUse is a current slab of b, all of whose blocks are in use and written, and these blocks.
func slabInUse(t *testing.T, h *heap, b *bin) (sp *span, blocks []uintptr) {
	t.Helper()
	if vmem.PageSize() > granule {
		t.Skip("slabs share pages here")
	}
	sp, err := h.slab(b)
	if err != nil {
		t.Fatal(err)
	}
	for range b.blocks {
		addr := sp.takeOne(h)
		for i := range uintptr(b.size) {
			*unsafex.At[byte](addr + i) = 1
		}
		blocks = append(blocks, addr)
	}
	b.out.Add(int64(b.blocks))
	if n := h.purge.idle.Load(); n != 0 {
		t.Fatalf("%d bytes of the slab are idle, and all are in use", n)
	}
	return sp, blocks
}

// TestRefusedPurgeOfSlab: if the system refuses to purge pages of a slab, ticks leave the slab alone, and a Purge tries again.
func TestRefusedPurgeOfSlab(t *testing.T) {
	needOwnMemory(t)
	const size, freed = 8 << 10, 7 * 8 << 10
	for _, all := range []bool{false, true} {
		fake := &fakemem.Fake{}
		h := releasedHeap(t, fake)
		sp, blocks := slabInUse(t, h.heap, h.bin(h.plain, sizeclass.Of(size)))
		h.uncacheSlab(sp.addr())
		for _, addr := range blocks[1:] {
			h.freeSlow(addr, nil, "Free")
		}
		if !all {
			h.purge.run(false) // The slab was touched since the last tick.
		}
		fake.FailFrom(1, vmem.OpPurge)
		if more := h.purge.run(all); more || fake.Calls(vmem.OpPurge) != 1 {
			t.Errorf("all %v: after a refusal another tick comes: %v; %d calls, want 1", all, more, fake.Calls(vmem.OpPurge))
		}
		if h.purge.run(false); fake.Calls(vmem.OpPurge) != 1 {
			t.Errorf("all %v: a tick asks a second time", all)
		}
		fake.Heal()
		h.purge.run(true)
		if n := h.purge.idle.Load(); n != freed {
			t.Errorf("all %v: when the system refuses no more, %d bytes of the slab are idle, want %d", all, n, freed)
		}
	}
}

// TestPurgeOfLastPage: the page in which the last block of a slab ends goes back with the block, though no block fills it up.
func TestPurgeOfLastPage(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	p := &purposeState{name: "wiped", options: PurposeOptions{Wipe: true}}
	page := int64(vmem.PageSize())
	for name, k := range map[string]*kind{"plain": h.plain, "wiped": h.newKind(p, nil)} {
		b := h.bin(k, sizeclass.Of(48))
		sp, blocks := slabInUse(t, h.heap, b)
		rest := sp.base + sp.bytes() - 1
		if rest < sp.groupBase(sp.groups()-1)+uintptr(sp.last(sp.groups()-1))+1 {
			t.Fatal("the blocks fill the slab")
		}
		*unsafex.At[byte](rest) = 1 // So its page takes memory.
		h.uncacheSlab(sp.addr())
		for _, addr := range blocks[1:] {
			h.freeSlow(addr, nil, "Free")
		}
		h.purge.run(true)
		want := int64(sp.bytes()) - page
		if n := h.purge.idle.Load(); n != want {
			t.Errorf("%s: with one block in use %d bytes are idle, want %d", name, n, want)
		}
		last := sp.takeFrom(h.heap, sp.groups()-1)
		b.out.Add(1)
		if n := h.purge.idle.Load(); n != want-page {
			t.Errorf("%s: with a block at the end in use %d bytes are idle, want %d", name, n, want-page)
		}
		h.freeSlow(last, nil, "Free")
		h.purge.run(true)
		if n := h.purge.idle.Load(); n != want {
			t.Errorf("%s: after a second purge %d bytes are idle, want %d", name, n, want)
		}
		h.freeSlow(blocks[0], nil, "Free")
		if n := h.purge.idle.Load(); n != 0 {
			t.Errorf("%s: %d bytes are idle in slabs, and there is none", name, n)
		}
	}
}

// TestPurgeOfCurrentSlab: free pages of a slab in use by one holder go back in the background.
func TestPurgeOfCurrentSlab(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	const size = 64 << 10
	sp, blocks := slabInUse(t, h.heap, h.bin(h.plain, sizeclass.Of(size)))
	for _, addr := range blocks[1:] {
		h.freeSlow(addr, nil, "Free")
	}
	if sp.state.Load() != spanCurrent {
		t.Fatal("the slab is not a current one")
	}
	for range 2 { // What was free for a whole tick goes back.
		h.purge.run(false)
	}
	if n, want := h.purge.idle.Load(), int64(len(blocks)-1)*size; n != want {
		t.Errorf("%d bytes of the slab are idle, want %d", n, want)
	}
	h.freeSlow(blocks[0], nil, "Free")
	h.uncacheSlab(sp.addr())
}
