package offheap

import (
	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The fast paths of the thread-safe functions, for std alone: with its address a constant a
// pair costs about a fifth less than through methods of heap.

// alloc is a block of the bin from the P's slot, or 0 if the caller must ask allocSlow. bin is
// below fastBins.
//
//go:nosplit
func alloc(bin uint32) uintptr {
	p := percpu.Acquire()
	id := p.ID()
	if uint32(id) >= std.ps.Load() {
		p.Release()
		return 0
	}
	addr := unsafex.At[slots](std.caches[id&(maxPs-1)].Load())[bin&(fastBins-1)].pop()
	p.Release()
	return addr
}

// freeWiped is free for a kind whose blocks are cleared when freed, before anyone else can get them.
func freeWiped(bin uint32, addr uintptr) bool {
	p := percpu.Acquire()
	id := p.ID()
	done := false
	if uint32(id) < std.ps.Load() {
		s := &unsafex.At[slots](std.caches[id&(maxPs-1)].Load())[bin&(fastBins-1)]
		if done = s.push(addr); done && s.size <= 64 {
			for a := addr; a < addr+uintptr(s.size); a += 8 {
				*unsafex.At[uint64](a) = 0
			}
		} else if done {
			unsafex.Clear(addr, uintptr(s.size))
		}
	}
	p.Release()
	return done
}

// free gives a block of the bin to the P's slot. It reports false, and has done nothing, if the
// caller must ask freeSlow. bin is below fastBins.
//
//go:nosplit
func free(bin uint32, addr uintptr) bool {
	p := percpu.Acquire()
	id := p.ID()
	if uint32(id) >= std.ps.Load() {
		p.Release()
		return false
	}
	s := &unsafex.At[slots](std.caches[id&(maxPs-1)].Load())[bin&(fastBins-1)]
	done := s.push(addr)
	p.Release()
	return done
}
