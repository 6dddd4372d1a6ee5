package offheap

import (
	"fmt"

	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Local allocates for one goroutine at a time, without finding out each time which P runs it:
// the fastest way to allocate single blocks. Its blocks are ordinary blocks, which any goroutine
// may free by any way, and it may free any block. A Local keeps up to 32 free blocks of each size
// and kind, at most 16 KiB or one block, to itself until Close.
//
// Two goroutines that use one Local at the same time make a data race.
type Local struct {
	id    int    // Holder number, or closedLocal, or sharedLocal.
	slots *slots // Never nil: without slots of its own it is noSlots.
}

const (
	closedLocal = -1 - iota
	sharedLocal // There is none left, or the blocks come from the Go heap: use the shared way.
)

// NewLocal makes a Local. It must be closed; a Local that is dropped keeps its few free blocks
// for ever. There can be about 12,000; further ones work at the speed of the package's functions.
func NewLocal() *Local { return std.newLocal() }

func (h *heap) newLocal() *Local {
	h.start()
	if h.other != nil {
		return &Local{id: sharedLocal, slots: &noSlots}
	}
	h.mu.Lock()
	id := sharedLocal
	if n := len(h.locals); n > 0 {
		id, h.locals = h.locals[n-1], h.locals[:n-1]
	} else if maxPs+h.nlocal < maxHolders {
		id = maxPs + h.nlocal
		h.nlocal++
	}
	h.mu.Unlock()
	if id >= 0 && h.makeCache(id) != nil {
		h.mu.Lock()
		h.locals = append(h.locals, id)
		h.mu.Unlock()
		id = sharedLocal
	}
	l := &Local{id: id, slots: &noSlots}
	if id >= 0 {
		l.slots = h.cache(id)
	}
	return l
}

// own is the Local for the allocator's inner functions: nil says the shared way.
func (l *Local) own(op string) *Local {
	if l.slots == nil {
		panic(fmt.Errorf("offheap: %s on a Local that NewLocal did not make", op)) // Its number would be that of a P.
	}
	switch l.id {
	case closedLocal:
		panic(fmt.Errorf("offheap: %s on a Local that is closed", op))
	case sharedLocal:
		return nil
	}
	return l
}

// Alloc is [Alloc].
func (l *Local) Alloc(n int) []byte {
	b := l.AllocUninit(n)
	clear(b)
	if sanitize.Enabled { // See clearRest.
		sanitize.Unpoison(unsafex.SliceAddr(b), uintptr(len(b)))
	}
	return b
}

// TryAlloc is [TryAlloc].
func (l *Local) TryAlloc(n int) ([]byte, error) {
	q := std.request(8, true)
	q.local = l.own("TryAlloc")
	return std.allocBytes("Alloc", n, q)
}

// AllocUninit is [AllocUninit].
func (l *Local) AllocUninit(n int) []byte {
	if uint(n-1) < sizeclass.Max {
		if addr := l.slots.bins[sizeclass.Of(uintptr(n))].pop(); addr != 0 {
			return unsafex.Bytes(addr, uintptr(n))
		}
	}
	return mustBytes(l.TryAllocUninit(n))
}

// TryAllocUninit is [TryAllocUninit].
func (l *Local) TryAllocUninit(n int) ([]byte, error) {
	q := std.request(8, false)
	q.local = l.own("AllocUninit")
	return std.allocBytes("AllocUninit", n, q)
}

// Free is [Free].
func (l *Local) Free(b []byte) {
	n := uintptr(cap(b))
	if n == 0 {
		return
	}
	addr := unsafex.SliceAddr(b)
	s := l.slots.hottest()
	if s.push(addr) {
		if s.wipe {
			s.clear(addr)
		}
		return
	}
	if n <= sizeclass.Max && l.slots.push(sizeclass.Of(n), addr) {
		return
	}
	std.freeSlow(addr, l.own("Free"), "Free")
}

// NewIn is [New] from a Local.
func NewIn[T any](l *Local) *T {
	c := l.slots
	var addr uintptr
	if _, ok := c.newest.typ.(*T); ok {
		addr = unsafex.At[slot](c.newest.slot).pop()
	} else if d := known[T](); d != nil {
		addr = c.bins[d.bin&(fastBins-1)].pop()
	}
	if addr == 0 {
		addr = newInAddr(describe[T](), l)
	}
	p := unsafex.At[T](addr)
	if unsafex.Size[T]() <= sizeclass.Max {
		var zero T
		*p = zero
	}
	return p
}

//go:noinline
func newInAddr(d *typeDesc, l *Local) uintptr {
	l = l.own("NewIn")
	if d.bin != nullBin {
		addr, err := std.allocSlow(std.binByID(d.bin), d.request(nil, 1, l, true), d.key)
		must(err)
		return addr
	}
	addr, err := d.alloc("NewIn", l, nil, true)
	must(err)
	return addr
}

// DeleteIn is [Delete] through a Local.
func DeleteIn[T any](l *Local, p *T) {
	if p == nil {
		return
	}
	addr := unsafex.Addr(p)
	s := l.slots.hottest()
	// A pointer to a field of size zero may have a block's address, and yet must not free it.
	if unsafex.Size[T]() != 0 && s.push(addr) {
		if s.wipe {
			s.clear(addr)
		}
		return
	}
	deleteInSlow(describe[T](), addr, l)
}

//go:noinline
func deleteInSlow(d *typeDesc, addr uintptr, l *Local) {
	if d.size != 0 && !l.slots.push(d.bin, addr) {
		std.freeSlow(addr, l.own("DeleteIn"), "DeleteIn")
	}
}

// Close gives the Local's free blocks back. Blocks that are in use stay so. Using the Local
// afterwards panics; closing it again does nothing.
func (l *Local) Close() {
	if l.id >= 0 && l.slots != nil {
		std.closeLocal(l)
	}
	l.id, l.slots = closedLocal, &noSlots
}

func (h *heap) closeLocal(l *Local) {
	h.emptyCache(l.slots)
	h.retireCache(l.id)
}

// emptySlot checks everything of a slot in. Its holder calls it, not pinned.
func (h *heap) emptySlot(b *bin, s *slot) {
	group, cur := s.leave(h), s.cur
	s.cur, s.miss = 0, 0
	s.setLeft(0)
	s.drawn = undrawn
	b.out.Add(s.out)
	s.out = 0
	if group != 0 {
		h.afterFree(group)
	}
	h.settleCurrent(cur)
}
