package offheap

import (
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// A heap is one allocator. The package's functions use std; tests make heaps over a failing memory.
//
// # How it works
//
// Address space is reserved in regions and handed out in runs of granules by the page heap
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
	bins   atomic.Pointer[[]*bin] // Copied when it grows.
	plain  *kind                  // Pointer-free data without a purpose; its bins are the classes.

	regions  [maxRegions]region
	nregions atomic.Int32

	limit      atomic.Int64 // Bytes that spans may take, 0 for none.
	goHeap     *goHeap      // Not nil: the kill switch is on.
	startOnce  sync.Once
	growthHook func() // Called without locks after the heap took more from the machine.

	mu     sync.Mutex // Guards regions, meta and what follows.
	meta   meta
	held   int64 // Bytes in spans.
	kinds  []*kind
	locals []int // IDs of closed Locals.
	nlocal int

	purge purgeState
}

const (
	maxHolders = 1 << 14
	maxPs      = 1 << 12
	// fastBins is how many bins have slots. Blocks of later bins are taken from the lists each time.
	fastBins = 512
)

// slots are all slots of one holder.
type slots [fastBins]slot

func newHeap(mem vmem.Memory) *heap {
	h := &heap{mem: mem}
	h.init()
	return h
}

func (h *heap) init() {
	h.growthHook = func() {}
	h.purge.init(h)
	bins := make([]*bin, 0, sizeclass.Count+1)
	h.bins.Store(&bins)
	h.plain = &kind{}
	h.kinds = append(h.kinds, h.plain)
	for c := range uint32(sizeclass.Count) {
		h.newBin(h.plain, c) // Bin numbers of plain are the classes.
	}
	h.newBin(h.plain, largeClass)
}

// cache returns the slots of a holder, or nil if it has none yet.
func (h *heap) cache(id int) *slots {
	addr := h.caches[id&(maxHolders-1)].Load()
	if addr == 0 {
		return nil
	}
	return unsafex.At[slots](addr)
}

// pcache is cache for the number of a P. Numbers beyond maxPs have no slots.
func (h *heap) pcache(id int) *slots {
	if uint(id) >= maxPs {
		return nil
	}
	return h.cache(id)
}

// alloc is the fast path of thread-safe allocation: a block of the bin, or 0 if the caller must
// ask allocSlow.
func (h *heap) alloc(bin uint32) uintptr {
	p := percpu.Acquire()
	var addr uintptr
	if c := h.pcache(p.ID()); c != nil && bin < fastBins {
		addr = c[bin].pop()
	}
	p.Release()
	return addr
}

// free is the fast path of thread-safe freeing. It reports false if the caller must ask freeSlow.
func (h *heap) free(bin uint32, addr uintptr) bool {
	p := percpu.Acquire()
	done := false
	if c := h.pcache(p.ID()); c != nil && bin < fastBins {
		done = c[bin].push(addr)
	}
	p.Release()
	return done
}

// enter pins the caller, or takes the Local's number, and returns the holder's slots.
func (h *heap) enter(l *Local) (percpu.Pin, int, *slots) {
	if l != nil {
		return percpu.Pin{}, l.id, h.cache(l.id)
	}
	p := percpu.Acquire()
	return p, p.ID(), h.pcache(p.ID())
}

func leave(p percpu.Pin, l *Local) {
	if l == nil {
		p.Release()
	}
}

// makeCache gives holder id its slots. It reports an error if there is no memory for them.
func (h *heap) makeCache(id int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.caches[id].Load() != 0 {
		return nil
	}
	addr, err := h.meta.alloc(h.mem, unsafex.Size[slots]())
	if err != nil {
		return err
	}
	h.caches[id].Store(addr)
	return nil
}
