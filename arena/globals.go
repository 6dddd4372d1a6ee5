package arena

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// Where memory is that belongs to no arena, the runtime tells to nobody who asks, but
// runtime.AddCleanup takes a pointer to a package-level variable, and answers with a cleanup that is
// zero because it will never run; for an object of the heap it is not zero, and panics for what is
// neither (GC-7). The heap never gives up address space, so that one answer serves for all
// pointers nearby. Segments of the program itself would be in its symbols, if it was not stripped,
// and in /proc, on Linux; neither is there for libraries that are loaded later.

// ground is what memory belongs to.
type ground uint8

const (
	onHeap    ground = iota
	inGlobals        // Package-level variables, and what the linker laid out for their initial values.
	elsewhere        // Constants, off the heap, other languages.
)

// regionBits: a region is a power of two that divides the unit in which the heap takes address space.
const regionBits = 16

// heapRegions remembers regions that are the heap's, each in its slot, as one more than its number.
var heapRegions [1 << 12]atomic.Uintptr

// asking works unless a switch for debugging makes the runtime give the same answer always.
var asking = sync.OnceValue(func() bool { return askGround(&make([]byte, 64)[0]) == onHeap })

// groundOf says what memory p leads to. It is elsewhere if nobody knows.
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

// groundNear is groundOf, which remembers what is elsewhere: asking costs a panic then.
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
