// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

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
var guarded = guards{mem: vmem.System(), left: blocks.forget}

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

// Guarded objects.
//
// Functions such as weak.Make, runtime.AddCleanup and ed25519.Sign take pointers to the Go heap,
// and Go ends a process that passes them any other. A value of an arena on Go memory may be passed
// to them, so it stays on the Go heap when it is guarded:
//
//  1. NewObject makes an object without pointers, of whole pages. The value lies at the end of its
//     pages. Those around them are made inaccessible: one before and two behind. A sampled value
//     has one behind and, if it fills its pages, one before, because the collector counts all of
//     them as live, and each inaccessible range among other memory takes two mappings.
//  2. FreeObject gives the memory of the pages back and makes all of them inaccessible. The
//     collector has no reason to read or write an object without pointers that is alive (GC-11),
//     and the quarantine keeps it alive.
//  3. When it leaves the quarantine its pages are made accessible again, and it is the collector's.
//  4. An object to which nothing leads, such as one of an arena that was forgotten, is not freed by
//     hand. Its finalizer makes the page behind it accessible before the collector takes it.
//
// Because the collector keeps what a stale pointer leads to, the addresses need not stay those of
// one type, as those of GuardAllocFor must.

// objects are the guarded objects, and those of the quarantine, oldest first.
type objects struct {
	byAddr     map[uintptr]*guardSlot // by the address of the value
	quarantine []*guardSlot
	held       int64        // bytes of the quarantine
	stuck      []*guardSlot // that the collector must never have
}

// An objectSlot is what a guardSlot has besides if it is an object.
type objectSlot struct {
	maps            int         // that it takes
	object          uintptr     // where Go's object begins
	outer, outerEnd uintptr     // all of the pages, with the inaccessible ones
	keep            unsafex.Ptr // the value, in the quarantine; keeps the object alive
	sampled         bool        // it counts as arenas' (HoldSample)
}

func (s *objectSlot) bytes() int64 { return int64(s.outerEnd - s.outer) }

// The quarantine of objects counts as live heap, so it is small beside the budget of bytes; and
// each object in it may take two mappings, which come on top of Config.GuardMaps.
const (
	objectsPart = 8 // of the bytes
	objectsMost = 64 << 20
	objectsMaps = 4 // of the mappings
	fewObjects  = 64
)

// objectPages is the pages of an object: inaccessible ones, those of the value, and inaccessible
// ones.
type objectPages struct{ front, value, behind uintptr }

// pagesOfObject is what a value of so many bytes takes. It never begins where Go's object does, so
// that no other finalizer can be set for it.
func pagesOfObject(size uintptr, sampled bool) objectPages {
	p := objectPages{1, pagesOf(size), 2}
	if sampled {
		p.behind = 1
		if size == 0 || size%vmem.PageSize() != 0 {
			p.front = 0
		}
	}
	return p
}

func (p objectPages) bytes() uintptr { return (p.front + p.value + p.behind) * vmem.PageSize() }

// maps is how many mappings the object takes in the middle of accessible memory.
func (p objectPages) maps() int {
	if p.front > 0 {
		return 2 * mapsPerBlock
	}
	return mapsPerBlock
}

// NewObject is GuardAlloc for a value of an arena on Go memory, which holds no pointers: the memory
// is an object on the Go heap, which lives as long as something leads to it or FreeObject is
// called. typed is for values with bits that must stay those of their type, such as bools: beside
// them lies TypedPattern. sampled says that HoldSample has counted the value, which is taken back
// at its end.
func NewObject(size, align uintptr, typed, sampled bool) (unsafex.Ptr, bool) {
	return guarded.newObject(size, align, typed, sampled)
}

// FreeObject is GuardFree for what NewObject returned.
func FreeObject(p unsafex.Ptr) { guarded.freeObject(p) }

