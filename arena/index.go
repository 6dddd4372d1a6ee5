package arena

import (
	"sync"
	"sync/atomic"
	"weak"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// chunkIndex finds the chunk that an address lies in. It is kept when chunks are made and dropped,
// never when values are, and keeps no chunk alive: an entry counts only while its chunk is
// reachable, because as long as it is, its memory cannot be anything else (GC-4).
type chunkIndex struct {
	mu    sync.Mutex // Guards changes.
	leafs atomic.Pointer[map[uintptr]*leaf]
}

const (
	pageBits = 13
	leafBits = 13
	leafSize = 1 << leafBits // Pages: a leaf covers 64 MiB.
)

// A leaf has the entries of each of its pages.
type leaf [leafSize]atomic.Pointer[entry]

// An entry is one chunk that lies in a page, at least in part.
type entry struct {
	base, end uintptr
	chunk     weak.Pointer[chunk]
	next      *entry
}

var index chunkIndex

// add enters a chunk.
func (x *chunkIndex) add(c *chunk) {
	base := unsafex.PtrAddr(c.base)
	w := weak.Make(c)
	x.mu.Lock()
	defer x.mu.Unlock()
	for page := base >> pageBits; page <= (base+c.size-1)>>pageBits; page++ {
		at := &x.leaf(page, true)[page%leafSize]
		at.Store(&entry{base, base + c.size, w, living(at.Load(), nil)})
	}
}

// living is the list without the entries of c and of chunks that are gone.
func living(e *entry, c *chunk) *entry {
	if e == nil {
		return nil
	}
	rest := living(e.next, c)
	if v := e.chunk.Value(); v == nil || v == c {
		return rest
	}
	if rest == e.next {
		return e
	}
	return &entry{e.base, e.end, e.chunk, rest}
}

// remove strikes a chunk off.
func (x *chunkIndex) remove(c *chunk) {
	base := unsafex.PtrAddr(c.base)
	x.mu.Lock()
	defer x.mu.Unlock()
	for page := base >> pageBits; page <= (base+c.size-1)>>pageBits; page++ {
		at := &x.leaf(page, true)[page%leafSize]
		at.Store(living(at.Load(), c))
	}
}

// leaf is the leaf of a page. With grow the caller holds the lock.
func (x *chunkIndex) leaf(page uintptr, grow bool) *leaf {
	var old map[uintptr]*leaf
	if m := x.leafs.Load(); m != nil {
		old = *m
	}
	l := old[page>>leafBits]
	if l == nil && grow {
		leafs := make(map[uintptr]*leaf, len(old)+1)
		for k, v := range old {
			leafs[k] = v
		}
		l = new(leaf)
		leafs[page>>leafBits] = l
		x.leafs.Store(&leafs)
	}
	return l
}

// find is the chunk that addr lies in, or nil.
func (x *chunkIndex) find(addr uintptr) *chunk {
	l := x.leaf(addr>>pageBits, false)
	if l == nil {
		return nil
	}
	for e := l[addr>>pageBits%leafSize].Load(); e != nil; e = e.next {
		if addr >= e.base && addr < e.end {
			if c := e.chunk.Value(); c != nil {
				return c
			}
		}
	}
	return nil
}
