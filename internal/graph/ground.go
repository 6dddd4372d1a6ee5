// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// The runtime has no API that says whether an address is on the heap, in a global or elsewhere. But
// runtime.AddCleanup shows it (GC-7): for a package-level variable it returns the zero Cleanup,
// because the cleanup will never run; for an object of the heap it returns another one; for all
// else it panics, with a text of its own for memory of package arena, Go's experiment. The heap
// never returns address space, so one answer holds for all addresses of a region.
//
// The symbols of the program and, on Linux, /proc would show its segments, but a program may be
// stripped, and neither shows libraries that are loaded later.

// Ground is the part of the process that an address belongs to.
type Ground uint8

// The kinds of memory.
const (
	OnHeap    Ground = iota
	InGlobals        // Package-level variables, and the data that the linker laid out for their initial values.
	InGoArena        // Values of package arena, Go's experiment, whose memory its Free makes inaccessible.
	Elsewhere        // Constants, memory off the heap, memory of other languages.
)

// arenaAllocated is AddCleanup's panic for memory of Go's package arena.
const arenaAllocated = "runtime.AddCleanup: ptr is arena-allocated"

// RegionBits: a region is a power of two that divides the unit in which the heap takes address
// space.
const RegionBits = 16

// heapRegions remembers regions that are the heap's, each in its slot, as one more than its number.
var heapRegions [1 << 12]atomic.Uintptr

// Asking says whether the answers hold: a switch for debugging may make the runtime give the same one
// always. Then all memory is Elsewhere.
var Asking = sync.OnceValue(func() bool { return askGround(&make([]byte, 64)[0]) == OnHeap })

// groundOf is the ground of the memory at p. The answer is Elsewhere if there is no other.
func groundOf(p unsafex.Ptr) Ground {
	region := unsafex.PtrAddr(p) >> RegionBits
	slot := &heapRegions[region%uintptr(len(heapRegions))]
	if slot.Load() == region+1 {
		return OnHeap
	}
	if !Asking() {
		return Elsewhere
	}
	g := askGround(unsafex.As[byte](p))
	if g == OnHeap {
		slot.Store(region + 1)
	}
	return g
}

//go:noinline
func askGround(p *byte) (g Ground) {
	defer func() {
		switch recover() {
		case nil:
		case arenaAllocated:
			g = InGoArena
		default:
			g = Elsewhere
		}
	}()
	c := runtime.AddCleanup(p, func(int) {}, 0)
	if c == (runtime.Cleanup{}) {
		return InGlobals
	}
	c.Stop()
	return OnHeap
}

// Grounds finds grounds for one copy. It remembers pages that are InGoArena or Elsewhere,
// because each such answer costs a panic. The zero value is ready.
type Grounds struct{ pages map[uintptr]Ground }

const pageBits = 12

// Of is the ground of the memory at q.
func (g *Grounds) Of(q unsafex.Ptr) Ground {
	page := unsafex.PtrAddr(q) >> pageBits
	if is, ok := g.pages[page]; ok {
		return is
	}
	is := groundOf(q)
	if is >= InGoArena && isWhole(page, is) {
		if g.pages == nil {
			g.pages = make(map[uintptr]Ground)
		}
		g.pages[page] = is
	}
	return is
}

// isWhole says whether one answer holds for a page. Variables of C may share a page with package-level variables of Go, which begin or
// end there: all of them take far more than a page.
func isWhole(page uintptr, is Ground) bool {
	first := page << pageBits
	return groundOf(unsafex.Pointer(first)) == is && groundOf(unsafex.Pointer(first+1<<pageBits-1)) == is
}