func (g *guards) newObject(size, align uintptr, typed, sampled bool) (unsafex.Ptr, bool) {
	page := vmem.PageSize()
	if !vmem.Supported || align == 0 || align&(align-1) != 0 || align > page || size > math.MaxInt-4*page {
		return nil, g.refuse(errors.ErrUnsupported)
	}
	pages := pagesOfObject(size, sampled)
	if err := g.takeObject(pages); err != nil {
		return nil, g.refuse(err)
	}
	s := &guardSlot{state: slotLive, size: size, objectSlot: &objectSlot{sampled: sampled, maps: pages.maps()}}
	if typed {
		s.kind.typ = 1
	}
	memory, outer := wholePages(pages.bytes())
	s.object, s.outer = unsafex.PtrAddr(memory), unsafex.PtrAddr(outer)
	s.outerEnd = s.outer + pages.bytes()
	s.base, s.kind.pages = s.outer+pages.front*page, pages.value
	s.first = s.base
	s.addr = (s.base + s.kind.pages*page - size) &^ (align - 1)
	if err := g.fence(s, vmem.None); err != nil {
		g.dropObject(s)
		return nil, g.refuse(err)
	}
	p := unsafex.Add(outer, s.addr-s.outer)
	unsafex.FillAt(unsafex.Before(p, s.addr-s.first), s.addr-s.first, s.canary())
	unsafex.FillAt(unsafex.Add(p, size), s.end()-s.addr-size, s.canary())
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.objects.byAddr == nil {
		g.objects.byAddr = make(map[uintptr]*guardSlot)
	}
	g.objects.byAddr[s.addr] = s
	runtime.SetFinalizer(unsafex.As[byte](memory), func(m *byte) { g.forgotten(s, unsafex.PtrOf(m)) })
	return p, true
}

// wholePages makes an object that holds so many bytes in whole pages, which begin at outer.
func wholePages(bytes uintptr) (memory, outer unsafex.Ptr) {
	memory = unsafex.DataOf(make([]byte, bytes))
	if unsafex.PtrAddr(memory)%vmem.PageSize() == 0 {
		return memory, memory
	}
	memory = unsafex.DataOf(make([]byte, bytes+vmem.PageSize())) // Pages larger than the runtime's.
	return memory, unsafex.Add(memory, -unsafex.PtrAddr(memory)%vmem.PageSize())
}

// CheckObject is CheckCanary for what NewObject returned.
func CheckObject(p unsafex.Ptr) (offset int, ok bool) {
	_, s := guarded.liveSlot(unsafex.PtrAddr(p), "CheckObject", slotLive)
	before, behind := s.addr-s.first, s.end()-s.addr-s.size
	return s.damage(unsafex.SliceOf[byte](unsafex.Before(p, before), int(before), int(before)),
		unsafex.SliceOf[byte](unsafex.Add(p, s.size), int(behind), int(behind)))
}

// takeObject counts an object as live.
func (g *guards) takeObject(p objectPages) error {
	bytes := int64(p.value * vmem.PageSize())
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.admit(bytes, p.maps()); err != nil {
		return err
	}
	for _, limit := g.budget(); g.held+bytes > limit && len(g.quarantine) > 0; {
		g.release()
	}
	g.count(1, bytes, p.maps())
	return nil
}

func (g *guards) dropObject(s *guardSlot) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropObjectLocked(s)
}

func (g *guards) dropObjectLocked(s *guardSlot) { g.count(-1, -int64(s.end()-s.first), -s.maps) }

// fence sets the protection of the pages around the value's. If that fails for the second of them,
// the first are as they were.
func (g *guards) fence(s *guardSlot, p vmem.Protection) error {
	if s.outer < s.base {
		if err := g.mem.Protect(s.outer, s.base-s.outer, p); err != nil {
			return err
		}
	}
	err := g.mem.Protect(s.end(), s.outerEnd-s.end(), p)
	if err != nil && s.outer < s.base {
		err = errors.Join(err, g.mem.Protect(s.outer, s.base-s.outer, vmem.ReadWrite))
	}
	return err
}

