// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/sizeclass"
)

// TestLimitMeanwhile: a request at a limit is refused while another one, which fills the limit, is
// still being served: large blocks and growth in place.
func TestLimitMeanwhile(t *testing.T) {
	needOwnMemory(t)
	const block, limit = 60 << 20, 100 << 20
	for _, c := range []struct {
		name string
		fill func(h *heap) error
	}{
		{"Alloc", func(h *heap) error {
			_, err := h.allocLarge(h.plain, block, 8, false)
			return err
		}},
		{"Realloc", func(h *heap) error {
			addr, err := h.allocLarge(h.plain, block, 8, false)
			if err != nil {
				return err
			}
			for _, n := range []uintptr{1 << 20, block} {
				if room, _ := h.server().resize("Realloc", addr, n, n, nil); room < n {
					return fmt.Errorf("a block that is to hold %d bytes in place holds %d", n, room)
				}
			}
			return nil
		}},
	} {
		var h *heap
		var meanwhile []error
		again := func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.held >= block {
				meanwhile = append(meanwhile, h.checkLimit(h.bin(h.plain, largeClass), block))
			}
		}
		fake := &fakemem.Fake{}
		h = releasedHeap(t, fake).heap
		h.limit.Store(limit)
		h.growthHook = again
		if err := c.fill(h); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(meanwhile) == 0 {
			t.Errorf("%s: nothing was asked for meanwhile", c.name)
		}
		for _, err := range meanwhile {
			if !errors.Is(err, ErrLimit) {
				t.Errorf("%s: of a limit of %d bytes, of which %d are being allocated, %d more are granted", c.name, limit, block, block)
			}
		}
		if n := h.stats().InUse; n != block {
			t.Errorf("%s: %d bytes are in use, want %d", c.name, n, block)
		}
	}
}

// allocAgain is a request for which there is room. It repeats one that is refused, because a free that
// is under way may come too late: its thread may be stopped. A request that is never served ends at the
// timeout of the test.
func allocAgain(h *heap, q request, n int) uintptr {
	for {
		if b, err := h.allocBytes("Alloc", n, q); err == nil {
			return addrOf(b)
		}
		runtime.Gosched()
	}
}

// TestRoomIsFound: goroutines allocate and free a block each, and a limit leaves room for all of these
// blocks. One slab has all of the free blocks, so while a goroutine takes one, the slab is in no list.
func TestRoomIsFound(t *testing.T) {
	needOwnMemory(t)
	const workers, rounds = 3, 3000
	for _, n := range []int{4096, 32 << 10} { // Groups of so few blocks that no free checks one out.
		for _, on := range []string{"P", "Local"} {
			t.Run(fmt.Sprint(n, on), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
				h := releasedHeap(t, &fakemem.Fake{})
				var locals [workers]*Local
				if on == "Local" {
					for i := range locals {
						locals[i] = openLocal(t, h)
					}
				}
				q := h.request(8, false)
				first, err := h.allocBytes("Alloc", n, q)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := h.allocBytes("Alloc", 1<<20, q); err != nil { // So the spans hold more than the limit.
					t.Fatal(err)
				}
				h.flushPs()
				h.SetLimit(inUseOf(h.heap, nil) + workers*int64(h.spanOf(addrOf(first)).size))
				var group sync.WaitGroup
				for _, l := range locals {
					q := q
					q.local = l
					group.Go(func() {
						for i := range rounds {
							addr := allocAgain(h.heap, q, n)
							if i%16 == 0 {
								runtime.Gosched()
							}
							h.freeSlow(addr, l, "Free")
						}
					})
				}
				group.Wait()
			})
		}
	}
}

