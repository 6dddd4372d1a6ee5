// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// allocUntilRefused allocates blocks of n bytes until a request is refused.
func allocUntilRefused(t testing.TB, h *heap, q request, n int) (blocks [][]byte) {
	t.Helper()
	for {
		b, err := h.allocBytes("Alloc", n, q)
		if err != nil {
			return blocks
		}
		if blocks = append(blocks, b); len(blocks) > 1<<20 {
			t.Fatal("no request is refused")
		}
	}
}

// wantRefusals makes 100 requests that must fail with the error, and returns how many of them
// stopped the world.
func wantRefusals(t testing.TB, h *heap, q request, n int, want error) int64 {
	t.Helper()
	before := h.flushes.Load()
	for range 100 {
		if b, err := h.allocBytes("Alloc", n, q); !errors.Is(err, want) {
			t.Fatalf("a request of %d bytes: %d bytes and error %v, want %v", n, len(b), err, want)
		}
	}
	return h.flushes.Load() - before
}

// fewFlushes is how often 100 refusals may stop the world: once for a free block of their size, and
// once for empty slabs of other sizes.
const fewFlushes = 2

// TestRefusalsSeldomFlush: refusals in a row by a limit stop the world only if that brings something
// forth. At the end of memory each may.
func TestRefusalsSeldomFlush(t *testing.T) {
	needOwnMemory(t)
	const limit = 8 << 20
	for _, c := range []struct {
		name string
		n    int
		set  func(h *heap, fake *fakemem.Fake) (request, error)
	}{
		{"limit, small", 100, limitHeap}, {"limit, large", 100 << 10, limitHeap},
		{"limit, a slot's last block", 64 << 10, limitHeap},
		{"purpose, small", 100, limitPurpose}, {"purpose, large", 100 << 10, limitPurpose},
		{"memory, small", 100, limitMemory}, {"memory, large", 100 << 10, limitMemory},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &fakemem.Fake{}
			h := releasedHeap(t, fake).heap
			// Blocks of other sizes are free in slots and slabs, as in any program.
			var others [][]byte
			for n := 16; n < 64<<10; n += n/2 + 8 {
				b, err := h.allocBytes("Alloc", n, h.request(8, true))
				if err != nil {
					t.Fatal(err)
				}
				others = append(others, b)
			}
			q, want := c.set(h, fake)
			blocks := allocUntilRefused(t, h, q, c.n)
			if n := wantRefusals(t, h, q, c.n, want); n > fewFlushes && want == ErrLimit {
				t.Errorf("100 refusals in a row flushed the Ps %d times", n)
			}
			for _, b := range others {
				h.freeSlow(addrOf(b), nil, "Free")
			}
			blocks = append(blocks, allocUntilRefused(t, h, q, c.n)...)
			if n := wantRefusals(t, h, q, c.n, want); n > fewFlushes && want == ErrLimit {
				t.Errorf("100 refusals after frees of other sizes flushed the Ps %d times", n)
			}
			for _, b := range blocks {
				h.freeSlow(addrOf(b), nil, "Free")
			}
			if again := allocUntilRefused(t, h, q, c.n); len(again) < len(blocks) {
				t.Errorf("%d blocks the first time, %d after all were freed", len(blocks), len(again))
			}
		})
	}
}

func limitHeap(h *heap, _ *fakemem.Fake) (request, error) {
	h.limit.Store(8 << 20)
	return h.request(8, true), ErrLimit
}

func limitPurpose(h *heap, _ *fakemem.Fake) (request, error) {
	p := limited("refused", 8<<20)
	p.plain = h.newKind(p, nil)
	return request{kind: p.plain, align: 8, zero: true}, ErrLimit
}

func limitMemory(h *heap, fake *fakemem.Fake) (request, error) {
	fake.FailFrom(8, vmem.OpCommit, vmem.OpReserve)
	return h.request(8, true), ErrOutOfMemory
}

// TestRefusalsBesideLocal: a Local keeps free blocks, which a flush cannot take back. They are no
// reason to flush.
func TestRefusalsBesideLocal(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{}).heap
	l := openLocal(t, testHeap{h})
	q := h.request(8, true)
	q.local = l
	if _, err := h.allocBytes("Alloc", 100, q); err != nil {
		t.Fatal(err)
	}
	h.limit.Store(8 << 20)
	allocUntilRefused(t, h, h.request(8, true), 100)
	if l.cache.hottest().mask() == 0 {
		t.Fatal("the Local keeps no free block")
	}
	if n := wantRefusals(t, h, h.request(8, true), 100, ErrLimit); n > fewFlushes {
		t.Errorf("100 refusals in a row flushed the Ps %d times", n)
	}
	l.Close()
	if _, err := h.allocBytes("Alloc", 100, h.request(8, true)); err != nil {
		t.Errorf("what the Local gave back is refused: %v", err)
	}
}

