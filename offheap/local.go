// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"runtime"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

const (
	closedLocal = -1 - iota
	sharedLocal // No holder number is left, or the blocks come from the Go heap: use the shared way.
)

// NewLocal makes a Local. Close it after the last use. If the program drops a Local instead, the
// collector finds that out some time later and offheap takes the Local's free blocks back.
// [Stats].LocalsDropped counts such Locals, and with FREEHOLD=leaks [Leaks] lists the places that
// made them.
//
// About 12,000 Locals can be open. Further Locals work at the speed of the package's functions.
func NewLocal() *Local { return std.newLocal() }

// own is the Local for the allocator's inner functions; nil means the shared way. It panics if l
// must not be used. Every call that the fast path does not serve comes here, and the fast path
// serves a Local only if it is not a copy.
func (l *Local) own(op string) *Local {
	l.check(op)
	if l.id == sharedLocal {
		return nil
	}
	return l
}

// live says whether the cache is that of l. It is not if l is a copy, zero or closed: the next
// Local may have them after Close.
func (l *Local) live() bool { return l.cache != nil && l.cache.owner == unsafex.Addr(l) }

// check panics if op must not use l.
func (l *Local) check(op string) {
	switch {
	case l == nil:
		panic(handleMisuse(op, "a nil Local", "call NewLocal and use the pointer that it returns"))
	case l.self == nil:
		panic(handleMisuse(op, "a Local that NewLocal did not make", "call NewLocal and use the pointer that it returns"))
	case l.self != l:
		panic(handleMisuse(op, "a copied Local", "a copy and its original would allocate the same blocks; use the pointer that NewLocal returned everywhere"))
	case l.id == closedLocal:
		panic(handleMisuse(op, "a Local that is closed", "call Close after the last use, or make another Local"))
	case l.handle.closed:
		panic(handleMisuse(op, "a Local that is closed", "an older copy was written over the Local after its Close; use the pointer that NewLocal returned, and never copy the value"))
	}
	if sanitize.Race {
		l.calls++ // Two goroutines that use the Local meet here.
	}
}

// Alloc is [Alloc].
func (l *Local) Alloc(n int) []byte {
	if uint(n-1) < sizeclass.Max && l.live() {
		addr := l.cache.bins[sizeclass.Of(uintptr(n))].pop()
		runtime.KeepAlive(l) // As in AllocUninit.
		if addr != 0 {
			b := unsafex.Bytes(addr, uintptr(n))
			clear(b)
			return b
		}
	}
	return mustBytes(l.TryAlloc(n))
}

// TryAlloc is [TryAlloc].
func (l *Local) TryAlloc(n int) ([]byte, error) {
	own := l.own("Alloc")
	q := std.request(8, true)
	q.local = own
	return std.allocBytes("Alloc", n, q)
}

// AllocUninit is [AllocUninit].
func (l *Local) AllocUninit(n int) []byte {
	if uint(n-1) < sizeclass.Max && l.live() {
		addr := l.cache.bins[sizeclass.Of(uintptr(n))].pop()
		runtime.KeepAlive(l) // Until here: the cache of a Local that is garbage is emptied.
		if addr != 0 {
			return unsafex.Bytes(addr, uintptr(n))
		}
	}
	return mustBytes(l.TryAllocUninit(n))
}

// TryAllocUninit is [TryAllocUninit].
func (l *Local) TryAllocUninit(n int) ([]byte, error) {
	own := l.own("AllocUninit")
	q := std.request(8, false)
	q.local = own
	return std.allocBytes("AllocUninit", n, q)
}

// Free is [Free].
func (l *Local) Free(b []byte) {
	n := uintptr(cap(b))
	addr := unsafex.SliceAddr(b)
	if n == 0 {
		l.check("Free")
		std.checkConsumed("Free", addr)
		return
	}
	if l.live() {
		s := l.cache.hottest()
		done := s.push(addr)
		if done {
			if s.wipe {
				s.clear(addr)
			}
		} else {
			done = n <= sizeclass.Max && l.cache.push(sizeclass.Of(n), addr)
		}
		runtime.KeepAlive(l)
		if done {
			return
		}
	}
	std.freeSlow(addr, l.own("Free"), "Free")
}

