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
				if room, _ := h.resize("Realloc", addr, n, n, nil); room < n {
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
			if h.held.Load() >= block {
				meanwhile = append(meanwhile, h.plain.checkLimit(block))
			}
		}
		fake := &fakemem.Fake{}
		h = releasedHeap(t, fake).heap
		h.limit.Store(limit)
		h.onGrowth = again
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

// TestRoomIsFound: goroutines allocate and free a block each, and a limit leaves room for
// one slab, which has all of the free blocks. While a goroutine takes one, the slab is in no list.
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
				h.flushPs()
				h.SetLimit(int64(h.spanOf(addrOf(first)).bytes()))
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

// phaseLimit is the limit of the phases below.
const phaseLimit = 4 << 20

// inUseOf is the bytes in use of p, or of all with nil.
func inUseOf(h *heap, p *purposeState) (n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range *h.bins.Load() {
		if p == nil || b.kind.purpose == p {
			n += h.inUse(b)
		}
	}
	return n
}

// limited is a purpose with a limit.
func limited(name string, limit int64) *purposeState {
	p := &purposeState{name: name}
	p.limit.Store(limit)
	return p
}

// TestLimitOverPhases: a program fills the limit with blocks of one size after the other and frees them.
// Spans never have more bytes than the limit, and each size gets all of it, but for a slab of each size
// where a Local keeps one, and what is left over in slabs.
func TestLimitOverPhases(t *testing.T) {
	needOwnMemory(t)
	for _, of := range []string{"heap", "purpose"} {
		for _, on := range []string{"P", "Local"} {
			t.Run(of+", "+on, func(t *testing.T) {
				h := releasedHeap(t, &fakemem.Fake{})
				q, g := h.request(8, false), &h.budget
				if of == "purpose" {
					p := limited("phases", 0)
					q.kind, g = h.newKind(p, nil), &p.budget
				}
				if on == "Local" {
					q.local = openLocal(t, h)
				}
				h.setLimit(g, phaseLimit)
				lost := int64(0)
				for _, n := range []int{256, 1024, 200, 40 << 10, 100 << 10, 256, 5000} {
					blocks := allocUntilRefused(t, h.heap, q, n)
					sp := h.spanOf(addrOf(blocks[0]))
					used := int64(len(blocks)) * int64(max(sp.size, uint32(n)))
					if held := g.held.Load(); held > phaseLimit {
						t.Errorf("%d bytes: spans have %d bytes with a limit of %d", n, held, phaseLimit)
					}
					if on == "Local" {
						lost += int64(sp.bytes())
					}
					if least := phaseLimit*7/8 - lost; used < least {
						t.Errorf("%d bytes: refused with %d bytes in use of %d, want at least %d", n, used, phaseLimit, least)
					}
					if flushes := wantRefusals(t, h.heap, q, n, ErrLimit); flushes > fewFlushes {
						t.Errorf("%d bytes: 100 refusals in a row flushed the Ps %d times", n, flushes)
					}
					for _, b := range blocks {
						h.freeSlow(addrOf(b), q.local, "Free")
					}
				}
			})
		}
	}
}

// TestLimitOfPurposesTogether: goroutines with purposes of their own, some limited and on Locals, keep
// exactly within their limits and within that of the heap.
func TestLimitOfPurposesTogether(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	h.SetLimit(phaseLimit)
	var workers sync.WaitGroup
	for i := range 4 {
		p := limited(fmt.Sprint(i), int64(i%2)*phaseLimit/4)
		q := request{kind: h.newKind(p, nil), align: 8}
		if i < 2 {
			q.local = openLocal(t, h)
		}
		workers.Go(func() {
			for round := range 30 {
				n := []int{100, 2000, 30 << 10, 90 << 10}[(round+i)%4]
				var live []uintptr
				for len(live) < phaseLimit/n {
					b, err := h.allocBytes("Alloc", n, q)
					if err != nil {
						if !errors.Is(err, ErrLimit) {
							t.Error(err)
						}
						break
					}
					live = append(live, addrOf(b))
					if !p.leaves(0) || !h.leaves(0) {
						t.Errorf("purpose %d: %d bytes in spans with a limit of %d, and %d with one of %d", i, p.held.Load(), p.limit.Load(), h.held.Load(), h.limit.Load())
					}
				}
				for _, addr := range live {
					h.freeSlow(addr, q.local, "Free")
				}
			}
		})
	}
	workers.Wait()
}

// TestLimitSetLater: a limit that is set below the bytes of the spans holds from then on: what is free
// serves, and no span is added.
func TestLimitSetLater(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	q := h.request(8, false)
	h.SetLimit(2 * phaseLimit)
	blocks := allocUntilRefused(t, h.heap, q, 1000)
	h.SetLimit(phaseLimit)
	for i, b := range blocks {
		if i%2 == 0 {
			h.freeSlow(addrOf(b), nil, "Free")
		}
	}
	held := h.held.Load()
	if again := allocUntilRefused(t, h.heap, q, 1000); len(again) != (len(blocks)+1)/2 {
		t.Errorf("%d blocks fit where %d were freed", len(again), (len(blocks)+1)/2)
	}
	if _, err := h.allocBytes("Alloc", 2000, q); !errors.Is(err, ErrLimit) || h.held.Load() != held {
		t.Errorf("%v, and spans have %d bytes, %d before, with a limit of %d", err, h.held.Load(), held, phaseLimit)
	}
}

// TestRoomAfterRefusals: all blocks of a limit's only slab are freed, and a P keeps the slab. A request of
// another size gets its bytes, however many were refused before.
func TestRoomAfterRefusals(t *testing.T) {
	needOwnMemory(t)
	for refused := range 6 {
		for _, large := range []int{128, 65 << 10} {
			h := releasedHeap(t, &fakemem.Fake{})
			q := h.request(8, false)
			h.SetLimit(72 << 10)
			blocks := allocUntilRefused(t, h.heap, q, 64)
			for range refused {
				if _, err := h.allocBytes("Alloc", large, q); !errors.Is(err, ErrLimit) {
					t.Fatalf("a request of %d bytes: %v, want %v", large, err, ErrLimit)
				}
			}
			for _, b := range blocks {
				h.freeSlow(addrOf(b), nil, "Free")
			}
			if _, err := h.allocBytes("Alloc", large, q); err != nil {
				t.Errorf("%d bytes after %d refusals, while no block is in use: %v", large, refused, err)
			}
		}
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
	if held := h.held.Load(); held != limit {
		t.Errorf("%d bytes are held with a limit of %d", held, limit)
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
