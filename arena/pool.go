// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/typeinfo"
)

// A Pool makes arenas, one for each request, and keeps the chunks of arenas that are put back. So
// an arena from Get begins with the chunks of an earlier one. The Arena itself is not used again:
// an arena that was put back panics at every use. The zero value is ready to use. Many goroutines
// may use a Pool at once. A Pool must not be copied after its first use; a copy panics.
type Pool struct {
	_ noCopy
	// Arenas is the number of arenas whose chunks a Pool keeps, 0 for GOMAXPROCS.
	Arenas int
	// Bytes is the number of bytes of chunks that it keeps for each, 0 for 4 MiB.
	Bytes int64

	// NoReuse makes the Pool's arenas leave their memory to the collector when they are put back,
	// as [Options] describe; the Pool then keeps no chunks.
	NoReuse bool

	shelf atomic.Pointer[poolShelf] // Made by the first use.
}

// A poolShelf holds the kits of one Pool. A copy of the Pool would hold the same shelf, and so no
// kit twice, but it has another address than the shelf's owner. The shelf dies with the Pool,
// wherever that lies; the count of its bytes outlives both.
type poolShelf struct {
	owner *Pool
	mu    sync.Mutex
	kits  []*kit
	bytes *atomic.Int64 // In the kits; a part of pooled.
}

// pooled is the bytes in the kits of all Pools.
var pooled atomic.Int64

// open is the shelf. It panics if p is a copy of a Pool that was used.
func (p *Pool) open(op string) *poolShelf {
	s := p.shelf.Load()
	if s == nil {
		s = &poolShelf{owner: p, bytes: new(atomic.Int64)}
		if p.shelf.CompareAndSwap(nil, s) {
			runtime.AddCleanup(s, func(n *atomic.Int64) { pooled.Add(-n.Load()) }, s.bytes)
		} else {
			s = p.shelf.Load()
		}
	}
	if s.owner != p {
		panic(misuse(op, useOfCopy, "on a copy of a Pool; use *Pool, never copy the value"))
	}
	return s
}

// Get returns an arena, which belongs to the caller until Put or Free.
func (p *Pool) Get() *Arena {
	k := p.open("Pool.Get").take(p.NoReuse || freehold.NoReuseMode())
	var made [1]uintptr
	runtime.Callers(2, made[:])
	if k != nil {
		return k.newArena(made[0])
	}
	f := new(freshArena)
	f.start(kindGo, made, Options{NoReuse: p.NoReuse})
	return &f.Arena
}

// take is a kit, or nil if there is none or the caller wants none.
func (s *poolShelf) take(none bool) (k *kit) {
	s.mu.Lock()
	if n := len(s.kits); n > 0 && !none {
		k, s.kits[n-1] = s.kits[n-1], nil
		s.kits = s.kits[:n-1]
		s.bytes.Add(-k.held)
	}
	s.mu.Unlock()
	return k
}

// opPut is the name of Put in messages.
const opPut = "Pool.Put"

// Put takes back an arena that Get returned, and frees all its values, as [Arena.Free] does. It
// ignores a nil arena.
func (p *Pool) Put(a *Arena) {
	if a == nil {
		return
	}
	s := p.open(opPut)
	a.check(opPut)
	limit := p.Bytes
	if limit == 0 {
		limit = 4 << 20
	}
	if limit < 0 || p.Arenas < 0 {
		panic(fmt.Errorf("arena: Pool with Arenas %d and Bytes %d; 0 means the default", p.Arenas, p.Bytes))
	}
	m := Mode(limit)
	if p.NoReuse {
		m = NoReuse
	}
	if a.kind != kindGo || a.abandons(m) || a.debug.apart() || a.rec.held.Load() == 0 { // There is nothing to keep.
		a.free(opPut, m)
		return
	}
	if a.debug != nil {
		defer a.begin(opPut).done()
	}
	k, forgotten := a.leave(m)
	if forgotten || !s.add(k, p) {
		k.release()
	}
}