// Close returns the Local's free blocks. Blocks in use stay in use. A second Close does nothing;
// every other use after Close panics.
func (l *Local) Close() {
	if l != nil && l.self == l && l.id == closedLocal {
		return
	}
	l.check("Close")
	l.cleanup.Stop()
	l.handle.close()
	l.cache, l.id = &noCache, closedLocal
}

// This file is the life of a Local:
//
//  1. newLocal takes a holder number and its cache, and attaches a cleanup to the Local.
//  2. The Local and nothing else allocates through the cache: its methods check whether the cache
//     names it as its owner before they touch the cache. So a copy never does, and neither does the
//     Local itself after Close if an older copy was written over it. Other paths compare self, too.
//  3. Close, or the cleanup of a Local that the program dropped, checks everything in and returns
//     the number. Then the next Local may have it: no Local that can be used has it any more.
//
// The cleanup runs once no pointer to the Local is left. A copy counts as a pointer, through its
// self. The fast paths keep the Local alive until they have changed the cache (KeepAlive).

func (h *heap) newLocal() *Local {
	h.start()
	l := &Local{id: sharedLocal, cache: &noCache}
	l.self = l
	if id, c := h.takeNumber(); c != nil {
		l.id, l.cache, c.owner = id, c, unsafex.Addr(l)
	}
	l.handle = newHandle(h, l.id)
	l.cleanup = runtime.AddCleanup(l, (*handle).drop, l.handle)
	return l
}

// takeNumber is a holder number with its cache, or nil if there is none left.
func (h *heap) takeNumber() (int, *cache) {
	if h.serving() != nil {
		return 0, nil
	}
	h.mu.Lock()
	id := -1
	if n := len(h.locals); n > 0 {
		id, h.locals = h.locals[n-1], h.locals[:n-1]
	} else if maxPs+h.nlocal < maxHolders {
		id = maxPs + h.nlocal
		h.nlocal++
	}
	h.mu.Unlock()
	if id < 0 {
		return 0, nil
	}
	if h.makeCache(id) != nil {
		h.mu.Lock()
		h.locals = append(h.locals, id)
		h.mu.Unlock()
		return 0, nil
	}
	return id, h.cache(id)
}

func (h *heap) closeLocal(id int) {
	c := h.cache(id)
	c.owner = 0
	h.emptyCache(c)
	h.unlistCache(id)
}

// newHandle is the handle of a Local that an exported function makes for its caller.
func newHandle(h *heap, id int) *handle {
	n := &handle{h: h, id: id}
	t := h.serving()
	if !t.marked() {
		return n
	}
	n.made = debugmode.Callers(0)
	debugmode.Add(debugmode.Block{Addr: unsafex.Addr(n), Owner: debugmode.OwnerLocal, Type: localType, Alloc: n.made, Leak: true, Whole: true})
	handles.Lock()
	defer handles.Unlock()
	if handles.open == nil {
		handles.open = make(map[*handle]uint64)
	}
	handles.open[n] = t.made.Load()
	return n
}

// close ends the Local.
func (n *handle) close() {
	n.closed = true
	if n.id >= 0 {
		n.h.closeLocal(n.id)
	}
	handles.Lock()
	_, listed := handles.open[n]
	delete(handles.open, n)
	handles.Unlock()
	if listed {
		debugmode.Forget(unsafex.Addr(n))
	}
}

// drop ends a Local that the program dropped. It is the cleanup of the Local.
func (n *handle) drop() {
	if n.id >= 0 {
		n.h.closeLocal(n.id)
	}
	n.h.localsDropped.Add(1)
}
