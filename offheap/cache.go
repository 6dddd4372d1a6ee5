// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"iter"
	"math/bits"
	"runtime"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

func (c *cache) start() {
	none := unsafex.Addr(&c.bins[nullBin])
	c.hot, c.newest.slot = none, none
}

// warm is slot for a free: frees try that slot first from now on.
func (c *cache) warm(b *bin) *slot {
	s := c.slot(b)
	if s != nil {
		s.start(b)
		c.hot = unsafex.Addr(s)
	}
	return s
}

func (c *cache) hottest() *slot { return unsafex.At[slot](c.hot) }

// push frees a block into the slot of the bin, which is below fastBins. It reports false, and has
// done nothing, if the block does not lie there. The caller has tried the hot slot.
func (c *cache) push(bin uint32, addr uintptr) bool {
	s := &c.bins[bin&(fastBins-1)]
	if unsafex.Addr(s) == c.hot || !s.push(addr) {
		return false
	}
	if s.wipe {
		s.clear(addr)
	}
	c.hot = unsafex.Addr(s)
	return true
}

// free frees the block at addr, for a slice of n bytes, into the cache. It reports false, and has
// done nothing, if no slot takes it.
func (c *cache) free(n, addr uintptr) bool {
	s := c.hottest()
	if !s.push(addr) {
		return n <= sizeclass.Max && c.push(sizeclass.Of(n), addr)
	}
	if s.wipe {
		s.clear(addr)
	}
	return true
}

// noteRefill notes that a slot was refilled: for the type of that key, or for 0.
func (c *cache) noteRefill(s *slot, key uintptr) {
	c.hot = unsafex.Addr(s)
	if key != 0 {
		// Written as bits, because a pinned goroutine must not enter the write barrier.
		*unsafex.At[[2]uintptr](unsafex.Addr(&c.newest.typ)) = [2]uintptr{key}
		c.newest.slot = c.hot
	}
}

func init() {
	noCache.start()
	std.closePs(maxPs) // Its functions may be called before it has started.
}

// pcache returns the cache that a P may use now, maybe noCache. The caller is pinned to it.
func (h *heap) pcache(id int) *cache {
	if uint(id) >= maxPs {
		return &noCache
	}
	return unsafex.At[cache](h.open[id].Load())
}

// pop is a block of a class of k from the P's slot, or 0 if the caller must ask allocate.
func (h *heap) pop(k *kind, class uint32) uintptr {
	b := k.bins[class].Load()
	if b == nil {
		return 0
	}
	p := percpu.Acquire()
	var addr uintptr
	if s := h.pcache(p.ID()).slot(b); s != nil {
		addr = s.pop()
	}
	p.Release()
	return addr
}

// closePs keeps the first n Ps from their caches.
func (h *heap) closePs(n int) {
	for id := range n {
		h.open[id].Store(unsafex.Addr(&noCache))
	}
}

// enter pins the caller, or takes the Local's number, and returns the holder's cache, or nil if it
// has none now.
func (h *heap) enter(l *Local) (percpu.Pin, int, *cache) {
	if l != nil {
		return percpu.Pin{}, l.id, h.cache(l.id)
	}
	p := percpu.Acquire()
	c := h.pcache(p.ID())
	if c == &noCache {
		c = nil
	}
	return p, p.ID(), c
}

func leave(p percpu.Pin, l *Local) {
	if l == nil {
		p.Release()
	}
	runtime.KeepAlive(l) // Its cache was in use up to here.
}

// makeCache gives holder id its cache; a P only after all Ps below it. It reports an error if
// there is no memory for it.
func (h *heap) makeCache(id int) error {
	h.flushMu.Lock()
	defer h.flushMu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	first := id
	if id < maxPs {
		first = h.nps
	}
	for i := first; i <= id; i++ {
		addr := h.caches[i].Load()
		if addr == 0 {
			var err error
			if addr, err = h.meta.alloc(h.mem, unsafex.Size[cache]()); err != nil {
				return err
			}
		}
		c := unsafex.At[cache](addr)
		c.start()
		h.activate(c)
		h.caches[i].Store(addr)
		if i < maxPs {
			h.open[i].Store(addr)
			h.nps = i + 1
		}
	}
	return nil
}

