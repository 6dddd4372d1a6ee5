package offheap

import (
	"math/bits"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// allocSlow finds a block of b where the fast path found none. l is the Local that asks, or nil; key
// is that of the type asked for, or 0.
//
//go:noinline
func (h *heap) allocSlow(b *bin, l *Local, key uintptr) (uintptr, error) {
	for flushed := false; ; {
		pin, id, c := h.enter(l)
		if c == nil || b.id >= nullBin {
			leave(pin, l)
			if b.id < nullBin && (l != nil || id < maxPs) {
				if err := h.makeCache(id); err != nil {
					return 0, err
				}
				continue
			}
			return h.allocShared(b)
		}
		s := &c.bins[b.id]
		s.start(b)
		c.served(s, key)
		addr, left, done := s.refill(h, id)
		leave(pin, l)
		if left != 0 {
			h.afterFree(left)
		}
		h.settleCurrent(done)
		if addr != 0 {
			return addr, nil
		}
		sp, err := h.slab(b)
		if err != nil {
			if !flushed && h.worthFlushing(b, int64(b.granules)*granule) {
				h.flushPs()
				flushed = true
				continue
			}
			return 0, err
		}
		h.install(b, l, sp)
	}
}

// slab is a current slab with free blocks: a listed one or a new one.
func (h *heap) slab(b *bin) (*span, error) {
	if sp := b.takeListed(); sp != nil {
		return sp, nil
	}
	words := (b.blocks + 1<<b.shift - 1) >> b.shift
	sp, dirty, err := h.allocSpan(b, int(b.granules), granule, words, func(sp *span) {
		for g := range words {
			initGroup(sp.word(g), sp.mask(g))
		}
		sp.full.Store(words)
		sp.state.Store(spanCurrent)
	})
	if err == nil && dirty.n > 0 {
		// Its free blocks lie on pages that hold memory: the purge must come by.
		sp.touched.Store(touchedNow)
		h.purge.arm()
	}
	return sp, err
}

// install hands a current slab to the holder, unless that has got one in the meantime.
func (h *heap) install(b *bin, l *Local, sp *span) {
	pin, _, c := h.enter(l)
	if c != nil && c.bins[b.id].cur == 0 {
		c.bins[b.id].cur = sp.addr()
		leave(pin, l)
		return
	}
	leave(pin, l)
	h.settleCurrent(sp.addr())
}

// refill finds a block for its holder in what the slot knows: its group and its slab. It also
// returns the slab that it has left and the one in use that has no more blocks for it, or 0, for
// the caller to settle. The holder is pinned: nothing here blocks.
func (s *slot) refill(h *heap, id int) (addr, left, done uintptr) {
	if addr := s.pop(); addr != 0 {
		return addr, 0, 0
	}
	ok, left := s.retake(h)
	if ok {
		return s.pop(), 0, 0
	}
	if s.cur == 0 {
		return 0, left, 0
	}
	sp := spanAt(s.cur)
	for g := uint32(sp.hint); g < sp.groups(); g++ {
		v := unsafex.Load64(sp.word(g))
		for holderOf(v) == 0 && freeBits(v) != 0 && !s.checkOut(sp, g, v, 0, id+1) {
			v = unsafex.Load64(sp.word(g))
		}
		if s.base == 0 {
			continue
		}
		if s.mask == sp.mask(g) {
			sp.taken++
		}
		sp.hint = uint16(g + 1)
		return s.pop(), left, 0
	}
	done, s.cur = s.cur, 0
	return 0, left, done
}

// settleCurrent ends the use of a slab by its holder. Groups that the holder still has checked
// out come back by themselves later.
func (h *heap) settleCurrent(addr uintptr) {
	if addr == 0 {
		return
	}
	sp := spanAt(addr)
	sp.full.Add(-uint32(sp.taken))
	sp.taken, sp.hint = 0, 0
	sp.state.Store(spanUnlisted)
	h.settle(sp)
}

// settle brings a slab to where it belongs after blocks of it became free: into its bin's list,
// or back to the page heap if all are. It is called without a pin, maybe late: the slab may be
// anything by then, which relist and retire check under the bin's lock.
func (h *heap) settle(sp *span) {
	if sp.state.Load() == spanCurrent || sp.state.Load() == spanDead {
		return
	}
	b := h.binByID(sp.bin)
	if sp.allFree() && !b.kind.typed() {
		h.retire(b, sp)
		return
	}
	if sp.state.Load() == spanUnlisted {
		b.relist(sp)
	}
}

// retire gives a slab back to the page heap if all its blocks are free and nobody holds any.
//
// A full count says just that once no holder has the slab as its current one: a group leaves the
// count before its holder lets go of the slab, and a group whose blocks are all free is checked
// out by nobody else. The purge alone claims groups of such a slab; freeSpan sees that.
func (h *heap) retire(b *bin, sp *span) {
	b.mu.Lock()
	state := sp.state.Load()
	if sp.bin != b.id || (state != spanListed && state != spanUnlisted) || !sp.allFree() {
		b.mu.Unlock()
		return
	}
	if state == spanListed {
		b.remove(sp)
	}
	sp.state.Store(spanDead)
	b.mu.Unlock()
	h.freeSpan(b, sp)
}

// allocShared takes one block straight from a slab: for bins and goroutines without slots.
func (h *heap) allocShared(b *bin) (uintptr, error) {
	for {
		sp, err := h.slab(b)
		if err != nil {
			return 0, err
		}
		addr := sp.takeOne()
		h.settleCurrent(sp.addr())
		if addr != 0 {
			b.out.Add(1)
			return addr, nil
		}
	}
}

// takeOne takes a single block out of the first group that has one, or returns 0.
func (s *span) takeOne() uintptr {
	for g := range s.groups() {
		w := s.word(g)
		for {
			v := unsafex.Load64(w)
			m := freeBits(v)
			if holderOf(v) != 0 || m == 0 {
				break
			}
			if unsafex.CAS64(w, v, v&^groupBits+versionOne|uint64(m&(m-1))) {
				if m == s.mask(g) {
					s.full.Add(^uint32(0))
				}
				return s.groupBase(g) + uintptr(bits.TrailingZeros32(m))*uintptr(s.size)
			}
		}
	}
	return 0
}
