// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// This file has the types of the machine. The others are its stories, each of which needs those
// before it alone: pagemap.go, pageheap.go, slab.go, cache.go, purge.go, limit.go; then, which need
// each other, alloc.go, large.go, free.go, sample.go, records.go, debug.go; then the exported
// functions.
//
//	Local ─┐
//	P ─────┴▶ cache ─▶ slot, one for each bin: a group that is checked out
//	                    │ refill, flush
//	kind ─▶ bin ─▶ list of slabs with free blocks
//	                    │ slab, freeSlab
//	        span ◀──────┘  record of a slab, or of one large block; group words follow it
//	          ▲  │ allocSpan, freeSpan: limits are asked here
//	 page map │  ▼
//	        region         address space in granules of 8 KiB: free, fresh and stale bits
//	                    │ purge
//	                  machine
//
// A heap is one allocator. The package's functions use std; tests make heaps over a failing memory.
// Nothing is ever stored in a block: caches, group words and spans lie in metadata of their own.
//
//   - The page heap allocates runs of granules. A span is such a run: a slab of blocks of one size
//     class, or one large block. The page map leads from any address to its span, so that each free
//     is checked before anything is believed.
//   - The free blocks of a slab are bits, in groups of up to 32 to one word that is changed by
//     compare-and-swap only.
//   - A holder, which is a P or a Local, checks a whole group out: its bits move into the holder's
//     slot, where allocating and freeing is plain arithmetic on a mask. All else is rare.
type heap struct {
	mem vmem.Memory

	// caches holds the address of each holder's cache, 0 until it first allocates. Holders below
	// maxPs are Ps, the others Locals.
	caches [maxHolders]atomic.Uintptr
	// open holds the address of the cache that a P may use now: its own, or noCache until it first
	// allocates and while flushPs is at work.
	open   [maxPs]atomic.Uintptr
	nps    int                      // Ps below this number have caches. Guarded by flushMu.
	active atomic.Pointer[[]*cache] // The caches that count, and some unused ones, which are empty.
	bins   atomic.Pointer[[]*bin]
	rates  atomic.Pointer[allocsample.Rates] // Nil while nothing is sampled.
	plain  *kind                             // Pointer-free data without a purpose; its bins are the classes.

	regions  [maxRegions]region
	nregions atomic.Int32

	guards        *recorder                // Not nil: one allocation in some is guarded, and it has those.
	recorder      atomic.Pointer[recorder] // Serves every block if it is not nil. See serving.
	localsDropped atomic.Int64
	announces     bool // A sanitizer must hear of all memory that blocks are cut from.
	startOnce     sync.Once
	onGrowth      func() // Called without locks when much was taken since the last call, and at ticks.

	grown atomic.Bool // The bytes held have grown by much since onGrowth was last called.

	flushMu  sync.Mutex // Held while the Ps' caches are emptied. It comes behind purge.mu, and before the others.
	memStats runtime.MemStats
	flushes  atomic.Int64 // Calls of flushPs. Each stops the world once.

	mu            sync.Mutex // Guards regions, meta and what follows.
	meta          meta
	unlisted      int   // Of the active caches.
	recordedBytes int64 // Bytes of blocks that lie in no span.
	// mapBytes is the bytes of the page maps that take memory.
	mapBytes int64
	synced   int64  // Bytes held when onGrowth was last called, or grown last set.
	nfast    uint32 // Numbers of bins below this one are in use, among those with slots.
	kinds    []*kind
	locals   []int // IDs of closed Locals.
	nlocal   int

	purge purgeState
	budget
}

// std is the allocator behind the package's functions. It starts with the first allocation.
var std heap

func (h *heap) start() {
	h.startOnce.Do(func() {
		if h.mem == nil { // Else newHeap has made it.
			startStd()
		}
	})
}

// startStd starts std. It is setStd of debug.go, which knows the modes and comes after this file.
var startStd func()

const (
	maxHolders = 1 << 14
	maxPs      = 1 << 12
	// fastBins is how many bins have a slot in the cache itself, where the fast paths find it.
	// Later bins have theirs in pages, which a holder gets when it first needs one. Bins beyond the
	// pages have no slots: their blocks are taken from the lists each time.
	fastBins = 512
	pageBins = 64
	maxPages = 128
	// nullBin is the last of them. It is no bin's: its slots never have a block, so that a fast
	// path that is sent there finds nothing.
	nullBin = fastBins - 1
)

