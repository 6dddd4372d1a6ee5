// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// gapPages are the inaccessible pages between two guarded blocks, so that an overflow by a whole
// page faults, too. They take address space alone, which 32-bit systems are short of.
const gapPages = 2 + 2*(math.MaxUint>>63)

// mapsPerBlock are the mappings that a guarded block makes: its own, and the inaccessible one
// behind it.
const mapsPerBlock = 2

// regionPages is how many pages are reserved at a time, if nothing bounds the address space.
const regionPages = 1 << (12 + 6*(math.MaxUint>>63))

// guards holds the guarded pages. Address space is carved into slots, each of a number of pages
// that never changes, with a gap before and behind; so a slot is found by address with a binary
// search.
type guards struct {
	mem   vmem.Memory
	maps  int // the bounds, see Config
	limit int64
	left  func(addr uintptr) // called for each block that leaves the quarantine

	mu         sync.Mutex
	regions    []*guardRegion            // by address
	idle       map[slotKind][]*guardSlot // slots whose addresses may be used again
	quarantine []*guardSlot              // oldest first
	live       int                       // blocks
	liveMaps   int                       // their mappings
	liveHeld   int64                     // bytes of their pages
	held       int64                     // liveHeld, and the pages of the quarantine
	refused    uint64
	told       error // why the last refusal that the operator knows of
	objects    objects
}

type guardRegion struct {
	base, end uintptr
	used      uintptr      // where the next slot begins, with its gap
	slots     []*guardSlot // by address
}

// slotKind is what must be the same for a slot to serve again.
type slotKind struct {
	pages uintptr
	typ   uintptr // see GuardAllocFor, 0 for none

	// of a block with a type that does not end where the slot ends. All others have their values in one
	// grid, which begins at the end.
	size, align uintptr
}

// kindOf is the kind of slot for a block, whose alignment is at most a page's.
func kindOf(typ, size, align uintptr) slotKind {
	k := slotKind{pages: sizeclass.Capacity(pagesOf(size)), typ: typ}
	if typ != 0 && size&(align-1) != 0 {
		k.size, k.align = size, align
	}
	return k
}

// A guardSlot is a run of pages.
type guardSlot struct {
	base       uintptr  // never changes
	kind       slotKind // nor does this
	state      guardState
	addr, size uintptr // the block that is or was there
	first      uintptr // the first of its pages that are accessible

	*objectSlot // of a value on the Go heap, nil for others
}

type guardState uint8

const (
	slotIdle guardState = iota
	slotLive
	slotQuarantine
)

// canary is the byte beside blocks in the slot.
func (s *guardSlot) canary() byte {
	if s.kind.typ != 0 {
		return TypedPattern
	}
	return Canary
}

func (s *guardSlot) end() uintptr { return s.base + s.kind.pages*vmem.PageSize() }

// guarded holds those of this process.
var guarded = guards{mem: vmem.System(), left: Forget}

// GuardAlloc returns size bytes on pages of their own, zeroed and aligned to align, a power of two
// of at most the size of a page. The block ends at the end of its last page, or as shortly before
// it as the alignment allows; the rest of its pages holds canaries, which CheckCanary checks. It
// returns false if a budget is exhausted or the system refuses; the first time, one line says so.
func GuardAlloc(size, align uintptr) (addr uintptr, ok bool) { return guarded.alloc(size, align) }

// GuardAllocFor is GuardAlloc for values of a type whose bits must stay those of its type, such as
// one that holds bools, because stale pointers may still read them. The addresses will serve that
// type alone, and the canaries are TypedPattern. typ is any number that stands for the type, but 0;
// size must be a multiple of the type's size.
func GuardAllocFor(typ, size, align uintptr) (addr uintptr, ok bool) {
	return guarded.allocFor(typ, size, align)
}

// GuardFree makes the pages of the block that GuardAlloc returned inaccessible and gives their
// memory back. Their addresses are not used again while the quarantine has room. Nothing else may
// be freed; that panics.
func GuardFree(addr uintptr) { guarded.free(addr) }

