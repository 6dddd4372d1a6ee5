// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"maps"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// chunkIndex finds the chunk that an address lies in. It is kept when chunks are made and dropped,
// never when values are. It keeps no chunk on the Go heap alive: an entry counts only while its
// chunk is reachable, because as long as it is, its memory cannot be anything else (GC-5). Chunks
// off the Go heap are kept until their arena gives them back: the memory of a leaked arena is still
// that arena's.
type chunkIndex struct {
	mu    sync.Mutex // Guards the making of leafs.
	leafs atomic.Pointer[map[uintptr]*leaf]
}

const (
	pageBits = 13
	leafBits = 13
	leafSize = 1 << leafBits // Pages: a leaf covers 64 MiB.
)

// A leaf has the entries of each of its pages.
type leaf struct {
	mu    sync.Mutex // Guards changes of the pages.
	pages [leafSize]atomic.Pointer[entry]
}

// An entry is one chunk that lies in a page, at least in part.
type entry struct {
	base, end uintptr
	chunk     weak.Pointer[chunk]
	off       *chunk // The chunk, if it is off the Go heap.
	next      *entry
}

var index chunkIndex

// add enters a chunk.
func (x *chunkIndex) add(c *chunk) {
	base := unsafex.PtrAddr(c.base)
	alone := &entry{base: base, end: base + c.size, chunk: weak.Make(c)}
	if c.off {
		alone.off = c
	}
	x.change(c, func(old *entry) *entry {
		rest := living(old, nil)
		if rest == nil {
			return alone // One entry serves all pages that the chunk has for itself.
		}
		return alone.before(rest)
	})
}

// remove strikes a chunk off.
func (x *chunkIndex) remove(c *chunk) {
	x.change(c, func(old *entry) *entry { return living(old, c) })
}

// change replaces the entries of all pages that c lies in.
func (x *chunkIndex) change(c *chunk, f func(*entry) *entry) {
	first := unsafex.PtrAddr(c.base) >> pageBits
	last := (unsafex.PtrAddr(c.base) + c.size - 1) >> pageBits
	for page := first; page <= last; {
		l := x.leaf(page)
		l.mu.Lock()
		for end := min(last, page|(leafSize-1)); page <= end; page++ {
			at := &l.pages[page%leafSize]
			at.Store(f(at.Load()))
		}
		l.mu.Unlock()
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
	return e.before(rest)
}

// before is a copy of e in front of a list.
func (e *entry) before(next *entry) *entry {
	c := *e
	c.next = next
	return &c
}

// known is the leaf of a page, or nil.
func (x *chunkIndex) known(page uintptr) *leaf {
	if m := x.leafs.Load(); m != nil {
		return (*m)[page>>leafBits]
	}
	return nil
}

// leaf is the leaf of a page, made if there is none.
func (x *chunkIndex) leaf(page uintptr) *leaf {
	if l := x.known(page); l != nil {
		return l
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if l := x.known(page); l != nil {
		return l
	}
	leafs := make(map[uintptr]*leaf)
	if m := x.leafs.Load(); m != nil {
		maps.Copy(leafs, *m)
	}
	l := new(leaf)
	leafs[page>>leafBits] = l
	x.leafs.Store(&leafs)
	return l
}

// find is the chunk that addr lies in, or nil.
func (x *chunkIndex) find(addr uintptr) *chunk {
	l := x.known(addr >> pageBits)
	if l == nil {
		return nil
	}
	for e := l.pages[addr>>pageBits%leafSize].Load(); e != nil; e = e.next {
		if addr >= e.base && addr < e.end {
			if c := e.chunk.Value(); c != nil {
				return c
			}
		}
	}
	return nil
}