// TestUnsureSums: while a slot passes blocks on, the sum of the blocks in use may be too low. A limit that
// leaves room for one block then gives a holder one block, not a slab whose other blocks it keeps.
func TestUnsureSums(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	l, other := openLocal(t, h), openLocal(t, h)
	b := h.bin(h.plain, sizeclass.Of(4096))
	q := h.request(8, false)
	if _, err := h.allocBytes("Alloc", 4096, q); err != nil {
		t.Fatal(err)
	}
	if _, err := h.allocBytes("Alloc", 1<<20, q); err != nil { // So the spans hold more than the limit.
		t.Fatal(err)
	}
	h.flushPs()
	h.SetLimit(inUseOf(h.heap, nil) + 4096)
	passes := h.cache(other.id).slot(b)
	passes.start(b)
	passes.out -= 1 + uintptr(64<<10/b.size)
	passes.out ^= passing // They are in the bin's count as well.
	q.local = l
	if _, err := h.allocBytes("Alloc", 4096, q); err != nil {
		t.Fatal(err)
	}
	if s := h.cache(l.id).slot(b); s.cur != 0 {
		t.Error("a slab is given away because a sum was too low")
	}
	if passes.out = 0; inUseOf(h.heap, nil) != h.limit.Load() {
		t.Errorf("%d bytes are in use, want %d", inUseOf(h.heap, nil), h.limit.Load())
	}
	if _, err := h.allocBytes("Alloc", 4096, q); !errors.Is(err, ErrLimit) {
		t.Errorf("beyond the limit: %v", err)
	}
}

// handOver has goroutines request blocks of n bytes, and no more than so many at a time; other
// goroutines free them.
func handOver(h *heap, q request, n, atOnce int) {
	room, full := make(chan bool, atOnce), make(chan uintptr, atOnce)
	for range atOnce {
		room <- true
	}
	var makers, takers sync.WaitGroup
	for range 4 {
		makers.Go(func() {
			for range 4000 {
				<-room
				full <- allocAgain(h, q, n)
			}
		})
		takers.Go(func() {
			for addr := range full {
				h.freeSlow(addr, nil, "Free")
				room <- true
			}
		})
	}
	makers.Wait()
	close(full)
	takers.Wait()
}