// Guarded reports whether addr is the address of a block that GuardAlloc or NewObject returned,
// alive or in quarantine.
func Guarded(addr uintptr) bool {
	var b Block
	b.Addr = addr
	guarded.describe(&b)
	return b.Guarded
}

// describe fills in whether b is guarded, and the pages of an object.
func (g *guards) describe(b *Block) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.slotOf(b.Addr)
	if s == nil || s.addr != b.Addr || s.state == slotIdle {
		return
	}
	b.Guarded = true
	if s.objectSlot != nil {
		b.outer, b.outerEnd = s.outer, s.outerEnd
	}
}

// CheckCanary looks for bytes that were written beside the block that GuardAlloc returned at addr
// and that is alive: on its own pages, so that no access faulted. It returns false with the place
// of the first such byte behind the block, or else of the last before it, as an offset from addr:
// negative before the block, at least its size behind it.
func CheckCanary(addr uintptr) (offset int, ok bool) { return guarded.check(addr) }

// GuardStats are the counts of guarded blocks.
type GuardStats struct {
	Live       int    // blocks that are guarded now
	Quarantine int    // freed blocks whose addresses are not used again yet
	Bytes      int64  // pages of both, in bytes
	Refused    uint64 // calls of GuardAlloc that returned false
}

// ReadGuardStats returns the counts of this process.
func ReadGuardStats() GuardStats {
	guarded.mu.Lock()
	defer guarded.mu.Unlock()
	return GuardStats{Live: guarded.live, Quarantine: len(guarded.quarantine) + len(guarded.objects.quarantine),
		Bytes: guarded.held + guarded.objects.held, Refused: guarded.refused}
}

// Why a block comes unguarded although the system has pages: there is no room, or there is a little
// and chance was against the block.
var (
	errBudget = errors.New("the budget is used up")
	errThin   = errors.New("the budget is nearly used up")
)

func (g *guards) alloc(size, align uintptr) (uintptr, bool) { return g.allocFor(0, size, align) }

func (g *guards) allocFor(typ, size, align uintptr) (uintptr, bool) {
	page := vmem.PageSize()
	if align == 0 || align&(align-1) != 0 || align > page || size > math.MaxInt-page {
		return 0, g.refuse(errors.ErrUnsupported)
	}
	need := pagesOf(size)
	s, err := g.take(need, kindOf(typ, size, align))
	if err != nil {
		return 0, g.refuse(err)
	}
	first := s.end() - need*page
	if err := g.mem.Commit(first, need*page); err != nil {
		g.untake(s, need)
		return 0, g.refuse(err)
	}
	addr := (s.end() - size) &^ (align - 1)
	fill(first, addr, s.canary())
	fill(addr+size, s.end(), s.canary())
	g.mu.Lock()
	defer g.mu.Unlock()
	s.addr, s.size, s.first, s.state = addr, size, first, slotLive
	return addr, true
}

// pagesOf is how many pages a block of so many bytes takes.
func pagesOf(size uintptr) uintptr {
	page := vmem.PageSize()
	return max(1, (size+page-1)/page)
}

// take finds a slot for so many pages and counts it as live.
func (g *guards) take(need uintptr, kind slotKind) (*guardSlot, error) {
	page := int64(vmem.PageSize())
	g.mu.Lock()
	defer g.mu.Unlock()
	_, limit := g.budget()
	if err := g.admit(int64(need)*page, mapsPerBlock); err != nil {
		return nil, err
	}
	for g.held+int64(need)*page > limit && len(g.quarantine) > 0 {
		g.release()
	}
	s, err := g.slot(kind)
	for err != nil && len(g.quarantine) > 0 {
		g.release() // Where address space is short, one of the same kind may serve again.
		s, err = g.slot(kind)
	}
	if err != nil {
		return nil, err
	}
	g.count(1, int64(need)*page, mapsPerBlock)
	return s, nil
}

// count counts live blocks, their pages and mappings.
func (g *guards) count(blocks int, bytes int64, maps int) {
	g.live += blocks
	g.liveMaps += maps
	g.liveHeld += bytes
	g.held += bytes
}