// makeSlot gives holder id the slot of b. c is the cache that it has, or nil.
func (h *heap) makeSlot(id int, c *cache, b *bin) error {
	if c == nil {
		return h.makeCache(id)
	}
	return h.makePage(c, b)
}

// makePage gives c the page of slots that has the slot of b. It reports an error if there is no
// memory for it.
func (h *heap) makePage(c *cache, b *bin) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	page := &c.more[(b.id-fastBins)/pageBins]
	if page.Load() != 0 {
		return nil
	}
	addr, err := h.meta.alloc(h.mem, unsafex.Size[[pageBins]slot]())
	if err == nil {
		page.Store(addr)
	}
	return err
}

// activate puts a cache among those that count. The caller holds the heap's lock.
func (h *heap) activate(c *cache) {
	if c.unused {
		c.unused = false
		h.unlisted--
	}
	if !c.listed {
		c.listed = true
		active := append(*h.active.Load(), c) // A reader of the shorter list does not see the new end.
		h.active.Store(&active)
	}
}

// unlistCache notes that the empty cache of a Local need not count. It stays for the next Local of
// that number. Half of the list may be such, so that to close many Locals is not to copy it each
// time.
func (h *heap) unlistCache(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.locals = append(h.locals, id)
	h.cache(id).unused = true
	h.unlisted++
	if old := *h.active.Load(); h.unlisted > len(old)/2 {
		active := make([]*cache, 0, len(old)-h.unlisted)
		for _, c := range old {
			if c.unused {
				c.listed, c.unused = false, false
				continue
			}
			active = append(active, c)
		}
		h.active.Store(&active)
		h.unlisted = 0
	}
}

const (
	// fewSlabs is the number of slabs for each holder below which a bin is shared. In a bin with
	// more slabs, those that holders keep are a quarter at most.
	fewSlabs = 4
	// rareAsks is how often a holder may ask supply for blocks of a bin between two runs of the
	// purge, and still share. A holder that asks more often gets a slab of its own, because asking
	// takes locks.
	rareAsks = 128
)

// pop takes a block of the group, or returns 0 if there is none or the slow way must be asked.
func (s *slot) pop() uintptr {
	if v := s.state; hasBlock(v) {
		return s.take(v)
	}
	return 0
}

// hasBlock says whether pop finds a block in a slot with the state v.
func hasBlock(v uint64) bool { return uint32(v) != 0 && int64(v) >= 0 }

// take is pop for a slot with the state v, in which hasBlock finds a block.
func (s *slot) take(v uint64) uintptr {
	s.state = v&(v-1) - 1<<leftShift
	return s.base + uintptr(bits.TrailingZeros32(uint32(v)))*uintptr(s.size)
}

// push frees a block of the group, all but the wiping. It reports false, and has done nothing, if
// the block lies elsewhere or something is wrong with it.
func (s *slot) push(addr uintptr) bool {
	d := addr - s.base
	x := uint64(d) * uint64(s.magic)   // As divide does, which would keep this from being inlined.
	bit := uint64(1) << (x >> 32 & 63) // Below 1<<32, if d is that of a block of the group.
	v := s.state
	if d > uintptr(s.last) || uint32(x) >= s.magic || (v|unsafex.Load64(s.word))&bit != 0 {
		return false
	}
	s.state = v | bit
	return true
}

func (s *slot) setMask(m uint32) { s.state = s.state&^groupBits | uint64(m) }

// left is the number of blocks that the slot allocates before an allocation takes the slow path, at
// most 1<<31; see draw. It is stored less one, so that pop knows by the sign when there are
// none.
func (s *slot) left() uint32     { return uint32(s.state>>leftShift) + 1 }
func (s *slot) setLeft(n uint32) { s.state = uint64(n-1)<<leftShift | uint64(s.mask()) }

// clear wipes a block that was just freed: only the holder can allocate it so far.
func (s *slot) clear(addr uintptr) {
	*unsafex.At[[2]uint64](addr) = [2]uint64{} // Most are small, and none is smaller.
	if s.size > 16 {
		unsafex.Clear(addr+16, uintptr(s.size)-16)
	}
}

