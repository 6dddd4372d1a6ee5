// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

func newHeap(mem vmem.Memory) *heap {
	h := &heap{mem: mem}
	h.init()
	return h
}

func (h *heap) init() {
	h.onGrowth = func() {}
	h.closePs(maxPs)
	h.purge.init(h)
	bins := make([]*bin, 0, sizeclass.Count+1)
	h.bins.Store(&bins)
	h.active.Store(new([]*cache))
	h.who = "offheap"
	h.plain = &kind{budgets: []*budget{&h.budget}}
	h.kinds = append(h.kinds, h.plain)
	for c := range uint32(sizeclass.Count) {
		h.newBin(h.plain, c) // Bin numbers of plain are the classes.
	}
	h.newBin(h.plain, largeClass)
}

// allocate serves any request. The result is the address of at least q.n bytes.
func (h *heap) allocate(q request) (uintptr, error) {
	h.start()
	if t := h.serving(); t != nil {
		return t.alloc(q)
	}
	class := classFor(q)
	if class == largeClass {
		if addr := h.guardLarge(q); addr != 0 {
			return addr, nil
		}
		return h.allocLarge(q.kind, q.n, q.align, q.zero)
	}
	addr, err := h.allocSlow(h.bin(q.kind, class), q, 0)
	if err != nil {
		return 0, err
	}
	if q.zero {
		unsafex.Clear(addr, q.n)
	}
	return addr, nil
}

// allocBytes is allocate for a slice of bytes.
func (h *heap) allocBytes(op string, n int, q request) ([]byte, error) {
	if n < 0 {
		panic(fmt.Errorf("offheap: %s: negative length %d", op, n))
	}
	if n == 0 {
		return unsafex.Bytes(zeroSizeAddr(), 0), nil
	}
	q.n = uintptr(n)
	addr, err := h.allocate(q)
	if err != nil {
		return nil, err
	}
	return unsafex.Bytes(addr, q.n), nil
}

// classFor is the class of the block for q.
func classFor(q request) uint32 {
	if q.align <= 8 && q.n <= sizeclass.Max {
		return sizeclass.Of(q.n)
	}
	if q.align <= slabAlign {
		if c, ok := sizeclass.OfAligned(q.n, q.align); ok {
			return c
		}
	}
	return largeClass
}

// allocSlow allocates a block of b for q. The fast path has found no block in the holder's slot, or
// the slot's count has run out. key is the key of the type that New was called for, or 0.
//
// The life cycle of an allocation:
//
//  1. The holder refills its slot: from blocks that others freed into its group, then from the next
//     group of its current slab. If the slot has a block now, the allocation is done.
//  2. If the allocation is to be sampled, sample serves it. If sample cannot, the allocation begins
//     again as an ordinary one.
//  3. The current slab has no blocks left. supply finds another one in the bin's list or makes one
//     and makes it the holder's current slab, and the allocation begins again. If the holder asks
//     rarely, supply gives it a group or a block of a slab instead; see portion.
//  4. If a limit or the end of memory is in the way, the allocation is made once more, after a
//     flush if that may help; see retry.
//
// A holder without a cache gets one first. If there is no memory for it, and for bins without
// slots, allocUnslotted takes a single block from a slab. Nothing is called while the holder is
// pinned that blocks, allocates or panics: a slab that a slot leaves is returned afterwards.
//
//go:noinline
func (h *heap) allocSlow(b *bin, q request, key uintptr) (uintptr, error) {
	l := q.local
	for refused := false; ; {
		pin, id, c := h.enter(l)
		s := c.slot(b)
		if s == nil {
			leave(pin, l)
			// Without memory for a cache, free blocks may suffice.
			if b.slotted && (l != nil || id < maxPs) && h.makeSlot(id, c, b) == nil {
				continue
			}
			return h.allocUnslotted(b, q)
		}
		s.start(b)
		c.slow++
		c.noteRefill(s, key)
		if refused {
			s.setLeft(s.left() + 1) // For this allocation, which was not sampled after all.
			refused = false
		}
		f := s.refill(h, id)
		fault := h.slotFault(b, c, id)
		leave(pin, l)
		checkSlot(b, fault)
		if f.left != 0 {
			h.afterFree(f.left)
		}
		if f.sampled {
			f.addr = h.sample(b, q)
			refused = f.addr == 0
		}
		if f.addr != 0 {
			return f.addr, nil
		}
		if f.sampled {
			continue
		}
		if addr, err := h.supply(b, l, f.done, h.portionFor(b, f.rare)); err != nil || addr != 0 {
			return addr, err
		}
	}
}

// refilling is what refill found: a block, or that the allocation is to be sampled, or neither.
// left is the slab that the slot has left, or 0, which the caller returns. done is the slab in use
// if it has no more blocks for the slot, or 0; see supply. rare is what slot.asksRarely said.
type refilling struct {
	addr, left, done uintptr
	sampled, rare    bool
}

// refill finds a block for its holder in what the slot knows: its group and its slab. The holder
// is pinned: nothing here blocks.
func (s *slot) refill(h *heap, id int) (f refilling) {
	if f.sampled = s.due(h.rates.Load()); f.sampled {
		return f
	}
	if f.addr = s.pop(); f.addr != 0 {
		return f
	}
	var ok bool
	if ok, f.left = s.retake(h); ok {
		f.addr = s.pop()
		return f
	}
	if s.cur == 0 {
		f.rare = s.asksRarely(h)
		return f
	}
	sp := spanAt(s.cur)
	for g := uint32(sp.hint); g < sp.groups(); g++ {
		if !s.checkOutFree(h, sp, g, id) {
			continue
		}
		sp.hint = uint16(g + 1)
		f.addr = s.pop()
		return f
	}
	f.done, f.rare = s.cur, s.asksRarely(h)
	return f
}