// A block of more than 1/largePart of the bytes must fit below thinFrom, or a single one would
// leave nothing to the others.
const largePart = 64

// admit says whether there is room for a block with pages of so many bytes and so many mappings,
// and whether chance lets it have that (see thin.go).
func (g *guards) admit(bytes int64, more int) error {
	maps, limit := g.budget()
	most := liveBytes(limit)
	if g.liveMaps+more > maps || g.liveHeld+bytes > most {
		return errBudget
	}
	if bytes > most/largePart && bytes > int64(vmem.PageSize()) && float64(g.liveHeld+bytes) > thinFrom*float64(most) {
		return errBudget
	}
	if !lucky(max(float64(g.liveMaps)/float64(maps), float64(g.liveHeld)/float64(most))) {
		return errThin
	}
	return nil
}

// liveBytes is the part of a budget of bytes that blocks in use may take; an eighth stays for the
// quarantine.
func liveBytes(budget int64) int64 {
	return budget - budget/8&^int64(vmem.PageSize()-1)
}

func (g *guards) budget() (maps int, bytes int64) {
	if g.maps == 0 && g.limit == 0 {
		c := Current().withDefaults()
		g.maps, g.limit = c.GuardMaps, c.GuardBytes
	}
	return g.maps, g.limit
}

// untake is for a slot whose pages could not be had.
func (g *guards) untake(s *guardSlot, need uintptr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(-1, -int64(need*vmem.PageSize()), -mapsPerBlock)
	g.idle[s.kind] = append(g.idle[s.kind], s)
}

// refuse counts a refusal, and reports each reason once, unless a worse one was reported. It
// returns false.
func (g *guards) refuse(why error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused++
	if g.told != nil && (g.told != errThin || why == errThin) {
		return false
	}
	g.told = why
	maps, bytes := g.budget()
	switch {
	case errors.Is(why, errThin):
		say("the budget of guarded memory is nearly used up (%d mappings, %d bytes; %s guarded): from now on some blocks come unguarded, and more the less is left",
			maps, bytes, count(uint64(g.live), "block"))
	case errors.Is(why, errBudget):
		say("the budget of guarded memory is used up (%d mappings, %d bytes; %s guarded): further blocks come unguarded",
			maps, bytes, count(uint64(g.live), "block"))
	default:
		say("no guarded memory: further blocks may come unguarded: %v", why)
	}
	return false
}

// slot returns one of the kind: an idle one, or one of fresh address space.
func (g *guards) slot(kind slotKind) (*guardSlot, error) {
	if list := g.idle[kind]; len(list) > 0 {
		s := list[0] // the one that was freed first
		list[0] = nil
		g.idle[kind] = list[1:]
		return s, nil
	}
	if g.idle == nil {
		g.idle = make(map[slotKind][]*guardSlot)
	}
	bytes := (kind.pages + gapPages) * vmem.PageSize()
	var r *guardRegion
	for _, x := range g.regions {
		if x.end-x.used >= bytes {
			r = x
		}
	}
	if r == nil {
		var err error
		if r, err = g.reserve(bytes + gapPages*vmem.PageSize()); err != nil {
			return nil, err
		}
	}
	s := &guardSlot{base: r.used, kind: kind}
	r.used += bytes
	r.slots = append(r.slots, s)
	return s, nil
}

// reserve takes address space for at least so many bytes, and much more if nothing bounds it.
func (g *guards) reserve(least uintptr) (*guardRegion, error) {
	page := vmem.PageSize()
	size := max(least, affordable(regionPages*page, least))
	base, err := g.mem.Reserve(size, page, "guarded")
	if err != nil && size > least {
		size = max(least, regionPages/64*page)
		base, err = g.mem.Reserve(size, page, "guarded")
	}
	if err != nil {
		return nil, err
	}
	r := &guardRegion{base: base, end: base + size, used: base + gapPages*page}
	i := sort.Search(len(g.regions), func(i int) bool { return g.regions[i].base > base })
	g.regions = slices.Insert(g.regions, i, r)
	return r, nil
}