// start sets what never changes.
func (s *slot) start(b *bin) {
	if s.size == 0 {
		s.size, s.magic, s.wipe = b.size, b.magic, b.kind.wipe
		s.setLeft(0)
	}
}

// checkOut makes group g the slot's, with its free blocks and the blocks of more, if it has free
// blocks then and its word is still v. The slot, which is empty, is written first, so that a
// goroutine that reads the holder in the word finds the mask, too: P1 checks out, and P2, which frees
// a block of the group a second time, reads the word after P1's swap. It looks into P1's slot, and
// finds the bit there. In the other order it could find the slot's old mask, without the bit. Where a free checks the group
// out, and not an allocation, free blocks on idle pages stay in the word, and with them the group's
// others: retake moves them if they are needed.
func (s *slot) checkOut(h *heap, sp *span, g uint32, v uint64, more uint32, holder int) bool {
	take := freeBits(v)
	if more != 0 && sp.isIdle(g) {
		take = 0
	}
	s.base, s.word, s.last = sp.groupBase(g), sp.word(g), sp.last(g)
	s.setMask(take | more)
	invariants.Window()
	if unsafex.CAS64(s.word, v, withHolder(v, holder)|uint64(freeBits(v)&^take)) {
		invariants.Window()
		s.count(h.binByID(sp.bin), bits.OnesCount32(take))
		if take != 0 {
			sp.wake(h, g)
		}
		return true
	}
	s.drop()
	return false
}

// retake moves blocks that others freed into the group to the empty slot. If there are none the
// group is checked in, and the caller must return the slab left, if that is not 0.
func (s *slot) retake(h *heap) (ok bool, left uintptr) {
	for s.word != 0 {
		sp := h.spanOf(s.base) // The slab can be another's once the group is checked in.
		v := unsafex.Load64(s.word)
		if m := freeBits(v); m != 0 {
			s.setMask(m)
			invariants.Window()
			if unsafex.CAS64(s.word, v, v&^groupBits+versionOne) {
				s.count(h.binByID(sp.bin), bits.OnesCount32(m))
				sp.wake(h, sp.groupAt(s.word))
				return true, 0
			}
			s.setMask(0)
			continue
		}
		invariants.Window()
		if unsafex.CAS64(s.word, v, withHolder(v, 0)) {
			invariants.Window()
			if s.uncounted {
				s.countFull(sp)
				left = sp.addr()
			}
			s.drop()
		}
	}
	return false, left
}

// checkIn gives the group, which lies in sp, back. The slot does not change. A block that two
// goroutines freed was counted by both.
func (s *slot) checkIn(h *heap, sp *span) {
	free, twice := checkIn(s.word, s.mask())
	s.count(h.binByID(sp.bin), -bits.OnesCount32(s.mask()&^twice))
	if free == sp.mask(sp.groupAt(s.word)) {
		s.fulls++
	}
	invariants.Window()
	s.uncounted = true
}

// countFull adds the blocks not yet counted to the slab's count.
func (s *slot) countFull(sp *span) {
	invariants.Window()
	if s.fulls != 0 {
		sp.full.Add(uint32(s.fulls))
	}
	s.uncounted, s.fulls = false, 0
}

// leave checks the group in and returns its slab, which the caller must return, or 0 if there was
// none. Only leave adds checked-in groups to the slab's count. Frees often go from one group to its
// neighbour in the same slab; the slab then stays the slot's, and the heap could do nothing with
// it. leave does not block.
func (s *slot) leave(h *heap) uintptr {
	if s.base == 0 {
		return 0
	}
	sp := h.spanOf(s.base)
	s.checkIn(h, sp)
	s.countFull(sp)
	s.drop()
	return sp.addr()
}

func (s *slot) drop() {
	s.base, s.word = 0, 0
	s.setMask(0)
}

// heldMask is the mask of the group at w in the slot of its holder, and whether it is there.
func (s *slot) heldMask(w uintptr) (uint32, bool) {
	if atomic.LoadUintptr(&s.word) == w {
		return uint32(atomic.LoadUint64(&s.state)), true
	}
	return 0, false
}