// supply gets free blocks of b from the list or from a new slab, in place of the slab done, which
// the holder has used up. The address can be 0 without an error: then the caller tries again.
func (h *heap) supply(b *bin, l *Local, done uintptr, want portion) (addr uintptr, err error) {
	h.uninstall(b, l, done)
	addr, err = h.supplyOnce(b, l, want)
	if err != nil {
		err = h.retry(b, err, func() (err error) {
			addr, err = h.supplyOnce(b, l, oneBlock)
			return err
		})
	}
	h.followGrowth()
	return addr, err
}

// Shared slabs.
//
// A holder that has a slab of its own keeps the slab's free blocks from other holders. With 64 Ps
// and sixty sizes, these are several times the blocks of a program that has 10 MiB in use. So
// holders share slabs while they ask rarely and the bin has few slabs: supply gives a holder one
// group of a slab, or one block of more than 2 KiB, and other holders get the rest.

// A portion is what supply gets for a holder.
type portion uint8

const (
	wholeSlab portion = iota // A slab of its own.
	oneGroup                 // A group of a slab that others use, too.
	oneBlock
)

// portionFor is what a holder gets. rare says that the holder asks rarely.
//
// Near a limit holders always share slabs: a holder with a slab of its own would keep the last free
// blocks from others, which would flush the Ps for them, and cannot flush a Local.
func (h *heap) portionFor(b *bin, rare bool) portion {
	switch {
	case (!rare || b.slabs.Load() >= fewSlabs*int64(len(*h.active.Load()))) && !b.limitReached():
		return wholeSlab
	case b.shift < 3:
		return oneBlock // A group has fewer than eight blocks.
	}
	return oneGroup
}

func (h *heap) supplyOnce(b *bin, l *Local, want portion) (addr uintptr, err error) {
	if want != wholeSlab {
		b.sharing.Lock()
		defer b.sharing.Unlock()
	}
	if want == oneGroup {
		if addr, ok := h.takeGroup(b, l); ok {
			return addr, nil
		}
	}
	sp, err := h.slab(b)
	switch {
	case err != nil:
	case want == oneBlock:
		if addr = h.takeShared(b, sp); addr != 0 {
			h.countDown(b, l)
		}
	case want == oneGroup:
		addr, _ = h.groupOf(b, l, sp)
		h.uncacheSlab(sp.addr())
	default:
		h.install(b, l, sp)
	}
	return addr, err
}

// takeGroup checks out a group of a listed slab for the holder and returns a block of it. It
// reports false if no listed slab has a group with free blocks. The address can be 0 with true:
// then the caller tries again.
//
// takeGroup holds the bin's lock to the end, so no slab is freed meanwhile. The holder is pinned
// within groupOf alone.
func (h *heap) takeGroup(b *bin, l *Local) (addr uintptr, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.list != 0 {
		sp := spanAt(b.list)
		if addr, ok := h.groupOf(b, l, sp); ok {
			return addr, true
		}
		b.remove(sp)
		invariants.Window()
		sp.state.Store(spanUnlisted)
		invariants.Window()
		// A block may have become free after groupOf. Its free saw a listed slab and did not list
		// it.
		if sp.hasFree() {
			b.push(sp)
		}
	}
	return 0, false
}

// groupOf is takeGroup for one slab. The caller holds the bin's lock, or the slab is its current
// one.
func (h *heap) groupOf(b *bin, l *Local, sp *span) (addr uintptr, ok bool) {
	pin, id, c := h.enter(l)
	defer leave(pin, l)
	s := c.slot(b)
	if s == nil || s.base != 0 {
		return 0, true // A flush took the cache, or the goroutine runs on another P now.
	}
	s.start(b)
	for g := range sp.groups() {
		if s.checkOutFree(h, sp, g, id) {
			return s.pop(), true
		}
	}
	return 0, false
}

// install hands a current slab to the holder, unless that has got one in the meantime.
func (h *heap) install(b *bin, l *Local, sp *span) {
	pin, _, c := h.enter(l)
	if s := c.slot(b); s != nil && s.cur == 0 {
		s.start(b) // It may be that of another P than the one that asked.
		s.cur = sp.addr()
		leave(pin, l)
		return
	}
	leave(pin, l)
	h.uncacheSlab(sp.addr())
}

// uninstall ends the use of the slab done, if it is the holder's current one, and not 0.
func (h *heap) uninstall(b *bin, l *Local, done uintptr) {
	if done == 0 {
		return
	}
	pin, _, c := h.enter(l)
	s := c.slot(b)
	mine := s != nil && s.cur == done
	if mine {
		s.cur = 0
	}
	leave(pin, l)
	if mine {
		h.uncacheSlab(done)
	}
}

// allocUnslotted serves bins and goroutines without slots.
func (h *heap) allocUnslotted(b *bin, q request) (uintptr, error) {
	if r := h.rates.Load(); r != nil && r.Gap(uintptr(b.size)) == 0 {
		if addr := h.sample(b, q); addr != 0 {
			return addr, nil
		}
	}
	return h.allocShared(b)
}

// allocShared takes one block straight from a slab: for bins and goroutines without slots.
func (h *heap) allocShared(b *bin) (uintptr, error) {
	for {
		if addr, err := h.supply(b, nil, 0, oneBlock); err != nil || addr != 0 {
			return addr, err
		}
	}
}

// countDown counts a block that the holder did not get through its slot, so that it brings the next
// sampled block nearer, too.
func (h *heap) countDown(b *bin, l *Local) {
	pin, _, c := h.enter(l)
	if s := c.slot(b); s != nil && s.size != 0 && s.left() != 0 {
		s.setLeft(s.left() - 1)
	}
	leave(pin, l)
}