// add takes a kit, unless the Pool is full.
func (s *poolShelf) add(k *kit, p *Pool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.full(len(s.kits)) {
		return false
	}
	s.kits = append(s.kits, k)
	s.bytes.Add(k.held)
	return true
}

// full reports whether the Pool, which has n kits, takes no more.
func (p *Pool) full(n int) bool {
	if p.Arenas == 0 { // GOMAXPROCS takes a lock of the runtime, so an empty Pool does not ask.
		return n > 0 && n >= runtime.GOMAXPROCS(0)
	}
	return n >= p.Arenas
}

// A kit is what an arena leaves in a Pool: bumps whose chunks are empty, and its record. It goes from
// one arena of the Pool to the next:
//
//  1. Put empties the chunks. Each bump keeps its largest chunk as the current one.
//  2. leave takes the kit from the arena. Chunks lose their cursors: each way from the earlier owner
//     to a chunk ends at a cursor without room.
//  3. newArena makes the next arena. It shares nothing with the earlier one that a program can
//     use: the Arena, its version, cursors and slots are new, and so is a bump that a Typed has. A
//     Builder, a Map and a Round of an earlier owner lead to the same record, whose round only rises.
//  4. The arena begins with a cursor for each current chunk and a slot for each type, so that the first
//     New of a type takes the fast path. It is asleep: bumps and chunks do not know their cursors.
//  5. The first slow path that needs a bump wakes the arena. An arena that is put back asleep has
//     used nothing but cursors, and so Put looks at these alone.
type kit struct {
	words, bytes *bump
	typed        []*bump
	byDesc       map[*typeDesc]*bump
	maps         *goMaps
	held         int64
	rec          *record
	tie          tie // Of the bumps.

	// What the next arena begins with.
	open  []*bump   // Have a current chunk.
	fresh []cursor  // Of these chunks.
	text  int       // The place of bytes in open, or -1.
	keys  []keySlot // The types that have a slot.
	slots int       // Of the table.

	// The record's weak pointer leads here: a new one for each arena would take a lock and an
	// object. Arena and kit refer to each other, so the collector frees both at once. A copy of an
	// earlier arena of the Pool keeps the kit alive; an arena that is dropped without Put then counts
	// as in use.
	weak weak.Pointer[kit]
}

// A keySlot says which slot a type gets, and which of the cursors the slot leads to.
type keySlot struct {
	key           uintptr
	place, cursor uint16
}

// newKit is a kit for an arena that began without one.
func (a *Arena) newKit() *kit {
	k := &kit{words: a.words, bytes: a.bytes, rec: a.rec}
	k.weak = weak.Make(k)
	k.replace(&k.words)
	k.replace(&k.bytes)
	for _, b := range a.typed {
		b.tie = &k.tie
	}
	bumps := slices.Clone(a.typed)
	clear(a.typed) // The list may lie beside the Arena, and must not keep the kit's chunks alive.
	a.typed = bumps
	return k
}

// asleep says that a has got a kit and has not needed its bumps yet. a is in use.
func (a *Arena) asleep() bool { return a.words == nil }

// wake gives an arena that is asleep its bumps.
func (a *Arena) wake() {
	k := a.kit
	a.changed()
	a.words, a.bytes, a.typed, a.byDesc = k.words, k.bytes, k.typed, k.byDesc
	for i, b := range k.open {
		c := &a.cursors[i]
		b.cursor, b.chunk.cursor = c, c
	}
	a.cursors = a.cursors[len(k.open):]
	k.forgetOpen() // The arena may give a chunk up, which nothing must keep alive then.
}

func (k *kit) forgetOpen() {
	clear(k.open)
	clear(k.fresh)
	k.open, k.fresh, k.keys, k.text = k.open[:0], k.fresh[:0], k.keys[:0], -1
}