// count adds n to the blocks that left through the slot. If they make more than 64 KiB, or less
// than minus 64 KiB, they go to the bin's count. A goroutine can allocate through one slot and free
// through another without end, and a sum reads the slots one after the other: it is wrong by what
// they changed meanwhile, at most.
func (s *slot) count(b *bin, n int) {
	s.out += uintptr(n)
	if most := uintptr(s.magic >> 16); s.out+most > 2*most { // Blocks of 64 KiB.
		b.out.Add(int64(int(s.out)))
		s.out = 0
	}
}

// outstanding is the blocks that left through the slot and are not in it.
func (s *slot) outstanding() int {
	out := int(atomic.LoadUintptr(&s.out))
	return out - bits.OnesCount32(uint32(atomic.LoadUint64(&s.state)))
}

// worthCheckOut says whether a free into the group at w is worth checking that out in place of the
// slot's: the free before went there too, or the slot's group is mostly free and probably was freed
// into.
func (s *slot) worthCheckOut(w uintptr) bool {
	return s.miss == uint32(w) || uintptr(bits.OnesCount32(s.mask()))*uintptr(s.size)*2 > uintptr(s.last)
}

// freed says how a free went.
type freed int

const (
	freedBlock    freed = iota
	freedInterior       // It lies inside a block or a span, not at the beginning of a block.
	freedTwice          // The block is free.
	freedGone           // The block's whole slab or the large block is free.
)

// freeOwn frees a block of a group that this very slot holds, where push refused to.
func (s *slot) freeOwn(addr uintptr) freed {
	if !s.push(addr) {
		return freedTwice
	}
	if s.wipe {
		s.clear(addr)
	}
	return freedBlock
}

// asksRarely counts that the holder asks supply for blocks. It reports whether the holder has asked
// at most rareAsks times since the purge last ran.
func (s *slot) asksRarely(h *heap) bool {
	if run := uint8(h.purge.runs.Load()); s.run != run {
		s.run, s.asks = run, 0
	}
	if s.asks == rareAsks {
		return false
	}
	s.asks++
	return true
}

// checkOutFree makes group g of the slab the slot's, which has none, if the group has free blocks
// and no holder. A group whose blocks are all free leaves the slab's count. No goroutine can free
// the slab before that: it is a current one, or the caller holds the bin's lock; see freeSlab.
func (s *slot) checkOutFree(h *heap, sp *span, g uint32, id int) bool {
	v := unsafex.Load64(sp.word(g))
	for holderOf(v) == 0 && freeBits(v) != 0 && !s.checkOut(h, sp, g, v, 0, id+1) {
		v = unsafex.Load64(sp.word(g))
	}
	invariants.Window()
	if s.base != 0 && s.mask() == sp.mask(g) {
		sp.full.Add(^uint32(0))
	}
	return s.base != 0
}

// heldMask is the mask that holder id keeps of the group at w, and whether it keeps one.
func (h *heap) heldMask(id int, b *bin, w uintptr) (uint32, bool) {
	s := h.cache(id).slot(b)
	if s == nil {
		return 0, false
	}
	m, ok := s.heldMask(w)
	invariants.Window()
	return m, ok
}

// isFree says whether block i of a slab is free at present, for the holder's mask too.
func (h *heap) isFree(sp *span, i uint32) bool {
	g, bit := i>>sp.shift, uint32(1)<<(i&(1<<sp.shift-1))
	for {
		v := unsafex.Load64(sp.word(g))
		invariants.Window()
		if freeBits(v)&bit != 0 {
			return true
		}
		holder := holderOf(v)
		if holder == 0 || holder == purger {
			return false
		}
		m, ok := h.heldMask(holder-1, h.binByID(sp.bin), sp.word(g))
		if unsafex.Load64(sp.word(g)) == v && ok {
			return m&bit != 0
		}
	}
}

