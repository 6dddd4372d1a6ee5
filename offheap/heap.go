// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// A heap is one allocator. The package's functions use std; tests make heaps over a failing memory.
//
// # How it works
//
// Address space is reserved in regions and allocated in runs of granules by the page heap
// (region.go, runs.go). A span is such a run: a slab of blocks of one size class, or one large
// block (span.go). A page map leads from any address to its span, so that every free is checked
// before anything is believed. The free blocks of a slab are bits, in groups of up to 32 to one
// word that is changed by compare-and-swap only (group.go).
//
// A holder, which is a P or a Local, checks a whole group out: its bits move into the holder's
// slot (slot.go), where allocating and freeing is plain arithmetic on a mask. Everything else is
// rare: checking groups in and out, frees into groups of others (small.go), finding slabs through
// the lists of a bin (bin.go).
//
// Nothing is ever stored in a block: slots, group words and spans live in metadata of their own
// (meta.go).
type heap struct {
	mem vmem.Memory

	// caches holds the address of each holder's slots, 0 until it first allocates. Holders below
	// maxPs are Ps, the others Locals.
	caches [maxHolders]atomic.Uintptr
	// open holds the address of the slots that a P may use now: its own, or noSlots until it first
	// allocates and while flushPs is at work.
	open   [maxPs]atomic.Uintptr
	nps    int                      // Ps below this number have slots. Guarded by flushMu.
	active atomic.Pointer[[]*slots] // The slots that count, and some retired ones, which are empty.
	bins   atomic.Pointer[[]*bin]
	rates  atomic.Pointer[allocsample.Rates] // Nil while nothing is sampled.
	plain  *kind                             // Pointer-free data without a purpose; its bins are the classes.

	regions  [maxRegions]region
	nregions atomic.Int32

	guards        *tracked                // Not nil: one allocation in some is guarded, and it has those.
	tracker       atomic.Pointer[tracked] // Serves every block if it is not nil. See records.
	localsDropped atomic.Int64
	announces     bool // A sanitizer must hear of all memory that blocks are cut from.
	startOnce     sync.Once
	growthHook    func() // Called without locks when much was taken since the last call, and at ticks.

	grown atomic.Bool // The bytes held have grown by much since growthHook was last called.

	flushMu  sync.Mutex // Held while the Ps' slots are taken back. It comes behind purge.mu, and before the others.
	memStats runtime.MemStats
	flushes  atomic.Int64 // Calls of flushPs. Each stops the world once.

	mu          sync.Mutex // Guards regions, meta and what follows.
	meta        meta
	retired     int   // Of the active slots.
	besideBytes int64 // Bytes of blocks that lie in no span.
	// mapBytes is the bytes of the page maps that take memory.
	mapBytes int64
	synced   int64  // Bytes held when growthHook was last called, or grown last set.
	nfast    uint32 // Numbers of bins below this one are in use, among those with slots.
	kinds    []*kind
	locals   []int // IDs of closed Locals.
	nlocal   int

	purge purgeState
	budget
}

const (
	maxHolders = 1 << 14
	maxPs      = 1 << 12
	// fastBins is how many bins have a slot among all slots, where the fast paths find it. Later bins
	// have theirs in pages, which a holder gets when it first needs one. Beyond the pages there are
	// no slots: the blocks are taken from the lists each time.
	fastBins = 512
	pageBins = 64
	maxPages = 128
	// nullBin is the last of them. It is no bin's: its slots never have a block, so that a fast
	// path that is sent there finds nothing.
	nullBin = fastBins - 1
)

// slots are all slots of one holder.
type slots struct {
	// hot is the address of the slot that was last refilled or freed into. Frees try it first: the
	// address tells whether the block belongs there, and the last bin is usually the next one, too.
	// It is never a slot of blocks of arenas; see owned.go.
	hot uintptr
	// newest is the type T whose New last refilled a slot, as a nil *T, and the slot's address. New
	// tries it first: comparing types costs less than finding a slot.
	newest struct {
		typ  any
		slot uintptr
	}
	// Guarded by the heap's lock: whether they are among the active ones, and whether they are
	// there without a holder.
	listed, retired bool
	// owner is the address of the Local whose slots these are, 0 for none: it distinguishes the
	// Local from an older copy that was written over a closed one.
	owner uintptr
	slow  uint // Allocations that took the slow path, for tests.
	_     [64 - 7*ptrSize]byte

	// bins come last: the compiler adds no nil check to an access within the first page.
	bins [fastBins]slot

	// more has the addresses of pages of slots, for the bins from fastBins on, or 0. A page is added
	// under the heap's lock and stays.
	more [maxPages]atomic.Uintptr
}

// noSlots never have a block. They serve holders without slots of their own, and are never written.
var noSlots slots

func init() {
	noSlots.start()
	std.closePs(maxPs) // Its functions may be called before it has started.
}

func (c *slots) start() {
	none := unsafex.Addr(&c.bins[nullBin])
	c.hot, c.newest.slot = none, none
}

// slot is the slot of a bin, or nil if c is nil, if c has none yet or if the bin never has one.
func (c *slots) slot(b *bin) *slot {
	if c == nil || !b.slotted {
		return nil
	}
	if b.id < nullBin {
		return &c.bins[b.id]
	}
	i := b.id - fastBins
	page := c.more[i/pageBins].Load()
	if page == 0 {
		return nil
	}
	return &unsafex.At[[pageBins]slot](page)[i%pageBins]
}