// slotOf returns the slot whose pages hold addr, or nil; of an object it knows the address of its
// value alone.
func (g *guards) slotOf(addr uintptr) *guardSlot {
	if s := g.objects.byAddr[addr]; s != nil {
		return s
	}
	i := sort.Search(len(g.regions), func(i int) bool { return g.regions[i].end > addr })
	if i == len(g.regions) || addr < g.regions[i].base {
		return nil
	}
	slots := g.regions[i].slots
	// A block of no bytes begins where its slot ends.
	j := sort.Search(len(slots), func(j int) bool { return slots[j].end() >= addr })
	if j == len(slots) || addr < slots[j].base {
		return nil
	}
	return slots[j]
}

// liveSlot returns the slot of the block at addr, which must be alive, and a copy that may be
// read without the lock. The slot's state becomes next.
func (g *guards) liveSlot(addr uintptr, op string, next guardState) (*guardSlot, guardSlot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.slotOf(addr)
	if s == nil || s.addr != addr || s.state != slotLive {
		panic("debugmode: " + op + " of an address that is no live guarded block's")
	}
	s.state = next
	return s, *s
}

func (g *guards) free(addr uintptr) {
	s, was := g.liveSlot(addr, "GuardFree", slotQuarantine)
	err := g.mem.Decommit(was.first, was.end()-was.first, "guarded")
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		// The block stays accessible, so it goes on counting as a live one, and its addresses are
		// never used again.
		say("a freed block could not be made inaccessible: %v", err)
		return
	}
	bytes := int64(was.end() - was.first)
	g.count(-1, -bytes, -mapsPerBlock)
	g.held += bytes
	g.quarantine = append(g.quarantine, s)
}

// release lets the oldest block out of the quarantine.
func (g *guards) release() {
	s := g.quarantine[0]
	g.quarantine[0] = nil
	g.quarantine = g.quarantine[1:]
	g.held -= int64(s.end() - s.first)
	s.state = slotIdle
	g.left(s.addr)
	g.idle[s.kind] = append(g.idle[s.kind], s)
}

func (g *guards) check(addr uintptr) (int, bool) {
	_, s := g.liveSlot(addr, "CheckCanary", slotLive)
	return s.damage(unsafex.Bytes(s.first, addr-s.first), unsafex.Bytes(addr+s.size, s.end()-addr-s.size))
}

// damage checks the canaries before and behind the block.
func (s *guardSlot) damage(before, behind []byte) (int, bool) {
	if whole(behind) && whole(before) {
		return 0, true
	}
	for i, c := range behind {
		if c != s.canary() {
			return int(s.size) + i, false
		}
	}
	for i := len(before) - 1; i >= 0; i-- {
		if before[i] != s.canary() {
			return i - len(before), false
		}
	}
	return 0, true // The program has restored it meanwhile.
}

// fill writes the byte over [from, to), which is committed.
func fill(from, to uintptr, b byte) {
	mem := unsafex.Bytes(from, to-from)
	for done := copy(mem, []byte{b}); done > 0 && done < len(mem); {
		done += copy(mem[done:], mem[:done])
	}
}

// whole reports whether mem holds canaries alone.
func whole(mem []byte) bool { return bytes.Count(mem, []byte{Canary}) == len(mem) }

// extent is where an access is the block's: for a guarded block with all of the inaccessible pages
// around its own.
func extent(b Block) (lo, hi uint64) {
	page := uint64(vmem.PageSize())
	lo, hi = uint64(b.Addr), uint64(b.Addr)+max(uint64(b.Size), 1)
	switch {
	case b.Whole:
		return lo, lo + 1
	case b.tomb:
		return lo - tombFront, lo - tombFront + tombWindow
	case b.outerEnd > 0:
		return uint64(b.outer), uint64(b.outerEnd)
	case b.Guarded:
		return lo&^(page-1) - gapPages*page, (uint64(b.Addr)+uint64(b.Size)+page-1)&^(page-1) + gapPages*page
	}
	return lo, hi
}