// flushPs checks in the groups and slabs that Ps have checked out. It is for the rare moments that
// need all free blocks: Purge, and a limit or the end of memory.
//
// The fast paths take no lock, but each first loads its P's cache. So flushPs replaces the cache
// with noCache and then stops the world once. A goroutine that loaded the cache before is pinned,
// so the world does not stop until it has finished (GC-3). With the fallback of percpu it is marked
// busy instead, and flushPs skips its P. A goroutine that loads noCache takes the slow path and
// waits in makeCache for the flush to end. One interleaving: G1 is pinned to P1, has loaded its cache
// and is about to store a mask. flushPs stores noCache and asks for the world to stop, which waits for
// G1's store and unpin. G2 runs on P1 next, loads noCache and waits. Now only flushPs has the cache.
func (h *heap) flushPs() {
	h.flushMu.Lock()
	defer h.flushMu.Unlock()
	h.flushes.Add(1)
	h.closePs(h.nps)
	invariants.Window()
	runtime.ReadMemStats(&h.memStats)
	for id := range h.nps {
		if !percpu.Busy(id) {
			h.emptyCache(h.cache(id))
		}
		h.open[id].Store(h.caches[id].Load())
	}
}

// emptyCache checks in everything of a holder. The caller has the right to its cache and is not
// pinned.
func (h *heap) emptyCache(c *cache) {
	for _, b := range *h.bins.Load() {
		if s := c.slot(b); s != nil && s.size != 0 {
			h.emptySlot(b, s)
		}
	}
}

// emptySlot checks everything of a slot in. Its holder calls it, not pinned.
func (h *heap) emptySlot(b *bin, s *slot) {
	cur := s.cur
	s.cur, s.miss = 0, 0
	s.setLeft(0)
	s.drawn = undrawn
	h.mu.Lock() // No sum of the counts misses what moves, or has it twice.
	group := s.leave(h)
	b.out.Add(int64(int(s.out)))
	s.out = 0
	h.mu.Unlock()
	invariants.Window()
	if group != 0 {
		h.afterFree(group)
	}
	invariants.Window()
	h.uncacheSlab(cur)
}

// slotsOfPs yields the slots that Ps have for b.
func (h *heap) slotsOfPs(b *bin) iter.Seq[*slot] {
	return func(yield func(*slot) bool) {
		for id := range maxPs {
			c := h.cache(id)
			if c == nil {
				return // A P gets a cache only after all below it.
			}
			if s := c.slot(b); s != nil && !yield(s) {
				return
			}
		}
	}
}

// psHoldFree says whether a P holds a free block of b.
func (h *heap) psHoldFree(b *bin) bool {
	if !b.slotted || b.size == 0 {
		return false
	}
	for s := range h.slotsOfPs(b) {
		if h.holdsFree(s, b) {
			return true
		}
	}
	return false
}

// holdsFree says whether a flush of the slot of a P, for blocks of b, would bring a free one forth.
// Its P may change it meanwhile.
func (h *heap) holdsFree(s *slot, b *bin) bool {
	if uint32(atomic.LoadUint64(&s.state)) != 0 {
		return true
	}
	if w := atomic.LoadUintptr(&s.word); w != 0 && freeBits(unsafex.Load64(w)) != 0 {
		return true
	}
	// The slab of the group may have other groups that the P has checked in but not counted; see
	// slot.leave.
	for sp := range s.slabs(h, b) {
		if sp.hasFree() {
			return true
		}
	}
	return false
}

// slabs yields the slabs of b that the slot of a P uses or has a group of. Its P may change it
// meanwhile.
func (s *slot) slabs(h *heap, b *bin) iter.Seq[*span] {
	return func(yield func(*span) bool) {
		if base := atomic.LoadUintptr(&s.base); base != 0 {
			if sp := h.spanOf(base); sp != nil && sp.bin == b.id && !yield(sp) {
				return
			}
		}
		if cur := atomic.LoadUintptr(&s.cur); cur != 0 {
			yield(spanAt(cur))
		}
	}
}

// emptyWithPs says whether all blocks of a slab of b are free, in words or in the slots of Ps.
func (h *heap) emptyWithPs(sp *span, b *bin) bool {
	for g := range sp.groups() {
		w := sp.word(g)
		v := unsafex.Load64(w)
		free := freeBits(v)
		if n := holderOf(v); n > maxPs {
			return false // A Local's, or the purge's.
		} else if n != 0 {
			m, _ := h.heldMask(n-1, b, w)
			free |= m
		}
		if free != sp.mask(g) {
			return false
		}
	}
	return true
}
