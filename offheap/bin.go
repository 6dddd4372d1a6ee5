// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/typeinfo"
)

// A kind is data that never shares slabs with other data: plain memory of one purpose, or values
// of one type whose bits must stay those of its type (C1: types with bools, and types that
// promise to be self-contained).
type kind struct {
	purpose  *purposeState // Nil for none.
	budgets  []*budget     // That of the heap, and that of the purpose.
	typ      reflect.Type  // Nil for plain memory.
	wipe     bool          // Blocks are cleared when freed, too.
	owned    bool          // Blocks belong to arenas, which alone free them. See owned.go.
	pointers bool          // Values of typ hold pointers, off the heap: their blocks are always wiped.

	twin   atomic.Pointer[kind] // Serves sampled blocks; made on first use. See sample.go.
	origin *kind                // Not nil in a twin.

	arenas atomic.Pointer[kind] // Serves the blocks of arenas; made on first use. See owned.go.

	bins [sizeclass.Count + 1]atomic.Pointer[bin] // By class; largeClass is the last.

	// ranges has the ranges of a typed kind's freed large blocks, by their lengths in granules. They never
	// serve another kind, so they do not go back to the page heap. See takeRange. Guarded by the lock of the
	// heap.
	ranges map[int][]granuleRange
}

// like is a new kind for the same data, with slabs of its own.
func (k *kind) like() *kind {
	return &kind{purpose: k.purpose, budgets: k.budgets, typ: k.typ, wipe: k.wipe, owned: k.owned, pointers: k.pointers}
}

// typed says that the kind's memory lies in regions for typed data.
func (k *kind) typed() bool { return k.typ != nil }

// key is the number of the kind's type, 0 for plain memory.
func (k *kind) key() uintptr {
	if k.typ == nil {
		return 0
	}
	return typeinfo.KeyOf(k.typ)
}

// cleared is the range, from its start, of a block of have bytes that becomes zero if the block keeps
// the first old bytes and gets the length n. A kind that wipes clears what lies behind, too: the
// program may have cut the slice that it resizes.
func (k *kind) cleared(old, n, have uintptr) (lo, hi uintptr) {
	if k.wipe {
		return min(old, n), have
	}
	return old, min(n, have)
}

// A budget counts the bytes in spans, of the whole heap or of one purpose, and bounds them. A span counts
// in the heap's budget and in that of its purpose; see kind.budgets.
type budget struct {
	who      string        // Whose it is, in errors.
	held     atomic.Int64  // Bytes in spans, and in blocks beside them. Written under the heap's lock.
	limit    atomic.Int64  // Of held, 0 for none. Written under that lock.
	refusals atomic.Uint32 // Since held was well below the limit.
}

// leaves says whether the limit leaves room for n more bytes.
func (g *budget) leaves(n int64) bool {
	limit := g.limit.Load()
	return limit == 0 || g.held.Load()+n <= limit
}

const largeClass = sizeclass.Count

// A bin is one size class of one kind: the geometry of its slabs and the list of those with free
// blocks.
type bin struct {
	id       uint32
	kind     *kind
	class    uint32
	size     uint32 // 0 for large blocks.
	magic    uint32
	blocks   uint32 // In a slab.
	shift    uint32 // log2 of the blocks in a group.
	granules uint32 // Of a slab.
	slotted  bool   // Holders can have slots of it.

	// out counts blocks (bytes for large) allocated other than through slots, and those that slots have
	// passed on; see slot.count.
	out atomic.Int64

	slabs atomic.Int64 // That exist.

	// records has the records of spans that were taken apart. They serve b's next spans, and those of no
	// other bin; see span. Guarded by the heap's lock.
	records []uintptr

	// sharing is held by a goroutine that takes a part of a slab. While it makes a slab, the others that
	// want a part wait, and then share that slab.
	sharing sync.Mutex

	mu   sync.Mutex
	list uintptr // The first span listed.
}

