// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"testing"
)

// TestBlockIndex compares an index with a map, while it grows, shrinks and fills with entries of freed
// blocks.
func TestBlockIndex(t *testing.T) {
	var x blockIndex
	rng := rand.New(rand.NewPCG(15, 5))
	want := map[uintptr]uintptr{}
	var addrs []uintptr
	check := func(addr uintptr) {
		size, key, ok := x.find(addr)
		if n, in := want[addr]; ok != in || ok && (size != n || key != n+1) {
			t.Fatalf("%#x: size %d, key %d, %v; want %d bytes, %v", addr, size, key, ok, n, in)
		}
	}
	largest := 0
	for step := range 20_000 {
		most := 10 + 990*(step/4000%2) // Many and few blocks by turns.
		addr := uintptr(0x10000 + 8*rng.IntN(1<<16))
		if len(addrs) >= most || len(addrs) > 0 && rng.IntN(3) == 0 {
			i := rng.IntN(len(addrs))
			gone := addrs[i]
			x.drop(gone)
			delete(want, gone)
			addrs[i] = addrs[len(addrs)-1]
			addrs = addrs[:len(addrs)-1]
			check(gone)
		} else if want[addr] == 0 {
			want[addr] = uintptr(1 + step)
			x.put(addr, want[addr], want[addr]+1)
			addrs = append(addrs, addr)
		}
		check(addr)
		for _, none := range []uintptr{0, indexGone, addr + 1} {
			check(none)
		}
		if table := *x.table.Load(); len(table) > largest {
			largest = len(table)
		}
	}
	for _, addr := range addrs {
		check(addr)
	}
	if x.live != len(addrs) || x.used < x.live || largest > 4096 {
		t.Errorf("%d live and %d used entries for %d blocks, in tables of up to %d entries", x.live, x.used, len(addrs), largest)
	}
}

// TestBlockIndexEntriesKeepTheirType frees blocks and enters others of another size and type at the
// same addresses. A look-up reads the address, the size and the type one after the other: the entry
// that it reads must keep the size and the type of the block whose address it met.
func TestBlockIndexEntriesKeepTheirType(t *testing.T) {
	const addr = 0x10000
	for _, next := range []struct {
		size, key uintptr
		reused    bool
	}{{64, 7, true}, {16, 7, false}, {64, 0, false}, {16, 9, false}} {
		var x blockIndex
		x.put(addr, 64, 7)
		var e *indexEntry
		for i, table := 0, *x.table.Load(); e == nil; i++ {
			if table[i].addr.Load() == addr {
				e = &table[i]
			}
		}
		x.drop(addr)
		x.put(addr, next.size, next.key)
		if e.size != 64 || e.key != 7 || (e.addr.Load() == addr) != next.reused {
			t.Errorf("the entry of 64 bytes of type 7 at %#x is that of %d bytes of type %d at %#x after the put of %d bytes of type %d",
				uintptr(addr), e.size, e.key, e.addr.Load(), next.size, next.key)
		}
		if size, key, ok := x.find(addr); !ok || size != next.size || key != next.key {
			t.Errorf("find: %d bytes of type %d, %v; want %d of %d", size, key, ok, next.size, next.key)
		}
	}
}

// TestForgedRefToNoBlock resolves numbers that the index has a meaning of its own for.
func TestForgedRefToNoBlock(t *testing.T) {
	g, k := trackedAlone()
	for range 1000 { // Some lie in the part of the index that the numbers are looked for in.
		addr, err := g.alloc(request{kind: k, n: 4096, align: 8})
		if err != nil {
			t.Fatal(err)
		}
		g.freeBlock(addr, "Free")
	}
	h := g.h
	h.begins = &g.blocks.begins
	for _, off := range []uint64{0, 1, 8, 1 << 50, 1<<63 + 1} {
		if d := describe[[16]byte](); caught(func() { h.resolve(off, d) }) == nil {
			t.Errorf("the Ref %#x leads to a value", off)
		}
	}
}

// TestBlockIsIndexedBeforeItCanBeTaken: a stale free can name the address of a block that is noted at
// this moment. If it could take the block before the index has it, it would search the index for ever.
func TestBlockIsIndexedBeforeItCanBeTaken(t *testing.T) {
	var table blockTable
	const addr = 0x10000
	if caught(func() { table.note(block{addr: addr, size: 64}) }) == nil {
		t.Fatal("the index takes a block without a kind") // The panic ends the note there.
	}
	if _, ok := table.find(addr); ok {
		t.Error("a free can take a block that the index does not have yet")
	}
}
