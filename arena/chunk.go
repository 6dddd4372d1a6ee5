// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math"
	"math/bits"
	"reflect"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A chunk is a run of memory from which values are cut, one behind the other. Its base and size
// never change. Each cut checks its result against them, so not even a data race makes it return
// memory outside the chunk.
type chunk struct {
	*cursor // That of the present owner; noCursor until the owner opens the chunk.

	base  unsafex.Ptr
	size  uintptr
	dirty uintptr // Words and bytes: what lies behind it is zero. It lags behind used.

	next *chunk
	desc *typeDesc     // Of typed chunks.
	mem  reflect.Value // Of typed chunks on the Go heap: a variable of type []T that holds them.

	class uint8  // Chunks of one class have one size.
	off   bool   // Off the Go heap.
	tick  uint32 // When it entered the store.

	owner atomic.Pointer[record] // That of the arena, or of the kit, or nil.
}

// An UnsafeCursor is the place where the next values of one type are cut from. A decoder that makes
// many values looks it up once, with [Arena.UnsafeCursor] or [UnsafeSlabs.Cursor], and cuts from it
// without a look-up for each value.
//
// A cursor has no room once its chunk is full or has left the arena, as after Free or a Pool's Put.
// The decoder then allocates in the ordinary way, and looks the cursor up anew. A cursor keeps the
// memory that it leads to alive, so a decoder forgets it at the end of a message. It serves the
// goroutine of its arena and must not be copied.
type UnsafeCursor struct {
	base unsafex.Ptr // Of the chunk; nil once the chunk is freed, so that nothing keeps its memory alive.
	used uintptr     // Values lie in [0, used).
	// The fast paths cut up to here. In words, the bytes between used and limit are zero. In a
	// chunk that is not current, limit is 0, so that a slot that still leads to it finds it full.
	limit uintptr
	typed bool   // Behind used all is zero. So it is in chunks of one type.
	floor uint32 // The bump's, or noTrim if it is larger.
}

// noTrim says that UnsafeTrim must ask the bump for its floor.
const noTrim = math.MaxUint32

// A cursor is the part of a chunk that the fast paths read and write. Arenas, their slots and their
// bumps refer to cursors. Each arena that a chunk belongs to, one after the other, gets a cursor of
// its own: the limit of the earlier ones stays 0 for good. So a copy of an arena, made before its
// Free, cuts nothing from a chunk that is another arena's by now.
//
// An arena makes its cursors some at a time, and no cursor serves twice. They do not lie in the
// Arena, because a copy that is written over its original would bring old limits back, and arenas
// share no array of them, because each cursor keeps the whole array alive, and so the memory that
// its cursors lead to. On 64-bit systems an array is whole cache lines, so that arenas of two Ps do not share one.
type cursor = UnsafeCursor

// someCursors are what an arena makes at a time. More would be garbage in arenas of few chunks.
const someCursors = 4

// noChunk is the chunk of a bump that has none, and noCursor its cursor. They are never written to.
var (
	noChunk  = chunk{cursor: &noCursor}
	noCursor cursor
)

// newChunk makes the record of a chunk.
func newChunk(d *typeDesc, class uint8, base unsafex.Ptr, size uintptr) *chunk {
	return &chunk{cursor: &noCursor, base: base, desc: d, class: class, size: size}
}

// disown says that the chunk, which is closed, belongs to no arena. Its cursor leads to nothing
// from then on.
func (c *chunk) disown() {
	c.owner.Store(nil)
	c.expire()
}

// ownerID is the ID of the arena that has the chunk, or 0.
func (c *chunk) ownerID() uint64 {
	if r := c.owner.Load(); r != nil {
		return r.id.Load()
	}
	return 0
}

// expire makes the cursor lead to nothing from now on.
func (c *chunk) expire() {
	if c.cursor != &noCursor {
		*c.cursor = cursor{}
		c.cursor = &noCursor
	}
}

// newCursor is a cursor that no chunk of a had.
func (a *Arena) newCursor() *cursor {
	if len(a.cursors) == 0 {
		a.cursors = makeCursors(1)
	}
	c := &a.cursors[0]
	a.cursors = a.cursors[1:]
	return c
}

// makeCursors makes cursors for n chunks, and for some more.
func makeCursors(n int) []cursor {
	return make([]cursor, (n+someCursors-1)/someCursors*someCursors)
}

// window is how much is cleared ahead at once: it should stay in the fastest cache.
const window = 8 << 10

// take is the fast way to cut n bytes, or nil if that needs the slow one. n is not 0: noCursor would be written to.
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

// open makes a chunk of the bump's one that the fast paths cut.
func (b *bump) open(c *chunk) {
	if c.cursor == &noCursor {
		c.cursor = b.arena().newCursor()
		c.cursor.base, c.typed = c.base, c.desc != nil
	}
	c.limit = c.size
	if b.flow == wordFlow && c.used < c.dirty {
		c.limit = c.used
	}
}