// otherP acts as a P that runs no goroutine of this process: one with a number above GOMAXPROCS.
type otherP struct {
	h  *heap
	id int
}

func newOtherP(t testing.TB, h *heap, n int) otherP {
	t.Helper()
	p := otherP{h, runtime.GOMAXPROCS(0) + 8 + n}
	if err := h.makeCache(p.id); err != nil {
		t.Fatal(err)
	}
	return p
}

// alloc takes a block from the P's slot or the lists, or returns 0. It makes no slab.
func (p otherP) alloc(b *bin) uintptr {
	for {
		s := &p.h.cache(p.id).bins[b.id]
		s.start(b)
		f := s.refill(p.h, p.id)
		if f.left != 0 {
			p.h.afterFree(f.left)
		}
		if f.done != 0 {
			s.cur = 0
			p.h.uncacheSlab(f.done)
		}
		if f.addr != 0 {
			return f.addr
		}
		sp := b.takeListed()
		if sp == nil {
			return 0
		}
		s.cur = sp.addr()
	}
}

func (p otherP) free(t testing.TB, b *bin, addr uintptr) {
	t.Helper()
	c := p.h.cache(p.id)
	if c.push(b.id, addr) {
		return
	}
	var f freeing
	if how := f.free(p.h, addr, p.h.spanOf(addr), b, p.id, c); how != freedBlock {
		t.Fatalf("a free of %#x gives %d", addr, how)
	}
	for _, slab := range []uintptr{f.left, f.freed} {
		if slab != 0 {
			p.h.afterFree(slab)
		}
	}
}

// TestFreedBlocksAreNeverRefused: at a limit, any P frees and allocates blocks of one size in any
// order. Whenever one is free, a request must get it, and when none is, it must be refused.
func TestFreedBlocksAreNeverRefused(t *testing.T) {
	needOwnMemory(t)
	for _, n := range []int{16, 100, 5000, 40 << 10} {
		h := releasedHeap(t, &fakemem.Fake{}).heap
		q := h.request(8, false)
		h.limit.Store(3 << 20)
		var live []uintptr
		for _, b := range allocUntilRefused(t, h, q, n) {
			live = append(live, addrOf(b))
		}
		total := len(live)
		b := h.binByID(h.spanOf(live[0]).bin)
		ps := make([]otherP, 5)
		for i := range ps {
			ps[i] = newOtherP(t, h, i)
		}
		rnd := rand.New(rand.NewPCG(1, uint64(n)))
		take := func(i int) (addr uintptr) {
			addr, live[i] = live[i], live[len(live)-1]
			live = live[:len(live)-1]
			return addr
		}
		for range 400 {
			// Some neighbours are freed, one or a whole slab of them, on some Ps.
			i, count := rnd.IntN(len(live)+1), 1+rnd.IntN(4)
			if rnd.IntN(8) == 0 {
				count = 100
			}
			p := ps[rnd.IntN(len(ps))]
			for ; count > 0 && i < len(live); count-- {
				if addr := take(i); rnd.IntN(8) == 0 {
					h.freeSlow(addr, nil, "Free")
				} else {
					p.free(t, b, addr)
				}
				if rnd.IntN(4) == 0 {
					p = ps[rnd.IntN(len(ps))]
				}
			}
			for range rnd.IntN(3) {
				if addr := ps[rnd.IntN(len(ps))].alloc(b); addr != 0 {
					live = append(live, addr)
				}
			}
			if rnd.IntN(30) == 0 {
				h.purge.run(true)
			}
			for range rnd.IntN(3) { // Sometimes until nothing is free, sometimes not.
				for len(live) < total {
					got, err := h.allocBytes("AllocUninit", n, q)
					if err != nil {
						t.Fatalf("%d bytes: %d of %d blocks are in use, and a request is refused: %v", n, len(live), total, err)
					}
					live = append(live, addrOf(got))
				}
				if got, err := h.allocBytes("AllocUninit", n, q); err == nil {
					t.Fatalf("%d bytes: more blocks than the limit allows: %d bytes", n, len(got))
				}
			}
		}
		if h.flushes.Load() == 0 {
			t.Errorf("%d bytes: no request needed a flush, and the test shows nothing", n)
		}
	}
}