func (g *guards) freeObject(p unsafex.Ptr) {
	s, was := g.liveSlot(unsafex.PtrAddr(p), "FreeObject", slotQuarantine)
	err := g.mem.Purge(was.first, was.end()-was.first)
	err = errors.Join(err, g.mem.Protect(was.first, was.end()-was.first, vmem.None))
	g.mu.Lock()
	defer g.mu.Unlock()
	s.keep = p
	if err != nil {
		say("a freed value could not be made inaccessible: %v", err) // It goes on counting, and is never the collector's.
		return
	}
	if s.sampled {
		DropSample(s.size)
	}
	g.dropObjectLocked(s)
	q := &g.objects
	q.quarantine = append(q.quarantine, s)
	q.held += s.bytes()
	maps, limit := g.budget()
	for len(q.quarantine) > max(fewObjects, maps/objectsMaps) || q.held > min(limit/objectsPart, objectsMost) {
		g.releaseObject()
	}
}

// releaseObject lets the oldest object out of the quarantine.
func (g *guards) releaseObject() {
	q := &g.objects
	s := q.quarantine[0]
	q.quarantine[0] = nil
	q.quarantine = q.quarantine[1:]
	q.held -= s.bytes()
	delete(q.byAddr, s.addr)
	g.left(s.addr)
	s.state = slotIdle
	if err := g.mem.Protect(s.outer, s.outerEnd-s.outer, vmem.ReadWrite); err != nil {
		g.stuck(s, err)
		return
	}
	runtime.SetFinalizer(unsafex.As[byte](unsafex.Before(s.keep, s.addr-s.object)), nil)
	s.keep = nil
}

// forgotten is the finalizer of an object that was not freed.
func (g *guards) forgotten(s *guardSlot, memory unsafex.Ptr) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.objects.byAddr, s.addr)
	g.left(s.addr)
	s.state = slotIdle
	if s.sampled {
		DropSample(s.size)
	}
	g.dropObjectLocked(s)
	if err := g.fence(s, vmem.ReadWrite); err != nil {
		s.keep = memory
		g.stuck(s, err)
	}
}

// stuck keeps an object for good, by s.keep, whose pages cannot be made accessible again: the
// collector must not use them.
func (g *guards) stuck(s *guardSlot, err error) {
	g.objects.stuck = append(g.objects.stuck, s)
	say("the memory of a value that was freed or forgotten cannot be used again: %v", err)
}

// arenas is what sampled blocks in arenas hold of the budgets.
var arenas portion

// HoldSample is TakeSample for a value of so many bytes in an arena. Values live until their arena
// ends, so they get the part of each budget up to which other blocks are served without chance. A
// value that does not fit is counted as skipped, and the first time one line says so. NewObject
// takes the count back when the value ends. If the value is not made, the caller must call
// DropSample.
func HoldSample(size uintptr) bool {
	if !arenas.take(size, Current()) {
		return false
	}
	if TakeSample() {
		return true
	}
	DropSample(size)
	return false
}

// DropSample takes back what HoldSample counted.
func DropSample(size uintptr) { arenas.drop(size) }

// portion is what some blocks hold of thinFrom of each budget.
type portion struct {
	maps, bytes atomic.Int64
	told        atomic.Bool
}

// take counts a block if there is room for it and chance is for it.
func (h *portion) take(size uintptr, c Config) bool {
	maps, bytes := h.maps.Add(mapsPerBlock), h.bytes.Add(pageBytes(size))
	mostMaps, mostBytes := thinFrom*float64(c.GuardMaps), thinFrom*float64(liveBytes(c.GuardBytes))
	fill := max(float64(maps-mapsPerBlock)/mostMaps, float64(bytes-pageBytes(size))/mostBytes)
	if float64(maps) <= mostMaps && float64(bytes) <= mostBytes && lucky(fill) {
		return true
	}
	h.drop(size)
	samples.skipped.Add(1)
	if h.told.CompareAndSwap(false, true) {
		say("values in arenas that are not freed have nearly used their part of the budget of guarded memory (%d mappings, %d bytes): "+
			"from now on fewer are sampled, the more of them there are", c.GuardMaps, c.GuardBytes)
	}
	return false
}

func (h *portion) drop(size uintptr) {
	h.maps.Add(-mapsPerBlock)
	h.bytes.Add(-pageBytes(size))
}

// pageBytes is what a guarded block of so many bytes takes of Config.GuardBytes.
func pageBytes(size uintptr) int64 { return int64(pagesOf(size) * vmem.PageSize()) }