// close makes it one that they do not cut: noscan types share a chunk, so that several slots may
// still lead to it.
func (c *chunk) close(f flow) {
	c.limit = 0
	if f != typedFlow {
		c.dirty = max(c.dirty, c.used)
	}
}

// rewind frees, in a closed chunk, the values behind position to.
func (c *chunk) rewind(f flow, to uintptr) {
	if sanitize.Race && c.used > to { // Blocks of offheap are Go memory then, too.
		sanitize.RaceFree(unsafex.PtrAddr(c.base)+to, c.used-to)
	}
	if f == typedFlow {
		c.wipe(to, c.used)
	}
	c.used = min(c.used, to)
}

// refresh empties a chunk in which [0, used) was used, and returns the limit of its next cursor. The caller
// closes the present one.
func (c *chunk) refresh(f flow, used uintptr) (limit uintptr) {
	if sanitize.Race && used != 0 {
		sanitize.RaceFree(unsafex.PtrAddr(c.base), used)
	}
	switch f {
	case typedFlow:
		c.wipe(0, used)
		return c.size
	case byteFlow:
		c.dirty = max(c.dirty, used)
		return c.size
	}
	if c.dirty = max(c.dirty, used); c.dirty > window {
		return 0
	}
	unsafex.ClearAt(c.base, c.dirty)
	c.dirty = 0
	return c.size
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

// The slots of an arena are a hash table with linear probing: it leads from the keys of types to
// cursors. The fast paths read the place of the key's hash alone; the slow paths search on from
// there. The table is at most half full, so few types lie in another place. It grows with the number
// of types. Keys are addresses, which the linker chooses: a table that grows with their collisions
// can get any size.

const (
	minSlots = 8       // Of the table that is part of the arena.
	maxSlots = 1 << 10 // If types need more than half of them, the table is cleared and filled again.
)

// at is the slot in place i, modulo the size of the table.
func (a *Arena) at(i uintptr) *slot { return unsafex.Elem(a.slots, i&a.mask) }

// probe is cursorOf for a key that may lie behind the place of its hash.
func (a *Arena) probe(key uintptr) *cursor {
	if a.mask == 0 {
		return &noCursor
	}
	home := typeinfo.Hash(key)
	for i := home; i <= home+a.mask; i++ {
		switch s := a.at(i); s.key {
		case key:
			return s.cursor
		case 0:
			return &noCursor
		}
	}
	return &noCursor
}

// elsewhere is c, the result of cursorOf, or, if that is noCursor, the result of probe.
func (a *Arena) elsewhere(c *cursor, key uintptr) *cursor {
	if c == &noCursor {
		return a.probe(key)
	}
	return c
}

// cutProbed is a zero value of the type of that key, or nil if probe finds no cursor with room. The
// next New of the type finds the cursor in recent.
func (a *Arena) cutProbed(key, size, align uintptr) unsafex.Ptr {
	c := a.probe(key)
	p := c.takeAligned(size, align)
	if p == nil {
		return nil
	}
	if !c.typed && size%8 != 0 {
		unsafex.ClearAt(p, size)
	}
	a.recent.typ, a.recent.cursor = typeinfo.Nil(key), c
	return p
}

// cache puts a type's chunk in its slot.
func (a *Arena) cache(key uintptr, c *cursor) {
	a.enter(key, c)
	a.recent.typ, a.recent.cursor = typeinfo.Nil(key), c
}

// enter is cache without making the type the recent one.
func (a *Arena) enter(key uintptr, c *cursor) {
	home := typeinfo.Hash(key)
	for i := home; i <= home+a.mask; i++ { // If a copy was written over the arena, filled may be too low.
		s := a.at(i)
		if s.key == 0 && 2*uintptr(a.filled+1) <= a.mask+1 {
			s.key = key
			a.filled++
		}
		if s.key == key {
			s.cursor = c
			return
		}
		if s.key == 0 {
			break
		}
	}
	if a.mask+1 < maxSlots {
		a.growSlots(make([]slot, 2*(a.mask+1)))
	} else {
		a.clearSlots()
	}
	a.enter(key, c)
}

// growSlots moves the slots to a larger table of zeros.
func (a *Arena) growSlots(table []slot) {
	old := a.allSlots()
	a.slots, a.mask, a.filled = &table[0], uintptr(len(table)-1), 0
	for _, s := range old {
		if s.key != 0 {
			a.enter(s.key, s.cursor)
		}
	}
	clear(old) // The first ones are part of the arena, and would keep chunks alive that the arena frees.
}

func (a *Arena) allSlots() []slot {
	n := int(a.mask + 1)
	return unsafex.SliceOf[slot](unsafex.PtrOf(a.slots), n, n)
}

// clearSlots clears the slots, so that the next New of each type finds its chunk again.
func (a *Arena) clearSlots() {
	a.recent.typ, a.recent.cursor = nil, &noCursor
	clear(a.allSlots())
	a.filled = 0
}