// warm is slot for a free: frees try that slot first from now on.
func (c *slots) warm(b *bin) *slot {
	s := c.slot(b)
	if s != nil {
		s.start(b)
		if !b.kind.owned {
			c.hot = unsafex.Addr(s)
		}
	}
	return s
}

func (c *slots) hottest() *slot { return unsafex.At[slot](c.hot) }

// push frees a block into the slot of the bin, which is below fastBins. It reports false, and has
// done nothing, if the block does not lie there. The caller has tried the hot slot.
func (c *slots) push(bin uint32, addr uintptr) bool {
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

// served notes that a slot was refilled: for the type of that key, or for 0.
func (c *slots) served(s *slot, key uintptr) {
	c.hot = unsafex.Addr(s)
	if key != 0 {
		// Written as bits, because a pinned goroutine must not enter the write barrier.
		*unsafex.At[[2]uintptr](unsafex.Addr(&c.newest.typ)) = [2]uintptr{key}
		c.newest.slot = c.hot
	}
}

func newHeap(mem vmem.Memory) *heap {
	h := &heap{mem: mem}
	h.init()
	return h
}

func (h *heap) init() {
	h.growthHook = func() {}
	h.closePs(maxPs)
	h.purge.init(h)
	bins := make([]*bin, 0, sizeclass.Count+1)
	h.bins.Store(&bins)
	h.active.Store(new([]*slots))
	h.who = "offheap"
	h.plain = &kind{budgets: []*budget{&h.budget}}
	h.kinds = append(h.kinds, h.plain)
	for c := range uint32(sizeclass.Count) {
		h.newBin(h.plain, c) // Bin numbers of plain are the classes.
	}
	h.newBin(h.plain, largeClass)
}

// cache returns the slots of a holder, or nil if it has none yet.
func (h *heap) cache(id int) *slots {
	addr := h.caches[id].Load()
	if addr == 0 {
		return nil
	}
	return unsafex.At[slots](addr)
}

// pslots returns the slots that a P may use now, maybe noSlots. The caller is pinned to it.
func (h *heap) pslots(id int) *slots {
	if uint(id) >= maxPs {
		return &noSlots
	}
	return unsafex.At[slots](h.open[id].Load())
}

// pop is a block of a class of k from the P's slot, or 0 if the caller must ask allocate.
func (h *heap) pop(k *kind, class uint32) uintptr {
	b := k.bins[class].Load()
	if b == nil {
		return 0
	}
	p := percpu.Acquire()
	var addr uintptr
	if s := h.pslots(p.ID()).slot(b); s != nil {
		addr = s.pop()
	}
	p.Release()
	return addr
}

// closePs keeps the first n Ps from their slots.
func (h *heap) closePs(n int) {
	for id := range n {
		h.open[id].Store(unsafex.Addr(&noSlots))
	}
}

// enter pins the caller, or takes the Local's number, and returns the holder's slots, or nil if it
// has none now.
func (h *heap) enter(l *Local) (percpu.Pin, int, *slots) {
	if l != nil {
		return percpu.Pin{}, l.id, h.cache(l.id)
	}
	p := percpu.Acquire()
	c := h.pslots(p.ID())
	if c == &noSlots {
		c = nil
	}
	return p, p.ID(), c
}

func leave(p percpu.Pin, l *Local) {
	if l == nil {
		p.Release()
	}
	runtime.KeepAlive(l) // Its slots were in use up to here.
}

// makeCache gives holder id its slots; a P only after all Ps below it. It reports an error if
// there is no memory for them.
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
			if addr, err = h.meta.alloc(h.mem, unsafex.Size[slots]()); err != nil {
				return err
			}
		}
		c := unsafex.At[slots](addr)
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

// makeSlot gives holder id the slot of b. c are the slots that it has, or nil.
func (h *heap) makeSlot(id int, c *slots, b *bin) error {
	if c == nil {
		return h.makeCache(id)
	}
	return h.makePage(c, b)
}

// makePage gives c the page of slots that has the slot of b. It reports an error if there is no
// memory for it.
func (h *heap) makePage(c *slots, b *bin) error {
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

// activate puts slots among those that count. The caller holds the heap's lock.
func (h *heap) activate(c *slots) {
	if c.retired {
		c.retired = false
		h.retired--
	}
	if !c.listed {
		c.listed = true
		active := append(*h.active.Load(), c) // A reader of the shorter list does not see the new end.
		h.active.Store(&active)
	}
}

// retireCache notes that the empty slots of a Local need not count. They stay for the next Local of
// that number. Half of the list may be such, so that to close many Locals is not to copy it each
// time.
func (h *heap) retireCache(id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.locals = append(h.locals, id)
	h.cache(id).retired = true
	h.retired++
	if old := *h.active.Load(); h.retired > len(old)/2 {
		active := make([]*slots, 0, len(old)-h.retired)
		for _, c := range old {
			if c.retired {
				c.listed, c.retired = false, false
				continue
			}
			active = append(active, c)
		}
		h.active.Store(&active)
		h.retired = 0
	}
}
