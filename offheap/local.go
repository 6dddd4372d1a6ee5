// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"runtime"

	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Local allocates for one goroutine at a time. It need not find out which P runs the goroutine,
// so it is the fastest way to allocate single blocks. Its blocks are ordinary blocks: any goroutine
// may free them in any way, and a Local may free any block. Until Close a Local keeps free blocks to
// itself: of each size and kind up to 16 KiB, and a slab (64 to 512 KiB) of those that it often
// allocates. No other goroutine gets them, and a limit counts their slabs. [In]
// allocates values, slices and aligned blocks from a Local, and resizes slices.
//
// A Local must not be copied; pass the pointer that [NewLocal] returned. Every call of a copy
// panics with a [*MisuseError], and so does every call of a zero Local and of a closed one. A call of a
// nil Local panics, too: Close and functions with Try in their names as above, Alloc, AllocUninit
// and Free with Go's error for a nil pointer.
//
// If two goroutines use one Local at the same time, that is a data race. In a build with -race each
// call writes to the Local, so the race detector reports it.
type Local struct {
	_     noCopy
	self  *Local // The Local itself. A copy and the zero Local have another value here.
	slots *slots // noSlots if the Local has no slots of its own.
	id    int    // Holder number, or closedLocal, or sharedLocal.
	calls int    // Written by each call under the race detector.

	handle  *handle         // Stays when the program drops the Local.
	cleanup runtime.Cleanup // Reclaims the slots of a dropped Local.
}

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

// live says whether the slots are those of l. They are not if l is a copy, zero or closed: the next
// Local may have them after Close.
func (l *Local) live() bool { return l.slots != nil && l.slots.owner == unsafex.Addr(l) }

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
		addr := l.slots.bins[sizeclass.Of(uintptr(n))].pop()
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
		addr := l.slots.bins[sizeclass.Of(uintptr(n))].pop()
		runtime.KeepAlive(l) // Until here: the slots of a Local that is garbage are taken back.
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
		s := l.slots.hottest()
		done := s.push(addr)
		if done {
			if s.wipe {
				s.clear(addr)
			}
		} else {
			done = n <= sizeclass.Max && l.slots.push(sizeclass.Of(n), addr)
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
	l.slots, l.id = &noSlots, closedLocal
}
