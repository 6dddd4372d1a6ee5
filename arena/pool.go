// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/freehold-go/freehold"
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
	a, w := k.newArena()
	var made [1]uintptr
	runtime.Callers(2, made[:])
	a.start(kindGo, made, Options{NoReuse: p.NoReuse})
	if k != nil {
		a.adopt(k, w)
	}
	return a
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
	if a.abandons(m) || a.rec.held.Load() == 0 {
		a.end("Pool.Put", m)
		unregister(a.rec)
		return
	}
	a.reset("Pool.Put", m)
	k := a.leave()
	s.mu.Lock()
	full := p.full(len(s.kits))
	if !full {
		s.kits = append(s.kits, k)
		s.bytes.Add(k.held)
	}
	s.mu.Unlock()
	if full {
		k.release()
	}
}

// full reports whether the Pool, which has n kits, takes no more.
func (p *Pool) full(n int) bool {
	if p.Arenas == 0 { // GOMAXPROCS takes a lock of the runtime, so an empty Pool does not ask.
		return n > 0 && n >= runtime.GOMAXPROCS(0)
	}
	return n >= p.Arenas
}

// A kit goes from one arena of a Pool to the next:
//
//  1. Put resets the arena. Each bump keeps its largest chunk as the current one, empty.
//  2. leave moves bumps, their index and Go maps from the arena to the kit. Chunks lose their
//     cursors: each way from the earlier owner to a chunk ends at a cursor without room.
//  3. newArena makes the next arena. It shares nothing with the earlier one that a program can
//     hold: the Arena, its record, cursors and slots are new, and so is a bump that a Typed has.
//  4. adopt gives each chunk its new owner and a cursor, and puts the types into the slots, so that
//     the first New of a type takes the fast path.

// A warmArena is an arena with the cursors and slots that a kit needs: one object of the Go heap in
// place of three.
type warmArena struct {
	Arena
	cursors [warmTypes + 2]cursor // Also for words and bytes.
	slots   [32]slot
}

// warmTypes is the number of types with pointers or bools that a warmArena has room for.
const warmTypes = 14

// newArena is a zero arena for a kit, which may be nil, and the warmArena that it is a part of, or
// nil.
func (k *kit) newArena() (*Arena, *warmArena) {
	if k == nil || len(k.typed) > warmTypes {
		return &Arena{kit: k}, nil
	}
	w := &warmArena{Arena: Arena{kit: k}}
	return &w.Arena, w
}

// leave ends an arena that was reset and returns what it held.
func (a *Arena) leave() *kit {
	k := a.kit
	if k == nil {
		k = new(kit)
		k.weak = weak.Make(k)
	}
	k.words, k.bytes, k.typed, k.byDesc, k.maps, k.held = a.words, a.bytes, a.typed, a.byDesc, a.maps, a.rec.held.Swap(0)
	switch { // The list must not lie in a, which may be written over.
	case len(a.typed) == 0:
		k.typed = nil
	case &a.typed[0] == &a.few[0]:
		k.typed = append(make([]*bump, 0, 2*len(a.few)), a.typed...)
	}
	for i, b := range k.typed {
		if b.typed { // A stale Typed keeps the bump.
			k.replace(i)
		}
	}
	k.each((*bump).leave)
	a.words.drop()
	a.bytes.drop()
	a.kit, a.typed, a.byDesc, a.maps = nil, nil, nil, nil
	store.charge(-k.held)
	pooled.Add(k.held)
	a.end("Pool.Put", GiveBack)
	unregister(a.rec)
	k.arena.Store(nil)
	return k
}

// replace replaces the i-th bump by a new one, which gets its chunks.
func (k *kit) replace(i int) {
	b, o := k.typed[i], new(bump)
	*o = *b
	o.typed = false
	b.drop()
	k.typed[i] = o
	if k.byDesc != nil {
		k.byDesc[o.desc] = o
	}
}

// drop leaves the bump without chunks. Another bump has them.
func (b *bump) drop() {
	b.spare, b.spareLarge = nil, nil
	b.use(&noChunk)
}

// leave makes the chunks of a bump belong to no arena.
func (b *bump) leave() {
	b.a = nil
	if c := b.chunk; c != &noChunk {
		c.close(b.flow)
		c.disown()
		b.cursor = &noCursor
	}
	disownAll(b.spare)
	disownAll(b.spareLarge)
}

func disownAll(list *chunk) {
	for c := list; c != nil; c = c.next {
		c.disown()
	}
}

// adopt moves the contents of a kit to a new arena, which is a part of w if w is not nil.
func (a *Arena) adopt(k *kit, w *warmArena) {
	a.words, a.bytes, a.byDesc, a.maps = k.words, k.bytes, k.byDesc, k.maps
	if k.typed != nil {
		a.typed = k.typed
	}
	k.words, k.bytes, k.typed, k.byDesc, k.maps = bump{}, bump{}, nil, nil, nil
	a.changed()
	if a.debug == nil {
		a.prepareWarm(w)
	}
	a.each(func(b *bump) { b.arrive(a) })
	pooled.Add(-k.held)
	store.charge(k.held)
	a.rec.held.Store(k.held)
}

// prepareWarm makes the cursors and slots of an arena that gets a kit.
func (a *Arena) prepareWarm(w *warmArena) {
	if w != nil {
		a.cursors = w.cursors[:]
		a.growSlots(w.slots[:])
		return
	}
	a.makeCursors(len(a.typed) + 2)
	a.growSlots(make([]slot, min(1<<bits.Len(uint(2*len(a.typed)+3)), maxSlots)))
}

// arrive makes the chunks of a bump belong to a.
func (b *bump) arrive(a *Arena) {
	b.a = a
	id := a.rec.id
	c := b.chunk
	if c != &noChunk {
		c.owner.Store(id)
		if a.debug == nil {
			b.open(c)
			b.cursor = c.cursor
			b.enter()
		} else { // The mode may sample the first value.
			b.putAside()
		}
	}
	ownAll(b.spare, id)
	ownAll(b.spareLarge, id)
}

func ownAll(list *chunk, id uint64) {
	for c := list; c != nil; c = c.next {
		c.owner.Store(id)
	}
}

func (k *kit) each(f func(*bump)) {
	f(&k.words)
	f(&k.bytes)
	for _, b := range k.typed {
		f(b)
	}
}

// release gives the chunks to the store.
func (k *kit) release() {
	pooled.Add(-k.held)
	var out *chunk
	k.each(func(b *bump) {
		if c := b.chunk; c != &noChunk {
			c.next, out = out, c
		}
		keepUpTo(&b.spareLarge, 0, &out)
		keepUpTo(&b.spare, 0, &out)
	})
	store.put(out)
}