// newBin adds the bin of a class to a kind. The caller holds the heap's lock, or no other goroutine
// knows the heap yet. Twins have their numbers behind those of the first fastBins, where gaps
// are filled by a bin that has no blocks.
func (h *heap) newBin(k *kind, class uint32) *bin {
	bins := slices.Clone(*h.bins.Load()) // A reader of the old ones does not see the change.
	b := &bin{id: h.nfast, kind: k, class: class}
	if k.origin != nil || h.nfast == nullBin {
		b.id = uint32(max(len(bins), fastBins))
	} else {
		h.nfast++
	}
	b.slotted = b.id < fastBins || k.origin == nil && b.id < fastBins+maxPages*pageBins
	if class != largeClass {
		b.shape(sizeclass.Size(class))
	}
	for uint32(len(bins)) <= b.id {
		bins = append(bins, &bin{id: nullBin, kind: h.plain})
	}
	bins[b.id] = b
	h.bins.Store(&bins)
	k.bins[class].Store(b)
	return b
}

// shape chooses the geometry of slabs of blocks of size bytes: at least 64 KiB and eight blocks,
// with less than a block left over.
func (b *bin) shape(size uintptr) {
	b.size, b.magic = uint32(size), magicOf(size)
	for 2<<b.shift <= groupMax && uintptr(2<<b.shift)*size <= groupBytes {
		b.shift++
	}
	const least = 64 << 10
	bytes := roundUp(max(least, 8*size), granule)
	if size >= 1<<10 {
		// The step of the octave divides the size: so many blocks fill their granules exactly.
		step := size & -size
		if n := granule / min(step, granule); n*size >= least && n >= 8 {
			bytes = roundUp(n*size, granule)
		}
	}
	b.granules = uint32(bytes / granule)
	b.blocks = uint32(bytes / size)
}

// inUse is the bytes of a bin's blocks that are in use. The caller holds the heap's lock. Goroutines that
// allocate and free meanwhile make it wrong by what they pass on.
func (h *heap) inUse(b *bin) int64 {
	switch {
	case b.size == 0: // Large blocks are never in slots.
		return b.out.Load()
	case b.slabs.Load() == 0: // As in most bins. A program with thousands of Locals has as many slots to add.
		return 0
	}
	n := b.out.Load()
	if b.slotted {
		for _, c := range *h.active.Load() {
			if s := c.slot(b); s != nil {
				n += int64(s.outstanding())
			}
		}
	}
	return n * int64(b.size)
}

// groups is the number of groups in a slab, 0 for large blocks.
func (b *bin) groups() uint32 { return (b.blocks + 1<<b.shift - 1) >> b.shift }

// bin is the bin of a class of k, made on first use.
func (h *heap) bin(k *kind, class uint32) *bin {
	if b := k.bins[class].Load(); b != nil {
		return b
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if b := k.bins[class].Load(); b != nil {
		return b
	}
	return h.newBin(k, class)
}

func (h *heap) binByID(id uint32) *bin { return (*h.bins.Load())[id] }

// push puts an unlisted slab at the head of the list. The caller holds b.mu.
func (b *bin) push(s *span) {
	s.prev, s.next = 0, b.list
	if b.list != 0 {
		spanAt(b.list).prev = s.addr()
	}
	b.list = s.addr()
	s.state.Store(spanListed)
	b.checkListed(s)
}

// remove takes a listed slab out of the list. The caller holds b.mu and sets the state.
func (b *bin) remove(s *span) {
	b.checkListed(s)
	if s.prev != 0 {
		spanAt(s.prev).next = s.next
	} else {
		b.list = s.next
	}
	if s.next != 0 {
		spanAt(s.next).prev = s.prev
	}
	s.next, s.prev = 0, 0
}

// takeListed makes the first slab of the list current and returns it, or nil.
func (b *bin) takeListed() *span {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.list == 0 {
		return nil
	}
	s := spanAt(b.list)
	b.remove(s)
	s.state.Store(spanCurrent)
	return s
}

// relist lists an unlisted slab of b if it has free blocks. It is no harm if the slab was taken apart in the
// meantime, and the record serves another slab: that is b's, too.
func (b *bin) relist(s *span) {
	b.mu.Lock()
	defer b.mu.Unlock()
	invariants.Window()
	if s.state.Load() == spanUnlisted && s.hasFree() {
		b.push(s)
	}
}
