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
	addr := unsafex.At[slots](std.caches[id&(maxPs-1)].Load()).bins[bin&(fastBins-1)].pop()
	p.Release()
	return addr
}

// free gives a block to the P's slots, to that of the bin if it does not belong to the hot one. It
// reports false, and has done nothing, if the caller must ask freeSlow. bin is below fastBins.
func free(bin uint32, addr uintptr) bool {
	p := percpu.Acquire()
	id := p.ID()
	if uint32(id) >= std.ps.Load() {
		p.Release()
		return false
	}
	c := unsafex.At[slots](std.caches[id&(maxPs-1)].Load())
	s := c.hottest()
	done := s.push(addr)
	if !done {
		done = c.push(bin, addr)
	} else if s.wipe {
		s.clear(addr)
	}
	p.Release()
	return done
}
