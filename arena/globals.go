package arena

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// The runtime has no API that says whether an address is on the heap, in a global or elsewhere. But
// runtime.AddCleanup shows it (GC-7): for a package-level variable it returns the zero Cleanup,
// because the cleanup will never run; for an object of the heap it returns another one; for all
// else it panics. The heap never gives up address space, so one answer holds for all addresses of a
// region.
//
// The symbols of the program and, on Linux, /proc would show its segments, but a program may be
// stripped, and neither shows libraries that are loaded later.

// ground is what memory belongs to.
type ground uint8

const (
	onHeap    ground = iota
	inGlobals        // Package-level variables, and what the linker laid out for their initial values.
	elsewhere        // Constants, off the heap, other languages.
)

// regionBits: a region is a power of two that divides the unit in which the heap takes address
// space.
const regionBits = 16

// heapRegions remembers regions that are the heap's, each in its slot, as one more than its number.
var heapRegions [1 << 12]atomic.Uintptr

// asking works unless a switch for debugging makes the runtime give the same answer always.
var asking = sync.OnceValue(func() bool { return askGround(&make([]byte, 64)[0]) == onHeap })

// groundOf says what memory p leads to. The answer is elsewhere if there is no other.
func groundOf(p unsafex.Ptr) ground {
	region := unsafex.PtrAddr(p) >> regionBits
	slot := &heapRegions[region%uintptr(len(heapRegions))]
	if slot.Load() == region+1 {
		return onHeap
	}
	if !asking() {
		return elsewhere
	}
	g := askGround(unsafex.As[byte](p))
	if g == onHeap {
		slot.Store(region + 1)
	}
	return g
}

//go:noinline
func askGround(p *byte) (g ground) {
	defer func() {
		if recover() != nil {
			g = elsewhere
		}
	}()
	c := runtime.AddCleanup(p, func(int) {}, 0)
	if c == (runtime.Cleanup{}) {
		return inGlobals
	}
	c.Stop()
	return onHeap
}

// groundNear is groundOf, and remembers the pages that are elsewhere, because each of those answers
// costs a panic.
func (c *cloner) groundNear(q unsafex.Ptr) ground {
	page := unsafex.PtrAddr(q) >> 12
	if c.foreign[page] {
		return elsewhere
	}
	g := groundOf(q)
	if g == elsewhere {
		if c.foreign == nil {
			c.foreign = make(map[uintptr]bool)
		}
		c.foreign[page] = true
	}
	return g
}

// isGlobal says whether q leads to a package-level variable.
func (c *cloner) isGlobal(q unsafex.Ptr) bool { return c.groundNear(q) == inGlobals }