// TestRoomOfPs: a limit leaves room for all blocks, and there are as many slabs as it allows. Some Ps have
// the free blocks, and requests on others, each of which takes these back, are as many as the Ps.
func TestRoomOfPs(t *testing.T) {
	needOwnMemory(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	for _, n := range []int{1000, 4096, 32 << 10} {
		h := releasedHeap(t, &fakemem.Fake{})
		b := h.bin(h.plain, sizeclass.Of(uintptr(n)))
		const slabs = 16
		h.SetLimit(slabs*int64(b.granules)*granule + 100)
		handOver(h.heap, h.request(8, false), n, slabs*int(b.blocks)-8)
	}
}

// TestRoomOfEmptySlabs: a limit leaves room for one slab. While a goroutine gives it back, because all of
// its blocks are free, another one needs it.
func TestRoomOfEmptySlabs(t *testing.T) {
	needOwnMemory(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for _, n := range []int{4096, 64 << 10} {
		h := releasedHeap(t, &fakemem.Fake{})
		q := request{kind: h.newKind(nil, nil), align: 8}
		b := h.bin(q.kind, sizeclass.Of(uintptr(n)))
		b.slotted = false // Bins with slots keep a slab.
		h.SetLimit(int64(b.granules)*granule + 100)
		handOver(h.heap, q, n, 3)
	}
}

// TestLimitOfTypedRanges: a typed block in the address space of a larger one counts with its own length.
func TestLimitOfTypedRanges(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	q := request{kind: h.newKind(nil, &typeDesc{typ: reflect.TypeFor[flags]()}), align: 8, zero: true}
	const large, small, count = 1 << 20, 880 << 10, 4
	var freed []uintptr
	for range count {
		b, err := h.allocBytes("Alloc", large, q)
		if err != nil {
			t.Fatal(err)
		}
		freed = append(freed, addrOf(b))
	}
	for _, addr := range freed {
		h.freeSlow(addr, nil, "Free")
	}
	const limit = count * small
	h.SetLimit(limit)
	blocks := allocUntilRefused(t, h.heap, q, small)
	if len(blocks) != count {
		t.Errorf("%d blocks of %d bytes have room in %d, want %d", len(blocks), small, limit, count)
	}
	if used := inUseOf(h.heap, nil); used != limit {
		t.Errorf("%d bytes are in use with a limit of %d", used, limit)
	}
	for _, b := range blocks {
		if !slices.Contains(freed, addrOf(b)) {
			t.Errorf("a block at %#x lies in no range that was freed", addrOf(b))
		}
	}
}

// optionsOfPurposes are those that decide how a block is freed.
var optionsOfPurposes = map[string]PurposeOptions{
	"plain": {}, "wiped": {Wipe: true},
}

// TestReallocShrinksAtLimit: no limit refuses a length that is smaller.
func TestReallocShrinksAtLimit(t *testing.T) {
	for name, o := range optionsOfPurposes {
		p := NewPurposeWith("shrinks, "+name, o)
		for _, from := range []int{100, 5000, 64 << 10, 65 << 10, 1 << 20} {
			for _, to := range []int{1, 40, 2000, 30 << 10, 64 << 10, 70 << 10, 600 << 10} {
				if to >= from {
					continue
				}
				b, err := p.TryAlloc(from)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				fill(b, 3)
				want := slices.Clone(b[:to])
				p.SetLimit(1)
				c, err := TryRealloc(b, to)
				p.SetLimit(0)
				if err != nil {
					t.Errorf("%s: %d bytes to %d: %v", name, from, to, err)
					c = b
				} else if !slices.Equal(c, want) || cap(c) != to {
					t.Errorf("%s: %d bytes to %d: other bytes, or a capacity of %d", name, from, to, cap(c))
				}
				c = Realloc(c, from)
				if o != (PurposeOptions{}) && !allZero(c[to:]) && err == nil {
					t.Errorf("%s: %d bytes to %d: the bytes that were cut off are back", name, from, to)
				}
				Free(c)
			}
		}
		if n := account(t, p.Name()).InUse; n != 0 {
			t.Errorf("%s: %d bytes are in use at the end", name, n)
		}
	}
}

// TestRefusalsChangeNothing compares the counters before and after refusals of each kind of request, by
// the limit of all blocks and by that of a purpose.
func TestRefusalsChangeNothing(t *testing.T) {
	for name, o := range optionsOfPurposes {
		p := NewPurposeWith("refuses, "+name, o)
		blocks := [][]byte{p.Alloc(100), p.Alloc(40 << 10), p.Alloc(3 << 20)}
		short, long := For[flags](p).MakeSlice(100, 100), For[flags](p).MakeSlice(100_000, 100_000)
		l := NewLocal()
		before := ReadStats()
		check := func(call string, err error) {
			t.Helper()
			if !errors.Is(err, ErrLimit) && !errors.Is(err, ErrOutOfMemory) {
				t.Errorf("%s, %s: error %v", name, call, err)
			}
			after := ReadStats()
			if after.InUse != before.InUse {
				t.Errorf("%s, %s: %d bytes are in use, %d before", name, call, after.InUse, before.InUse)
			}
			for i, b := range before.Purposes {
				if a := after.Purposes[i]; a.InUse != b.InUse {
					t.Errorf("%s, %s: %+v, before %+v", name, call, a, b)
				}
			}
		}
		for _, of := range []string{"all", "the purpose"} {
			set := func(n int64) {
				if of == "all" {
					SetLimit(n)
				} else {
					p.SetLimit(n)
				}
			}
			most := before.InUse
			if of != "all" {
				most = account(t, p.Name()).InUse
			}
			set(most + 6<<20)
			const over = 12 << 20
			_, err := p.TryAlloc(over)
			check("Alloc", err)
			_, err = For[byte](p).Aligned(1<<20).TryMakeSlice(over, over)
			check("AllocAligned", err)
			_, err = p.TryAlloc(math.MaxInt)
			check("Alloc of all addresses", err)
			for _, b := range blocks {
				_, err = TryRealloc(b, over)
				check("Realloc", err)
			}
			_, err = For[flags](p).TryMakeSlice(over, over)
			check("MakeSlice", err)
			for _, s := range [][]flags{short, long} {
				check("Append", Try(func() { For[flags](p).Append(s, make([]flags, over/24)...) }))
			}
			if of == "all" {
				_, err = l.TryAlloc(over)
				check("Local.Alloc", err)
			}
			set(0)
		}
		l.Close()
		for _, b := range blocks {
			Free(b)
		}
		FreeSlice(short)
		FreeSlice(long)
	}
}