// leave empties and ends an arena, and returns what the next one gets. If the collector had found the
// arena already, as it does if a finalizer uses the arena, the registry has counted it as forgotten.
func (a *Arena) leave(m Mode) (k *kit, forgotten bool) {
	if a.asleep() && a.rec.held.Load() <= m.keep() {
		k = a.kit
		k.refresh(a, m.keep())
	} else {
		a.reset(opPut, m)
		k = a.pack()
	}
	k.held = a.rec.held.Swap(0)
	store.charge(-k.held)
	pooled.Add(k.held)
	a.kit, a.maps, a.marks = nil, nil, nil
	a.retire(opPut)
	a.noteEnd()
	forgotten = unregister(a.rec)
	k.tie.arena.Store(nil) // Before, the registry would take the arena for one that the collector took.
	a.rec.id.Store(0)
	a.rec.limit.Store(0)
	a.rec.arena, a.rec.kit = weak.Pointer[Arena]{}, k.weak
	return k, forgotten
}

// refresh empties the chunks of an arena that is asleep. It keeps them, and Go maps up to keep bytes
// together with the chunks.
func (k *kit) refresh(a *Arena, keep int64) {
	cursors := a.cursors[:len(k.open)]
	for i := range cursors {
		if used := cursors[i].used; used != 0 {
			b := k.open[i]
			k.fresh[i].limit = b.chunk.refresh(b.flow, used)
		}
	}
	clear(cursors)
	if a.maps != nil {
		chunks := a.rec.held.Load() - a.maps.held
		a.takeBackMaps(0)
		a.keepMaps(keep - chunks)
	}
	k.maps = a.maps
}

// pack takes the bumps of an arena that was reset, and notes what the next one begins with.
func (a *Arena) pack() *kit {
	k := a.kit
	if k == nil {
		k = a.newKit()
	}
	k.typed, k.byDesc, k.maps = a.typed, a.byDesc, a.maps
	if k.words.a != nil {
		k.replace(&k.words)
	}
	if k.bytes.a != nil {
		k.replace(&k.bytes)
	}
	for i, b := range k.typed {
		if b.a != nil {
			k.replace(&k.typed[i])
			if k.byDesc != nil {
				k.byDesc[b.desc] = k.typed[i]
			}
		}
	}
	k.note(a)
	k.words.leave()
	k.bytes.leave()
	for _, b := range k.typed {
		b.leave()
	}
	a.words, a.bytes, a.typed, a.byDesc = nil, nil, nil, nil
	return k
}

// replace makes a new bump of one that a program may still have, by a Typed or by the arena that it is
// a part of. The new one gets the chunks.
func (k *kit) replace(at **bump) {
	b, o := *at, new(bump)
	*o = *b
	o.tie, o.a = &k.tie, nil
	b.chunk, b.cursor, b.spare, b.spareLarge, b.tie = &noChunk, &noCursor, nil, nil, nil
	*at = o
}

// note notes what an arena begins with that gets the bumps of a.
func (k *kit) note(a *Arena) {
	k.forgetOpen()
	if k.openNext(k.words) {
		k.noteKeys(a, k.words)
	}
	if k.openNext(k.bytes) {
		k.text = len(k.open) - 1
		k.noteKeys(a, k.bytes)
	}
	for _, b := range k.typed {
		if k.openNext(b) {
			k.noteKey(b.desc.key)
		}
	}
	k.place(max(len(k.keys), int(a.filled)))
}

// openNext notes the cursor of a bump's current chunk, and says whether there is one.
func (k *kit) openNext(b *bump) bool {
	c := b.chunk
	if c == &noChunk {
		return false
	}
	k.open = append(k.open, b)
	k.fresh = append(k.fresh, cursor{base: c.base, limit: c.refresh(b.flow, 0), typed: c.desc != nil})
	return true
}

// plainKeys bounds the types without pointers and bools that get a slot, of words and of bytes each: an
// arena may have met many of them.
const plainKeys = 6

// noteKeys notes the types whose slots in a lead to the current chunk of b, the bump noted last.
func (k *kit) noteKeys(a *Arena, b *bump) {
	if a.mask == 0 {
		return
	}
	n := 0
	for _, s := range a.allSlots() {
		if s.key != 0 && s.cursor == b.cursor && n < plainKeys {
			n++
			k.noteKey(s.key)
		}
	}
}