// TestUntoldGroupsAreNotRefused: a P that frees one group of a slab after the other is the only one
// to know of the free blocks, because it tells the slab when it leaves it. A request gets them all
// the same, though the P's last group has none.
func TestUntoldGroupsAreNotRefused(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{}).heap
	q := h.request(8, false)
	h.limit.Store(1 << 20)
	blocks := allocUntilRefused(t, h, q, 100)
	sp := h.spanOf(addrOf(blocks[0]))
	b := h.binByID(sp.bin)
	p, other := newOtherP(t, h, 0), newOtherP(t, h, 1)
	at := func(g, i uint32) uintptr { return sp.groupBase(g) + uintptr(i*sp.size) }

	p.free(t, b, at(0, 0))
	p.free(t, b, at(0, 1)) // The second free checks the group out.
	if other.alloc(b) != 0 || sp.state.Load() != spanUnlisted {
		t.Fatal("the slab has free blocks for the other P")
	}
	for i := uint32(2); i < sp.count(0); i++ {
		p.free(t, b, at(0, i))
	}
	p.free(t, b, at(1, 0)) // The P moves on to the neighbour.
	s := &h.cache(p.id).bins[b.id]
	for s.mask() != 0 {
		s.setMask(s.mask() & (s.mask() - 1)) // As pop does.
	}
	if !s.uncounted || freeBits(unsafex.Load64(sp.word(0))) != sp.mask(0) {
		t.Fatal("the first group is not free, or the slab was told")
	}
	for range sp.count(0) {
		if _, err := h.allocBytes("AllocUninit", 100, q); err != nil {
			t.Fatalf("a group is free, and a request is refused: %v", err)
		}
	}
}

// TestSlabsOfOtherSizesAreNeverRefused: where the machine has no more memory, slabs whose blocks
// are all free serve a request of another size, though Ps hold some of the blocks.
func TestSlabsOfOtherSizesAreNeverRefused(t *testing.T) {
	needOwnMemory(t)
	fake := &fakemem.Fake{}
	h := releasedHeap(t, fake).heap
	ps := []otherP{newOtherP(t, h, 0), newOtherP(t, h, 1), newOtherP(t, h, 2)}
	var small [][]byte
	for range 5000 {
		b, err := h.allocBytes("Alloc", 100, h.request(8, true))
		if err != nil {
			t.Fatal(err)
		}
		small = append(small, b)
	}
	b := h.binByID(h.spanOf(addrOf(small[0])).bin)
	fake.FailFrom(1, vmem.OpCommit, vmem.OpReserve)
	const large = 70 << 10
	allocUntilRefused(t, h, h.request(8, true), large)
	allocUntilRefused(t, h, h.request(8, true), 20<<10)
	wantRefusals(t, h, h.request(8, true), large, ErrOutOfMemory)
	for i, c := range small {
		ps[i*len(ps)/len(small)].free(t, b, addrOf(c))
	}
	got := allocUntilRefused(t, h, h.request(8, true), large)
	if want := 5000 * 112 / (80 << 10) * 9 / 10; len(got) < want {
		t.Errorf("%d blocks of %d bytes fit where 5000 of 112 were freed, want %d", len(got), large, want)
	}
	wantRefusals(t, h, h.request(8, true), large, ErrOutOfMemory)
}

// BenchmarkBesideRefusals measures pairs of New and Delete in one goroutine: while another one
// computes, and while another one asks without end for blocks that its purpose's limit refuses.
func BenchmarkBesideRefusals(b *testing.B) {
	needSlabs(b)
	for n := 16; n < 64<<10; n += n/2 + 8 { // Slots hold free blocks of other sizes, as in any program.
		defer Free(Alloc(n))
	}
	b.Run("computing", func(b *testing.B) {
		var sum atomic.Int64
		pairsBeside(b, func() { sum.Add(1) })
	})
	for _, n := range []int{100, 100 << 10} {
		b.Run(fmt.Sprintf("%d bytes refused", n), func(b *testing.B) {
			p := NewPurpose(fmt.Sprintf("refused %d", n))
			defer p.SetLimit(p.SetLimit(1 << 20))
			for {
				c, err := p.TryAlloc(n)
				if err != nil {
					break
				}
				defer Free(c)
			}
			pairsBeside(b, func() {
				if _, err := p.TryAlloc(n); err == nil {
					b.Error("beyond the limit")
				}
			})
		})
	}
}

// pairsBeside measures pairs of New and Delete while another goroutine calls f.
func pairsBeside(b *testing.B, f func()) {
	stop, done := make(chan bool), make(chan int)
	flushes := std.flushes.Load()
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				done <- n
				return
			default:
				f()
			}
		}
	}()
	for b.Loop() {
		Delete(New[[8]uint64]())
	}
	close(stop)
	n := float64(<-done)
	b.ReportMetric(n/b.Elapsed().Seconds(), "calls/s")
	b.ReportMetric(float64(std.flushes.Load()-flushes)/n, "flushes/call")
}
