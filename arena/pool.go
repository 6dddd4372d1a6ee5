// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
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
	kits  []kit
	bytes *atomic.Int64 // In the kits; a part of pooled.
}

// A kit is what an arena leaves in a Pool: bumps with nothing but spare chunks.
type kit struct {
	words, bytes bump
	typed        []*bump
	maps         *goMaps
	held         int64
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
	s := p.open("Pool.Get")
	a := &Arena{}
	var made [1]uintptr
	runtime.Callers(2, made[:])
	a.start(kindGo, made, Options{NoReuse: p.NoReuse})
	if a.noReuse {
		return a
	}
	s.mu.Lock()
	var k kit
	if n := len(s.kits); n > 0 {
		k, s.kits[n-1] = s.kits[n-1], kit{}
		s.kits = s.kits[:n-1]
		s.bytes.Add(-k.held)
	}
	s.mu.Unlock()
	if k.held > 0 {
		a.adopt(&k)
	}
	return a
}

// Put takes back an arena that Get returned, and frees all its values, as [Arena.Free] does. It
// ignores a nil arena.
func (p *Pool) Put(a *Arena) {
	if a == nil {
		return
	}
	s := p.open("Pool.Put")
	a.check("Pool.Put")
	limit, most := p.Bytes, p.Arenas
	if limit == 0 {
		limit = 4 << 20
	}
	if most == 0 {
		most = runtime.GOMAXPROCS(0)
	}
	if limit < 0 || most < 0 {
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
	if a.abandons(m) {
		a.end("Pool.Put", m)
		unregister(a.rec)
		return
	}
	a.reset("Pool.Put", m)
	a.each((*bump).putAside)
	k := a.leave()
	s.mu.Lock()
	full := len(s.kits) >= most
	if !full {
		s.kits = append(s.kits, k)
		s.bytes.Add(k.held)
	}
	s.mu.Unlock()
	if full {
		k.release()
	}
}

// leave ends an arena that was reset and returns what it held.
func (a *Arena) leave() kit {
	k := kit{words: a.words, bytes: a.bytes, maps: a.maps, held: a.rec.held.Swap(0)}
	a.maps = nil
	for _, b := range a.typed {
		// Stale Typed values keep their bump: the kit has one of its own.
		o := *b
		k.typed = append(k.typed, &o)
		b.spare, b.spareLarge = nil, nil
	}
	a.words.spare, a.words.spareLarge, a.bytes.spare, a.bytes.spareLarge = nil, nil, nil, nil
	k.own(0)
	store.charge(-k.held)
	pooled.Add(k.held)
	a.end("Pool.Put", GiveBack)
	unregister(a.rec)
	return k
}

// adopt makes a kit's chunks those of a new arena.
func (a *Arena) adopt(k *kit) {
	a.words, a.bytes, a.typed, a.maps = k.words, k.bytes, k.typed, k.maps
	a.changed()
	a.each(func(b *bump) { b.a = a })
	a.indexBumps()
	k.own(a.rec.id)
	pooled.Add(-k.held)
	store.charge(k.held)
	a.rec.held.Store(k.held)
}

// own says to whom the chunks belong.
func (k *kit) own(id uint64) {
	k.each(func(b *bump) {
		for _, list := range []*chunk{b.spare, b.spareLarge} {
			for c := list; c != nil; c = c.next {
				c.disown()
				c.owner.Store(id)
			}
		}
	})
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
	k.each(func(b *bump) { b.giveBack(0, &out) })
	store.put(out)
}