// noteKey notes a type whose values are cut from the chunk noted last. If the table would be more than
// half full, the type gets no slot.
func (k *kit) noteKey(key uintptr) {
	if len(k.keys) < maxSlots/2 {
		k.keys = append(k.keys, keySlot{key: key, cursor: uint16(len(k.open) - 1)})
	}
}

// place decides how many slots the table has, with room for so many types, and which of them the types
// get: those that enter would give them.
func (k *kit) place(types int) {
	k.slots = min(1<<bits.Len(uint(2*max(types, minSlots/2)-1)), maxSlots)
	mask := uintptr(k.slots - 1)
	var taken [maxSlots]bool
	for i := range k.keys {
		at := typeinfo.Hash(k.keys[i].key) & mask
		for taken[at] {
			at = (at + 1) & mask
		}
		taken[at] = true
		k.keys[i].place = uint16(at)
	}
}

// leave makes the chunks of a bump belong to no arena.
func (b *bump) leave() {
	if c := b.chunk; c != &noChunk {
		c.close(b.flow)
		c.expire()
		b.cursor = &noCursor
	}
	for c := b.spare; c != nil; c = c.next {
		c.expire()
	}
	for c := b.spareLarge; c != nil; c = c.next {
		c.expire()
	}
}

// newArena is an arena that begins with a kit. It is one object of the Go heap, unless it needs many
// cursors or slots.
func (k *kit) newArena(made uintptr) *Arena {
	switch n := len(k.open); {
	case n <= 4 && k.slots <= 8:
		w := new(warmArena[[4]cursor, [8]slot])
		return w.start(k, made, w.cursors[:], w.slots[:])
	case n <= 8 && k.slots <= 16:
		w := new(warmArena[[8]cursor, [16]slot])
		return w.start(k, made, w.cursors[:], w.slots[:])
	case n <= 14 && k.slots <= 32:
		w := new(warmArena[[14]cursor, [32]slot])
		return w.start(k, made, w.cursors[:], w.slots[:])
	default:
		w := new(warmArena[[0]cursor, [0]slot])
		return w.start(k, made, makeCursors(n), make([]slot, k.slots))
	}
}

// A warmArena is an arena with the cursors and slots that a kit needs.
type warmArena[C, S any] struct {
	Arena
	version uint64
	cursors C
	slots   S
}

// start makes w, which is zero, an arena that has the kit's contents. It gets its own cursors and slots, or
// others if it has none.
func (w *warmArena[C, S]) start(k *kit, made uintptr, cursors []cursor, slots []slot) *Arena {
	w.last = &w.version
	k.start(&w.Arena, made, cursors, slots[:k.slots])
	return &w.Arena
}

func (k *kit) start(a *Arena, made uintptr, cursors []cursor, slots []slot) {
	a.kit, a.kind, a.made, a.self, a.rec, a.maps = k, kindGo, made, a, k.rec, k.maps
	a.cursors = cursors
	copy(cursors, k.fresh)
	for _, s := range k.keys {
		slots[s.place] = slot{s.key, &cursors[s.cursor]}
	}
	a.slots, a.mask, a.filled = &slots[0], uintptr(len(slots)-1), uint16(len(k.keys))
	a.text = &noCursor
	if k.text >= 0 {
		a.text = &cursors[k.text]
	}
	k.tie.arena.Store(a)
	pooled.Add(-k.held)
	store.charge(k.held)
	k.rec.held.Store(k.held)
	if a.debug = newDebugState(kindGo); a.debug != nil { // The mode counts what bumps cut.
		a.wake()
	}
	a.enroll()
}

// release gives the chunks to the store.
func (k *kit) release() {
	pooled.Add(-k.held)
	var out *chunk
	give := func(b *bump) {
		if c := b.chunk; c != &noChunk {
			c.next, out = out, c
		}
		keepUpTo(&b.spareLarge, 0, &out)
		keepUpTo(&b.spare, 0, &out)
	}
	give(k.words)
	give(k.bytes)
	for _, b := range k.typed {
		give(b)
	}
	for c := out; c != nil; c = c.next {
		c.disown()
	}
	k.forgetOpen()
	store.put(out)
}
