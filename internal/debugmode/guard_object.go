// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"errors"
	"math"
	"runtime"

	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

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