// A cache is what one holder, a P or a Local, keeps: a slot for each bin.
type cache struct {
	// hot is the address of the slot that was last refilled or freed into. Frees try it first: the
	// address tells whether the block belongs there, and the last bin is usually the next one, too.
	hot uintptr
	// newest is the type T whose New last refilled a slot, as a nil *T, and the slot's address. New
	// tries it first: comparing types costs less than finding a slot.
	newest struct {
		typ  any
		slot uintptr
	}
	// Guarded by the heap's lock: whether they are among the active ones, and whether they are
	// there without a holder.
	listed, unused bool
	// owner is the address of the Local whose cache this is, 0 for none: it distinguishes the
	// Local from an older copy that was written over a closed one.
	owner uintptr
	slow  uint // Allocations that took the slow path, for tests.
	_     [64 - 7*ptrSize]byte

	// bins come last: the compiler adds no nil check to an access within the first page.
	bins [fastBins]slot

	// more has the addresses of pages of slots, for the bins from fastBins on, or 0. A page is
	// added under the heap's lock and stays.
	more [maxPages]atomic.Uintptr
}

// noCache never has a block. It serves holders without a cache of their own, and is never written.
var noCache cache

// slot is the slot of a bin, or nil if c is nil, if c has none yet or if the bin never has one.
func (c *cache) slot(b *bin) *slot {
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

// A slot is what one holder keeps of one bin: a group that is checked out, to allocate from and to
// free into, and the slab in use. Only the holder writes it. Others read the mask to find double
// frees: while the word at word names this holder, mask holds the group's remaining free blocks.
//
// The mask and the count for sampling are one word, because an allocation changes both, and to load
// and store one costs less. Others read all of it and use the mask alone, which even a 32-bit
// processor stores at once.
//
// It is one cache line on 64-bit systems.
type slot struct {
	out   uintptr // Blocks that left through this slot, less those that came back, in two's complement; see count.
	_     [8 - ptrSize]byte
	base  uintptr // Address of the group's first block, 0 for none.
	word  uintptr // Address of its word.
	state uint64  // Low half: its free blocks, see mask. High half: the count less one, see left.
	size  uint32  // Of a block; 0 until the slot is first used.
	magic uint32  // For division by size.
	last  uint32  // The bytes of the group less one.
	miss  uint32  // The low bits of the address of the word of the last free that went elsewhere.
	cur   uintptr // The slab in use, 0 for none.
	wipe  bool    // Blocks are cleared when freed.
	drawn drawing // What left was drawn for.

	// uncounted says that groups of the slab that base lies in were checked in and are not in the
	// slab's count yet; fulls is the number of full ones among them. See leave.
	uncounted bool
	fulls     uint16
	_         [3 * (8 - ptrSize)]byte
	run       uint8 // The number of the purge's run before the last ask; it wraps around.
	asks      uint8 // How often the holder has asked supply for blocks since; see asksRarely.
}

// leftShift is where the count begins in a slot's state.
const leftShift = groupMax

// mask is the group's free blocks.
func (s *slot) mask() uint32 { return uint32(s.state) }

// A kind is data that never shares slabs with other data: plain memory of one purpose, or values
// of one type whose bits must stay those of its type (C1: types with bools, and types that
// promise to be self-contained).
type kind struct {
	purpose  *purposeState // Nil for none.
	budgets  []*budget     // That of the heap, and that of the purpose.
	typ      reflect.Type  // Nil for plain memory.
	wipe     bool          // Blocks are cleared when freed, too.
	pointers bool          // Values of typ hold pointers, off the heap: their blocks are always wiped.

	sampled  atomic.Pointer[kind] // Serves sampled blocks; made on first use.
	ordinary *kind                // Not nil in a kind for sampled blocks.

	bins [sizeclass.Count + 1]atomic.Pointer[bin] // By class; largeClass is the last.

	// ranges has the ranges of a typed kind's freed large blocks, by their lengths in granules.
	// They never serve another kind, so they do not go back to the page heap. See takeRange.
	// Guarded by the lock of the heap.
	ranges map[int][]granuleRange
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

// cleared is the range, from its start, of a block of have bytes that becomes zero if the block
// keeps the first old bytes and gets the length n. A kind that wipes clears what lies behind, too:
// the program may have cut the slice that it resizes.
func (k *kind) cleared(old, n, have uintptr) (lo, hi uintptr) {
	if k.wipe {
		return min(old, n), have
	}
	return old, min(n, have)
}

// self is the kind that allocations ask for: k itself, or that for whose sampled blocks it is.
func (k *kind) self() *kind {
	if k.ordinary != nil {
		return k.ordinary
	}
	return k
}

// account is the name of the kind's purpose, or "".
func (k *kind) account() string {
	if k.purpose == nil {
		return ""
	}
	return k.purpose.name
}

// like is a new kind for the same data, with slabs of its own.
func (k *kind) like() *kind {
	return &kind{purpose: k.purpose, budgets: k.budgets, typ: k.typ, wipe: k.wipe, pointers: k.pointers}
}

// A purposeState is a Purpose's part that changes. It is not in the Purpose, so that nothing that
// is written over a Purpose changes the counts of its blocks or unlocks its mutex.
type purposeState struct {
	name string
	budget
	options PurposeOptions
	plain   *kind

	typed [16]atomic.Pointer[typedKind] // By the hash of the type, the newest first.
	mu    sync.Mutex                    // Held to add one.
}

// A typedKind is the kind of the values of one type under a purpose. It never changes.
type typedKind struct {
	desc  *typeDesc
	kind  *kind
	older *typedKind // Of the same hash.
}

// PurposeOptions configure a [Purpose]. The zero value makes an ordinary account.
type PurposeOptions struct {
	// Wipe overwrites each block with zeros when it is freed, before any other allocation can get
	// it. Realloc and Append wipe the old block, and Realloc the bytes that it cuts off. An
	// off-heap arena with the Purpose wipes its memory when it frees it, but not when Reset keeps
	// it. A free takes as long as clearing the block. In a block of 1 MiB and more, pages that the
	// program never wrote are read and not written, so on Linux they take no memory. Wipe works
	// with FREEHOLD=heap.
	Wipe bool
}

// A budget counts the bytes in spans, of the whole heap or of one purpose, and bounds them. A span
// counts in the heap's budget and in that of its purpose; see kind.budgets.
type budget struct {
	who   string       // Whose it is, in errors.
	held  atomic.Int64 // Bytes in spans, and in recorded blocks that lie in none. Written under the heap's lock.
	limit atomic.Int64 // Of held, 0 for none. Written under that lock.
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

	// out counts blocks (bytes for large) allocated other than through slots, and those that slots
	// have passed on; see slot.count.
	out atomic.Int64

	slabs atomic.Int64 // That exist.

	// records has the records of spans that were taken apart. They serve b's next spans, and those
	// of no other bin; see span. Guarded by the heap's lock.
	records []uintptr

	// sharing is held by a goroutine that takes a part of a slab. While it makes a slab, the others
	// that want a part wait, and then share that slab.
	sharing sync.Mutex

	mu   sync.Mutex
	list uintptr // The first span listed.
}

// groups is the number of groups in a slab, 0 for large blocks.
func (b *bin) groups() uint32 { return (b.blocks + 1<<b.shift - 1) >> b.shift }

// A span is the record of a run of granules: a slab of equal blocks or one large block. It lies in
// metadata memory, 64 bytes, and a slab's idle and group words follow it. Spans are known by their
// address; span and *span are two views of one record.
//
// A record outlives its slab: a goroutine that has looked it up may use it at any time later, when
// the slab was taken apart and the record serves the next. So a record belongs to one bin for good.
// Only base changes from one life to the next, and granules of a large block; both are written
// before the page map shows the span. The group words keep their versions from life to life, so
// that a compare-and-swap on a word that was read in another life fails.
//
// next and prev are guarded by the bin's lock.
type span struct {
	base     uintptr
	next     uintptr // Neighbours in the bin's list.
	prev     uintptr
	granules uint32
	bin      uint32
	size     uint32 // Of a block; 0 for a large block.
	magic    uint32
	blocks   uint16
	hint     uint16 // The next group that the holder of a current slab tries; 0 in others.
	shift    uint8  // log2 of the blocks in a group.
	purging  bool   // The purge holds groups of it; guarded by the heap's lock.
	state    atomic.Uint32
	full     atomic.Uint32 // Groups all of whose blocks are free in the word. In a large block: 1 if it is sampled.
	touched  atomic.Uint32 // What the purge knows of it: touchedNot and so on. In a large block: see resampleLarge.
	idle     atomic.Uint32 // Idle pages; see idleWords. In a large block: the granules of its range; see takeRange.
}

const spanBytes = 64

// recordBytes is the length of a span's record with the words of its idle pages and that many group
// words behind it.
func recordBytes(groups uint32) uintptr {
	if groups == 0 {
		return spanBytes // A large block.
	}
	return spanBytes + uintptr(groups+idleWords)*8
}

// States of a span.
const (
	spanDead     = iota // In no use; its record may serve another span.
	spanUnlisted        // A slab that no list holds: full, as far as its last user knows.
	spanListed          // A slab in its bin's list.
	spanCurrent         // A slab in use by one holder.
	spanLarge           // A large block.
	spanBusy            // A large block that a goroutine makes, resizes or clears at this moment, and a slab that it makes. Nobody else may free it.
)

// What span.touched says: whether blocks were freed in the slab since it was last purged, and
// whether the system refused that. Then ticks leave the slab alone until the next free in it: if a
// program has locked all of its memory, each tick would try all slabs in vain.
const (
	touchedNot    = iota
	touchedNow    // Since the last tick.
	touchedBefore // Before it.
	touchedLeft   // The system refused; the next Purge tries again.
)

func spanAt(addr uintptr) *span { return unsafex.At[span](addr) }
func (s *span) addr() uintptr   { return unsafex.Addr(s) }
func (s *span) bytes() uintptr  { return uintptr(s.granules) * granule }
func (s *span) groups() uint32  { return (uint32(s.blocks) + 1<<s.shift - 1) >> s.shift }

// word is the address of group g's word.
func (s *span) word(g uint32) uintptr { return s.addr() + spanBytes + (idleWords+uintptr(g))*8 }

// groupAt is the group whose word is at w.
func (s *span) groupAt(w uintptr) uint32 { return uint32(w-s.word(0)) / 8 }

// count is the number of blocks in group g.
func (s *span) count(g uint32) uint32 { return min(1<<s.shift, uint32(s.blocks)-g<<s.shift) }

// groupBase is the address of the first block of group g.
func (s *span) groupBase(g uint32) uintptr {
	return s.base + uintptr(g<<s.shift)*uintptr(s.size)
}

// last is the number of bytes in group g less one.
func (s *span) last(g uint32) uint32 { return s.count(g)*s.size - 1 }

// mask has a bit for each block of group g.
func (s *span) mask(g uint32) uint32 { return uint32(1<<s.count(g) - 1) }

// find is the number of the block at addr, and whether a block begins there.
func (s *span) find(addr uintptr) (uint32, bool) {
	return s.findFrom(s.base, addr)
}

// findFrom is find in the life of the record that had that base.
func (s *span) findFrom(base, addr uintptr) (uint32, bool) {
	d := addr - base
	i, _ := divide(d, s.magic)
	return i, i < uint32(s.blocks) && uintptr(i)*uintptr(s.size) == d
}

// Idle pages are those pages of slabs that take no memory of the machine: nothing was written to
// them since they came from the machine, or since they were purged. All blocks that lie on an idle
// page are free and in no slot. A slab's record has a bit for each of its pages, in front of the
// group words.
//
// A page becomes idle in allocSpan, before anyone knows the slab, and in purgeSlab, which holds the
// groups of all its blocks meanwhile. It ceases to be idle when a holder checks a group out that
// lies on it in part, or takes a block: by an atomic operation, because several groups share a
// page.
//
// The record's first line, which each slow free reads anyway, counts the idle pages, so the bits
// are read only if the slab has idle pages. The count rises behind the bits and before the groups
// are free again, and falls behind the bits: it is not 0 for a holder that can check out a group
// which lies on an idle page.
const idleWords = 2 // A slab has at most 512 KiB, which is 128 pages of 4 KiB.

// divide divides an offset by a block size through the size's magic, ceil(2^32/size), and says
// whether it is a multiple. It is exact for the offsets within a slab as far as the quotient of
// multiples goes, and as far as the answer goes for offsets within a group: for d = q*size + r the
// low half of the product is q*e + r*magic with e = size*magic - 2^32 < size, which is below magic
// only if r is 0, as (q+1)*e < magic there. (Lemire, Kaser, Kurz: Faster Remainder by Direct
// Computation, 2019, section 3.2, with 32 bits.)
func divide(d uintptr, magic uint32) (q uint32, multiple bool) {
	x := uint64(d) * uint64(magic)
	return uint32(x >> 32), uint32(x) < magic
}

func magicOf(size uintptr) uint32 { return uint32((1<<32 + uint64(size) - 1) / uint64(size)) }

// A group is up to 32 neighbouring blocks of a slab; its word says which of them are free:
//
//	bits  0–31  free blocks that no holder has checked out
//	bits 32–47  holder: 0 for none, purger, or the number of the holder plus one
//	bits 48–63  version: it counts check-outs and check-ins
//
// A holder that checks a group out takes the bits into its slot and leaves its number. Frees by
// others go into the word. The word changes by compare-and-swap only, and each transition changes
// the version: if a goroutine reads the word, then the holder's mask, and then swaps the word
// successfully, the mask was that of this word, whose blocks the holder allocates and frees
// meanwhile. So a double free is found without a lock, unless the holder and another goroutine free
// the block at the same moment: a holder's own free is no transition, and each may read before the
// other writes. Then the block's bit is in the mask and in the word.
//
// The version comes back after 65,536 changes. If a goroutine stands still between its load and its
// swap while just so many change the word, and bits and holder are what they were, the swap
// succeeds. In a correct program it may: the block that it frees is still in use, and the blocks
// that it takes are still free. A double free may go unnoticed.
const (
	groupMax    = 32
	groupBits   = 1<<groupMax - 1
	holderShift = 32
	holderMask  = 0xffff << holderShift
	versionOne  = 1 << 48

	// purger holds a group while its pages are purged or its slab is taken apart. The bits stay in
	// the word, where frees find them; only allocation keeps away.
	purger = 0xffff

	// groupBytes bounds what one check-out keeps from others.
	groupBytes = 16 << 10
)

func freeBits(v uint64) uint32 { return uint32(v) }
func holderOf(v uint64) int    { return int(v >> holderShift & 0xffff) }

func withHolder(v uint64, n int) uint64 {
	return v&^holderMask&^groupBits + versionOne | uint64(n)<<holderShift
}

// A region is reserved address space, allocated in granules. It is never unmapped. Regions for
// typed data are separate: memory there keeps the type that it was first allocated for.
type region struct {
	base     uintptr
	size     uintptr
	refStart uint64 // What a Ref to its first byte says.
	typed    bool
	pages    pageMap
	used     atomic.Uintptr // Bytes from base that were ever allocated; these are committed.

	// Guarded by the lock of the heap.
	committed uintptr // Bytes from base.
	runs      pageRuns
	fresh     []uint64 // Granules freed since the last tick of the purge.
	stale     []uint64 // Granules freed before it; both hold data and memory.
	half      []uint64 // Those of both that take memory for one of their two pages alone.
	huge      []uint64 // Units of 2 MiB that may be one huge page.
	noHuge    []bool   // Zones in which the system was asked not to make huge pages.
}

const (
	commitUnit  = wordBits * granule // 512 KiB
	zone        = 64 << 20           // The unit in which huge pages are asked for or refused.
	hugeUnit    = 2 << 20
	hugeFrom    = 16 << 20 // Bytes of a region that stay in small pages: small programs stay small.
	maxRegions  = 64
	firstRegion = 256 << 30 * (is64Int) // Address space costs nothing where it is not limited.
	smallRegion = 32 << 20
	typedRegion = 64 << 30 * is64Int
)

// regionOf is the region of an address, or nil for a foreign one. This is the range check that
// comes before any record is read.
func (h *heap) regionOf(addr uintptr) *region {
	for i := range int(h.nregions.Load()) {
		if r := &h.regions[i]; addr-r.base < r.size {
			return r
		}
	}
	return nil
}

// spanOf is the span that holds addr, or nil.
func (h *heap) spanOf(addr uintptr) *span {
	// The first region is nearly always the only one. Its base is set before used is more than 0.
	r := &h.regions[0]
	if used := r.used.Load(); used != 0 && addr-r.base < used {
		return r.entry(addr)
	}
	return h.spanBeyond(addr)
}

func (h *heap) spanBeyond(addr uintptr) *span {
	r := h.regionOf(addr)
	if r == nil || addr-r.base >= r.used.Load() {
		return nil // The page map is committed as far as granules were allocated.
	}
	return r.entry(addr)
}

// entry is the page map's entry for an address whose granule was allocated.
func (r *region) entry(addr uintptr) *span {
	return unsafex.At[span](r.pages.lookUp((addr - r.base) / granule))
}

// meta allocates memory for the allocator's own records. It lies apart from the blocks, so that no
// write through a stale slice reaches it (C1). It is zero, and never comes back: a bin keeps the
// records of the slabs that it gave up, see span. It is guarded by the lock of the heap.
type meta struct {
	next, end uintptr
	bytes     int64 // Taken from the system.
}

const (
	metaAlign = 64 // A cache line.
	metaChunk = 1 << 20
)

// Giving memory back.
//
// Freed memory stays warm for a while, because it is usually needed again at once. A timer that
// runs only while there is something to give back ticks twice per delay; what has been free for
// a whole tick is purged: runs of granules in the page heap, and whole OS pages inside slabs all
// of whose blocks are free there. So a free block's memory goes back half a delay to a delay
// after it was freed.
//
// A huge page goes back to the machine only whole or split: a purge of a part of it lowers RSS
// and nothing else. Where a part is purged the page is split first, and the kernel is asked not
// to make huge pages in that zone again, or else khugepaged would fill the holes with memory.
// The wish is one per 64 MiB, because each change of it splits a mapping and the number of
// mappings is limited (vm.max_map_count).
type purgeState struct {
	h     *heap
	timer func()       // It is tick.
	armed atomic.Bool  // A tick will come.
	delay atomic.Int64 // Nanoseconds. Tests set it; negative: never.
	mu    sync.Mutex   // One purge at a time. It comes before the heap's lock.
	runs  atomic.Int64 // Purges that have ended.

	// Guarded by the lock of the heap.
	freshBytes, staleBytes int64 // In granules freed since the last tick, and before it.
	halfBytes              int64 // Bytes of pages among these that take no memory; see region.half.

	idle atomic.Int64 // Bytes of idle pages inside slabs.
}

// granuleRange is n granules from i of a region.
type granuleRange struct {
	r    *region
	i, n int
}

func (g granuleRange) addr() uintptr  { return g.r.base + uintptr(g.i)*granule }
func (g granuleRange) bytes() uintptr { return uintptr(g.n) * granule }

// halfGranule is what an idle page takes off the bytes that a freed granule counts for. Pages are
// of 4 KiB where a granule has several.
const halfGranule = granule / 2

// A request is one allocation: n bytes of a kind.
type request struct {
	kind  *kind
	desc  *typeDesc // Of the values that it is for, nil for bytes.
	n     uintptr
	align uintptr
	zero  bool
	local *Local
}

// typeDesc describes a type, found once a type.
type typeDesc struct {
	key uintptr
	bin uint32 // Of New without a purpose; nullBin if the fast path must not serve it.

	size     uintptr
	align    uintptr
	typ      reflect.Type
	pointers bool   // Values hold pointers: the type promises to be self-contained.
	typed    bool   // Blocks never serve another type: it holds bools or promises to be self-contained. Also of refused types, whose Refs must lead nowhere.
	kind     *kind  // Without a purpose.
	path     string // Not empty: it holds Go pointers and is refused.
	remedy   string // What to do about these pointers.
	names    struct{ one, slice string }
}

// kindKey is the key of the kinds of values of the type; see kind.key.
func (d *typeDesc) kindKey() uintptr {
	if d.typed {
		return d.key
	}
	return 0
}

// A Local allocates for one goroutine at a time. It need not find out which P runs the goroutine,
// so it is the fastest way to allocate single blocks. Its blocks are ordinary blocks: any goroutine
// may free them in any way, and a Local may free any block. Until Close a Local keeps free blocks
// to itself: of each size and kind up to 16 KiB, and a slab (64 to 512 KiB) of those that it often
// allocates. No other goroutine gets them, and a limit counts their slabs. [In] allocates values,
// slices and aligned blocks from a Local, and resizes slices.
//
// A Local must not be copied; pass the pointer that [NewLocal] returned. Every call of a copy
// panics with a [*MisuseError], and so does every call of a zero Local and of a closed one. A call
// of a nil Local panics, too: Close and functions with Try in their names as above, Alloc,
// AllocUninit and Free with Go's error for a nil pointer.
//
// If two goroutines use one Local at the same time, that is a data race. In a build with -race each
// call writes to the Local, so the race detector reports it.
type Local struct {
	_     noCopy
	self  *Local // The Local itself. A copy and the zero Local have another value here.
	cache *cache // noCache if the Local has no cache of its own.
	id    int    // Holder number, or closedLocal, or sharedLocal.
	calls int    // Written by each call under the race detector.

	handle  *handle         // Stays when the program drops the Local.
	cleanup runtime.Cleanup // Reclaims the cache of a dropped Local.
}

// A handle is what offheap knows of a Local apart from the Local itself: enough to end one that the
// program has dropped, and to say where an open one was made.
type handle struct {
	made debugmode.Stack // Where, in the modes that keep stacks.
	h    *heap
	id   int // The holder number, or sharedLocal.

	closed bool // Set by Close. It is not in the Local, so that no copy brings it back.
}

// noCopy makes go vet report copies of a struct that has a field of this type.
type noCopy struct{}

func (*noCopy) Lock() {}

func (*noCopy) Unlock() {}

// recorder serves every block where the slabs do not: with the kill switch, in the debug modes, and
// under the race detector. Then no holder has a cache, so that each call misses the fast path and
// comes here.
//
// It keeps the promises of the ordinary way, at a price: a record of each block keeps it alive
// while nothing but a Ref or another block leads to it, and finds bad frees and counts bytes. Where
// blocks lie is another matter (see memory), and the checks of the debug modes are in debug.go.
type recorder struct {
	blocks blockTable
	inUse  atomic.Int64
	made   atomic.Uint64 // Blocks, ever.
	pages  atomic.Int64  // Bytes of the pages of guarded blocks.
	freed  quarantine
	late   atomic.Pointer[MisuseError] // Found in a block that left the quarantine, and not reported yet.
	h      *heap

	modes   debugmode.Config // Zero for the kill switch and the race detector alone.
	unpaged bool             // There are no guarded pages.
	under   *heap            // It gives the memory of blocks that are not guarded; nil: the Go heap does.
	kinds   sync.Map         // From a kind of h to that of under.
	goes    goRanges
}

// A block is one that recorder keeps a record of.
type block struct {
	addr uintptr
	size uintptr // The requested bytes.
	room uintptr // What it takes from addr on: behind size follows a canary.
	kind *kind
	desc *typeDesc // Of the values in it, nil for bytes.
	keep any       // The Go memory that it lies in, so that the collector keeps it.

	guarded bool // It lies on guarded pages.
	number  uint64
	stack   debugmode.Stack // That allocated it, in the debug modes.
}

// blockTable finds blocks by their addresses: by the 4 KiB page that they begin in.
//
// Blocks larger than a page are noted a second time, by the power of two that holds them: a block
// of at most 1<<k bytes begins in the unit of 1<<k bytes that an address inside it lies in, or in
// the one before. So what an interior pointer lies in is found in two places for each power.
type blockTable struct {
	shards [64]tableShard
	powers [tablePowers]tableShard // The first is that of two pages.
	used   atomic.Uint64           // A bit for each power that was ever noted.
}

const (
	tablePage     = 1 << tablePageBits
	tablePageBits = 12
	// recordedMax bounds a block: 64 GiB, or 512 MiB on 32-bit systems. What the Go heap cannot
	// give ends the process without an error, so that the impossible must be refused before.
	recordedMax     = 1 << recordedMaxBits
	recordedMaxBits = 29 + 7*is64Int
	tablePowers     = recordedMaxBits - tablePageBits
)

// tableShard is a table of blocks by the page, or the larger unit, that they begin in.
type tableShard struct {
	mu    sync.Mutex
	units map[uintptr][]block
}

// quarantine keeps the blocks freed last from being used again, so that no other block has their
// addresses. So a double free is distinguished from a foreign pointer, and a write after a free
// damages no other block. It keeps at least 8 blocks, and otherwise no more than its bounds allow.
type quarantine struct {
	most      int     // Blocks.
	bytesMost uintptr // Bytes that they take.

	mu     sync.Mutex
	blocks []block // The oldest first.
	bytes  uintptr
	seen   int // The first seen blocks have been checked in this round.
}

// goRanges knows which addresses belong to the Go heap, where goroutines' stacks lie, too. The
// runtime has no API for it, so goRanges infers them from the outside. The heap takes address space
// in units of goUnit, so that all of the unit around a known object is the heap's. Linux shows the
// mappings of the process besides: those that adjoin the one around such a unit, without a file or
// a foreign name, are the heap's, too, because it grows upwards from where it began, far from
// everything else on 64-bit systems; and newer kernels show the runtime's own names for them. On
// 32-bit systems without such names a unit can stay unknown.
type goRanges struct {
	mu   sync.Mutex
	list []addrRange // Sorted, apart from each other.
}

// addrRange is the addresses from lo up to, but not including, hi.
type addrRange struct{ lo, hi uintptr }

// goUnit is the least of the units in which the heap takes address space, on the systems that there
// are; it is 64 MiB on most.
const goUnit = 4 << 20

// goWindow is how far apart two addresses of the heap may lie before the second is not looked for:
// where the ranges may be out of date they are read anew, which takes long.
const goWindow = 1 << (24 + 16*is64Int)

func (h *heap) binByID(id uint32) *bin { return (*h.bins.Load())[id] }

// serving is the recorder that serves the heap, or nil if the slabs do. A heap chooses once, when
// it starts. The fast paths do not ask: a heap that a recorder serves has no caches.
func (h *heap) serving() *recorder { return h.recorder.Load() }

// slabs is the heap with the slabs that the memory of blocks comes from. If blocks come from the Go
// heap, the slabs serve no block.
func (h *heap) slabs() *heap {
	if t := h.serving(); t != nil && t.under != nil {
		return t.under
	}
	return h
}

// cache returns the cache of a holder, or nil if it has none yet.
func (h *heap) cache(id int) *cache {
	addr := h.caches[id].Load()
	if addr == 0 {
		return nil
	}
	return unsafex.At[cache](addr)
}

// drawing says what the count of a slot was drawn for.
type drawing uint8

const (
	undrawn       drawing = iota
	drawnIdle             // For no sampling.
	drawnSampling         // The allocation after the last that counts is sampled.
)

// refBias is the offset of the first region, so that no Ref to a value is 0.
const refBias = granule

// refZeroSize is the Ref to values of size zero. It lies below refBias.
const refZeroSize = 8

// A guardedRef, with this bit and an address, leads to a sampled guarded block: these lie in no
// region. It is the highest bit below RefBits. Addresses are shorter.
const guardedRef = 1 << 55

// badRef is the error of a Ref that leads nowhere, or of a SliceRef to n values.
func badRef(off uint64, d *typeDesc, n uint64) error {
	if n > 0 {
		return fmt.Errorf("offheap: SliceRef %#x does not lead to %d of %s: they were freed, or the SliceRef is damaged", off, n, d.typ)
	}
	return fmt.Errorf("offheap: Ref %#x does not lead to a %s: the value was deleted, or the Ref is damaged, or a tag is left in its bits", off, d.typ)
}

// zeroSize is where values of size zero lie.
var zeroSize uint64

func zeroSizeAddr() uintptr { return unsafex.Addr(&zeroSize) }

func tooMany(n uintptr, d *typeDesc) error {
	return &allocError{ErrOutOfMemory, fmt.Sprintf("%d values of %s (%d bytes each)", n, d.typ, d.size), errTooLarge}
}
