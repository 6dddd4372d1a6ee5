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

// Put takes back an arena that Get returned, and frees all its values, as [Arena.Free] does. It
// ignores a nil arena.
func (p *Pool) Put(a *Arena) {
	if a == nil {
		return
	}
	s := p.open("Pool.Put")
	a.check("Pool.Put")
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
	switch {
	case a.kind == kindShared:
		a.freeShared("Pool.Put", m)
		return
	case a.kind != kindGo:
		a.Free()
		return
	}
	if a.abandons(m) || a.debug.apart() || a.rec.held.Load() == 0 { // There is nothing to keep.
		a.end("Pool.Put", m)
		unregister(a.rec)
		return
	}
	a.reset("Pool.Put", m)
	k, forgotten := a.leave()
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
//  1. Put resets the arena. Each bump keeps its largest chunk as the current one, empty.
//  2. leave takes the kit from the arena. Chunks lose their cursors: each way from the earlier owner
//     to a chunk ends at a cursor without room.
//  3. newArena makes the next arena. It shares nothing with the earlier one that a program can
//     use: the Arena, its version, cursors and slots are new, and so is a bump that a Typed has. A
//     Builder, a Map and a Round of an earlier owner lead to the same record, whose round only rises.
//  4. Each chunk gets a cursor of the new arena, and each type a slot, so that the first New of a
//     type takes the fast path.
type kit struct {
	words, bytes *bump
	typed        []*bump
	byDesc       map[*typeDesc]*bump
	maps         *goMaps
	held         int64
	rec          *record
	tie          tie // Of the bumps.

	// places are where the types lie in a table of so many slots; see place.
	places []uint16
	table  int
	filled int // How many slots the last owner needed.

	// The record's weak pointer leads here: a new one for each arena would take a lock and an
	// object. Arena and kit refer to each other, so the collector frees both at once. A copy of an
	// earlier arena of the Pool keeps the kit alive; an arena that is dropped without Put then counts
	// as in use.
	weak weak.Pointer[kit]
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
	a.typed = slices.Clone(a.typed)
	return k
}

// leave ends an arena that was reset, and returns what the next one gets. If the collector had found the
// arena already, as it does if a finalizer uses the arena, the registry has counted it as forgotten.
func (a *Arena) leave() (k *kit, forgotten bool) {
	if k = a.kit; k == nil {
		k = a.newKit()
	}
	k.typed, k.byDesc, k.maps, k.held, k.filled = a.typed, a.byDesc, a.maps, a.rec.held.Swap(0), int(a.filled)
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
	k.words.leave()
	k.bytes.leave()
	for _, b := range k.typed {
		b.leave()
	}
	a.kit, a.words, a.bytes, a.typed, a.byDesc, a.maps, a.marks = nil, nil, nil, nil, nil, nil, nil
	store.charge(-k.held)
	pooled.Add(k.held)
	a.retire()
	forgotten = unregister(a.rec)
	k.tie.arena.Store(nil) // Before, the registry would take the arena for one that the collector took.
	a.rec.id.Store(0)
	a.rec.limit.Store(0)
	a.rec.arena, a.rec.kit = weak.Pointer[Arena]{}, k.weak
	return k, forgotten
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

// leave makes the chunks of a bump belong to no arena. The current chunk keeps its cursor, which leads to
// nothing: arrive replaces it, and each pointer that is stored here costs time while the collector marks.
func (b *bump) leave() {
	if c := b.chunk; c != &noChunk {
		c.close(b.flow)
		*c.cursor = cursor{}
	}
	for c := b.spare; c != nil; c = c.next {
		c.expire()
	}
	for c := b.spareLarge; c != nil; c = c.next {
		c.expire()
	}
}

// newArena is an arena that begins with a kit. It is one object of the Go heap, unless it needs many
// cursors.
func (k *kit) newArena(made uintptr) *Arena {
	var a *Arena
	var table []slot
	switch chunks, types := len(k.typed)+2, max(len(k.typed), k.filled); {
	case chunks <= 4 && types <= 4:
		w := new(warmArena[[4]cursor, [8]slot])
		a, table = &w.Arena, w.slots[:]
		a.cursors, a.last = w.cursors[:], &w.version
	case chunks <= 8 && types <= 8:
		w := new(warmArena[[8]cursor, [16]slot])
		a, table = &w.Arena, w.slots[:]
		a.cursors, a.last = w.cursors[:], &w.version
	case chunks <= 14 && types <= 16:
		w := new(warmArena[[14]cursor, [32]slot])
		a, table = &w.Arena, w.slots[:]
		a.cursors, a.last = w.cursors[:], &w.version
	default:
		w := new(warmArena[[0]cursor, [0]slot])
		a, table = &w.Arena, make([]slot, min(1<<bits.Len(uint(2*types)), maxSlots))
		a.makeCursors(chunks)
		a.last = &w.version
	}
	k.start(a, made, table)
	return a
}

// A warmArena is an arena with the cursors and slots that a kit needs.
type warmArena[C, S any] struct {
	Arena
	version uint64
	cursors C
	slots   S
}

// start makes a, which has its cursors, an arena that has the kit's contents.
func (k *kit) start(a *Arena, made uintptr, table []slot) {
	a.kit, a.kind, a.made, a.self, a.rec = k, kindGo, made, a, k.rec
	a.words, a.bytes, a.typed, a.byDesc, a.maps = k.words, k.bytes, k.typed, k.byDesc, k.maps
	a.debug = newDebugState(kindGo)
	k.tie.arena.Store(a)
	k.words.arrive()
	k.bytes.arrive()
	a.text = k.bytes.cursor
	k.arrive(a, table)
	pooled.Add(-k.held)
	store.charge(k.held)
	k.rec.held.Store(k.held)
	a.enroll()
}

// arrive gives the current chunk of a bump without a type a cursor. In a debug mode no chunk is current
// after a reset.
func (b *bump) arrive() {
	if c := b.chunk; c != &noChunk {
		c.cursor = &noCursor
		b.open(c)
		b.cursor = c.cursor
	}
}

// arrive does the same for the types, as open does, and fills the table with them.
func (k *kit) arrive(a *Arena, table []slot) {
	if k.table != len(table) || len(k.places) != min(len(k.typed), len(table)/2) {
		k.place(table)
	}
	cursors, places := a.cursors, k.places
	for i, b := range k.typed {
		cur := &noCursor
		if c := b.chunk; c != &noChunk {
			cur, cursors = &cursors[0], cursors[1:]
			cur.base, cur.limit, cur.typed = c.base, c.size, true
			c.cursor, b.cursor = cur, cur
		}
		if i < len(places) {
			s := &table[places[i]]
			s.key, s.cursor = b.desc.key, cur
		}
	}
	a.cursors = cursors
	a.slots, a.mask, a.filled = &table[0], uintptr(len(table)-1), uint16(len(places))
}

// place decides which slots of an empty table the types get: those that enter would give them. Types that
// would make the table more than half full get none.
func (k *kit) place(table []slot) {
	k.places, k.table = k.places[:0], len(table)
	mask := uintptr(len(table) - 1)
	for _, b := range k.typed[:min(len(k.typed), len(table)/2)] {
		i := typeinfo.Hash(b.desc.key) & mask
		for table[i].key != 0 {
			i = (i + 1) & mask
		}
		table[i].key = b.desc.key
		k.places = append(k.places, uint16(i))
	}
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
	store.put(out)
}
