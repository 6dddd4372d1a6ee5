// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/bits"
	"reflect"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A chunk is a run of memory from which values are cut, one behind the other. Its base and size
// never change. Each cut checks its result against them, so not even a data race makes it return
// memory outside the chunk. A chunk serves one flow, and one type if typed, for all its life.
type chunk struct {
	cursor // First, so that the fast paths need one address.

	size  uintptr
	lead  uintptr // Bytes of the block in front of base, if off the Go heap.
	dirty uintptr // Words and bytes: what lies behind it is zero. It lags behind used.

	next *chunk
	desc *typeDesc     // Of typed chunks.
	mem  reflect.Value // Of typed chunks on the Go heap: a variable of type []T that holds them.

	tick  uint32 // When it entered the store.
	class uint8  // Chunks of one class have one size.
	flow  flow
	off   bool // Off the Go heap.

	owner atomic.Pointer[record] // That of the arena, or nil.

	// On 64-bit systems a chunk takes two cache lines, so that arenas of two Ps do not share one.
	_ [8]byte
}

// An UnsafeCursor is the place where the next values of one type are cut from. A decoder that makes
// many values looks it up once, with [Arena.UnsafeCursor] or [UnsafeSlabs.Cursor], and cuts from it
// without a look-up for each value.
//
// A cursor has no room once its chunk is full. The decoder then allocates in the ordinary way, and
// looks the cursor up anew. A cursor is valid until the arena's next Reset, Rewind, Free or Put:
// afterwards its chunk may be another arena's. A cursor keeps the memory that it leads to alive, so a
// decoder forgets it at the end of a message. It serves the goroutine of its arena and must not be
// copied.
type UnsafeCursor struct {
	base unsafex.Ptr // Of the chunk.
	used uintptr     // Values lie in [0, used).
	// The fast paths cut up to here. In words, the bytes between used and limit are zero. In a
	// chunk that is not current, limit is 0, so that a slot that still leads to it finds it full.
	limit uintptr
	floor uintptr // A checkpoint noted the values in [0, floor).
	typed bool    // Behind used all is zero. So it is in chunks of one type.
}

// A cursor is the part of a chunk that the fast paths read and write. A slot of an arena leads to a
// chunk that the arena has. When a chunk leaves the arena, the slots are cleared, and the cursor is
// closed until the next owner opens it. A copy of an arena may still have the cursor in its recent or
// text. It then cuts values of the same type or flow from a chunk of another arena: stale values, as
// those of a freed arena.
type cursor = UnsafeCursor

// noChunk is the chunk of a bump that has none. It is never written to.
var noChunk chunk

// newChunk makes the record of a chunk.
func newChunk(f flow, d *typeDesc, class uint8, base unsafex.Ptr, size uintptr) *chunk {
	return &chunk{cursor: cursor{base: base, typed: d != nil}, flow: f, desc: d, class: class, size: size}
}

// ownerID is the ID of the arena that has the chunk, or 0.
func (c *chunk) ownerID() uint64 {
	if r := c.owner.Load(); r != nil {
		return r.id.Load()
	}
	return 0
}

// window is how much is cleared ahead at once: it should stay in the fastest cache.
const window = 8 << 10

// take is the fast way to cut n bytes, or nil if that needs the slow one. n is not 0: noChunk would be written to.
func (c *cursor) take(n uintptr) unsafex.Ptr {
	end := c.used + n
	if end > c.limit {
		return nil
	}
	p := unsafex.Add(c.base, c.used)
	c.used = end
	return p
}

// takeAligned is take for a value that may be aligned to less than a word.
func (c *cursor) takeAligned(size, align uintptr) unsafex.Ptr {
	u := (c.used + align - 1) &^ (align - 1)
	if u+size > c.limit {
		return nil
	}
	c.used = u + size
	return unsafex.Add(c.base, u)
}

// zeroed makes [used, end) of a chunk of words zero and lets the fast path cut it.
func (c *chunk) zeroed(end uintptr) {
	from := max(c.limit, c.used)
	if end <= c.limit {
		return
	}
	to := max(end, from+window)
	if to >= c.dirty {
		to = max(from, c.dirty)
		c.limit = c.size
	} else {
		c.limit = to
	}
	unsafex.ClearAt(unsafex.Add(c.base, from), to-from)
}

// open makes the fast paths cut the chunk.
func (c *chunk) open() {
	c.limit = c.size
	if c.flow == wordFlow && c.used < c.dirty {
		c.limit = c.used
	}
}

// close makes the fast paths find the chunk full: types without pointers and bools share a chunk, so
// that several slots may still lead to it.
func (c *chunk) close() {
	c.limit = 0
	if c.flow != typedFlow {
		c.dirty = max(c.dirty, c.used)
	}
}

// rewind frees, in a closed chunk, the values behind position to.
func (c *chunk) rewind(to uintptr) {
	if sanitize.Race && c.used > to { // Blocks of offheap are Go memory then, too.
		sanitize.RaceFree(unsafex.PtrAddr(c.base)+to, c.used-to)
	}
	if c.flow == typedFlow {
		c.wipe(to, c.used)
	}
	c.used = min(c.used, to)
}

// wipe clears [from, used) of a typed chunk, so that nothing that lay there is reachable any more.
func (c *chunk) wipe(from, used uintptr) {
	if used <= from {
		return
	}
	switch {
	case c.off:
		unsafex.ClearAt(unsafex.Add(c.base, from), used-from)
	case from == 0 && used <= wipeStep:
		c.mem.SetLen(int(used / c.desc.size))
		c.mem.Clear()
	case used-from <= 64*c.desc.size: // One by one, which needs no slice on the heap.
		end := int(used / c.desc.size)
		c.mem.SetLen(end)
		for i := int(from / c.desc.size); i < end; i++ {
			c.mem.Index(i).SetZero()
		}
	default:
		c.wipeSteps(from, used)
	}
}

// wipeStep is how much is cleared without letting the scheduler in.
const wipeStep = 1 << 20

func (c *chunk) wipeSteps(from, used uintptr) {
	step := max(1, wipeStep/c.desc.size) * c.desc.size
	for ; from < used; from += step {
		n := min(step, used-from) / c.desc.size
		reflect.SliceAt(c.desc.typ, unsafex.Add(c.base, from), int(n)).Clear()
	}
}

// Chunks have sizes of classes, eight to an octave from minChunk on, so that a chunk that is given
// back fits the next one who asks.
const minChunk = 256

// classOf is the smallest class of at least n bytes.
func classOf(n uintptr) uint8 {
	if n <= minChunk {
		return 0
	}
	octave := bits.Len64(uint64(n-1)) - 9
	return uint8(octave*8+int((n-1)>>(octave+5)&7)) + 1
}

// classBytes is the size of a class.
func classBytes(class uint8) uintptr {
	return minChunk / 8 * uintptr(8+class&7) << (class >> 3)
}
