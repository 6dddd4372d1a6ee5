// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

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

// cursorOf is the cursor of the chunk that the values of the type of that key are cut from, or that of
// noChunk if the key is not in the place of its hash.
func (a *Arena) cursorOf(key uintptr) *cursor {
	if a.mask != 0 {
		if s := unsafex.Elem(a.slots, typeinfo.Hash(key)&a.mask); s.key == key {
			return s.cursor
		}
	}
	return &noChunk.cursor
}

// probe is cursorOf for a key that may lie behind the place of its hash.
func (a *Arena) probe(key uintptr) *cursor {
	if a.mask != 0 {
		home := typeinfo.Hash(key)
		for i := home; i <= home+a.mask; i++ {
			switch s := unsafex.Elem(a.slots, i&a.mask); s.key {
			case key:
				return s.cursor
			case 0:
				return &noChunk.cursor
			}
		}
	}
	return &noChunk.cursor
}

// find is cursorOf and, if that fails, probe.
func (a *Arena) find(key uintptr) *cursor {
	if c := a.cursorOf(key); c != &noChunk.cursor {
		return c
	}
	return a.probe(key)
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

// cache makes the fast paths find the chunk that values of a type are cut from.
func (s *state) cache(d *typeDesc, c *cursor) {
	if s.table == nil {
		return
	}
	a := s.self
	s.enter(d.key, c)
	a.recent.typ, a.recent.cursor = typeinfo.Nil(d.key), c
	if d.flow == byteFlow {
		a.text = c
	}
}

// enter puts a cursor into the slot of a type.
func (s *state) enter(key uintptr, c *cursor) {
	mask := uintptr(len(s.table) - 1)
	at := typeinfo.Hash(key) & mask
	for s.table[at].key != key && s.table[at].key != 0 {
		at = (at + 1) & mask
	}
	if s.table[at].key == 0 {
		if 2*(s.filled+1) > len(s.table) {
			s.growSlots()
			s.enter(key, c)
			return
		}
		s.filled++
	}
	s.table[at] = slot{key, c}
	// Again at each call, in case an older copy was written over the Arena.
	s.self.slots, s.self.mask = &s.table[0], mask
}

// growSlots makes room in the table.
func (s *state) growSlots() {
	if len(s.table) == maxSlots {
		s.clearSlots()
		return
	}
	old := s.table
	s.table, s.filled = make([]slot, 2*len(old)), 0
	for _, o := range old {
		if o.key != 0 {
			s.enter(o.key, o.cursor)
		}
	}
	clear(old) // The first table is part of the arena, and would keep chunks alive that the arena frees.
}

// clearSlots makes the next New of each type take the slow path.
func (s *state) clearSlots() {
	s.self.recent.typ, s.self.recent.cursor = nil, &noChunk.cursor
	clear(s.table)
	s.filled = 0
}

// refillSlots makes the fast paths forget the chunks that leave the arena. A type with a chunk of its
// own keeps it.
func (s *state) refillSlots() {
	s.clearSlots()
	for _, b := range s.typed {
		b.enter()
	}
}

const (
	firstWords = 1 << 10 // Bytes of the first chunk of words and of bytes.
	firstTyped = 256     // Of the first typed chunk, or room for four values up to the next.
	firstMost  = 4 << 10
	maxChunk   = 1 << 20 // Of the largest that is not made for one block.
)

func (b *bump) init(s *state, f flow, d *typeDesc) {
	b.chunk, b.in, b.flow, b.desc = &noChunk, s, f, d
	b.grow = classOf(b.first())
}

// first is how many bytes the first chunk has at least.
func (b *bump) first() uintptr {
	if b.flow == typedFlow {
		return min(max(firstTyped, 4*b.desc.size+goHeader), firstMost)
	}
	return firstWords
}

// use makes c, in which no checkpoint has noted values, the current chunk.
func (b *bump) use(c *chunk) {
	b.chunk = c
	if c != &noChunk {
		c.floor = 0
	}
	if b.flow == byteFlow {
		b.in.self.text = &c.cursor
	}
}

// leaveChunk closes the current chunk and leaves the bump without one.
func (b *bump) leaveChunk() {
	if c := b.chunk; c != &noChunk {
		c.close()
		c.next, b.full = b.full, c
		b.use(&noChunk)
	}
}

// shut makes the fast paths find the current chunk full.
func (b *bump) shut() {
	if c := b.chunk; c != &noChunk {
		c.limit = 0
	}
}

// enter makes the fast paths of a typed bump's type find the current chunk.
func (b *bump) enter() {
	if b.desc != nil && b.in.table != nil && b.chunk != &noChunk {
		b.in.enter(b.desc.key, &b.chunk.cursor)
	}
}

// putAside makes the current chunk a spare one if it is empty. Marks of checkpoints name no empty chunk.
func (b *bump) putAside() {
	c := b.chunk
	if c == &noChunk || c.used != 0 {
		return
	}
	c.close()
	b.use(&noChunk)
	b.keep(c, &b.spare)
}

// keep puts an empty chunk aside for later.
func (b *bump) keep(c *chunk, list **chunk) {
	at := list
	for *at != nil && (*at).class > c.class {
		at = &(*at).next
	}
	c.next, *at = *at, c
}

// keepUpTo moves the chunks that exceed keep bytes from a list of spare chunks to out, and returns
// the rest of keep.
func keepUpTo(list **chunk, keep int64, out **chunk) int64 {
	for *list != nil && (*list).bytes() <= keep {
		keep -= (*list).bytes()
		list = &(*list).next
	}
	for c := *list; c != nil; c = *list {
		*list = c.next
		c.next, *out = *out, c
	}
	return keep
}

// emptyUntil moves the chunks of a list before end to a list of spare ones.
func (b *bump) emptyUntil(list **chunk, end *chunk, spare **chunk) {
	for c := *list; c != end; c = *list {
		*list = c.next
		c.close()
		if b.in.debug.apart() { // It is poisoned, and goes to the quarantine.
			c.used = 0
		} else {
			c.rewind(0)
		}
		b.keep(c, spare)
	}
}

// empty makes all chunks of the bump spare ones.
func (b *bump) empty() {
	b.look()
	b.leaveChunk()
	b.emptyUntil(&b.full, nil, &b.spare)
	b.emptyUntil(&b.large, nil, &b.spareLarge)
}

// simple reports whether the current chunk is the only one with values, no spare one is larger, and no
// debug mode samples values.
func (b *bump) simple() bool {
	return b.chunk != &noChunk && b.full == nil && b.large == nil && (b.spare == nil || b.spare.class <= b.chunk.class) && b.in.debug == nil
}

// reuse empties the current chunk.
func (b *bump) reuse(c *chunk) {
	c.floor = 0
	if c.used != 0 {
		c.close()
		c.rewind(0)
		if c.flow == wordFlow && c.dirty <= window { // So that the first values take the fast paths.
			unsafex.ClearAt(c.base, c.dirty)
			c.dirty = 0
		}
		c.open()
	}
}

// spares counts the spare chunks and their bytes.
func (b *bump) spares() (chunks int, bytes int64) {
	for _, list := range [...]*chunk{b.spare, b.spareLarge} {
		for ; list != nil; list = list.next {
			chunks, bytes = chunks+1, bytes+list.bytes()
		}
	}
	return chunks, bytes
}

// look counts the bytes that the fast paths have cut since the last look. It runs before values are
// made or freed.
func (b *bump) look() {
	if b.sample == nil {
		return
	}
	if used := b.chunk.used; used > b.sample.seen {
		b.sample.left -= min(used-b.sample.seen, b.sample.left)
	}
	b.sample.seen = 0
}

// arm makes the value that reaches the next point take the slow path, and no value before it.
func (b *bump) arm() {
	if c := b.chunk; b.sample != nil && c != &noChunk {
		b.sample.seen = c.used
		if b.flow == byteFlow { // The limit of words is no farther than they are zero; see zeroed.
			c.limit = c.size
		}
		c.limit = min(c.limit, c.used+max(b.sample.left, 1)-1) // A value that ends at the point has reached it.
	}
}

// name is what the values of a bump are called.
func (b *bump) name() string {
	switch b.flow {
	case wordFlow:
		return "words"
	case byteFlow:
		return "bytes"
	}
	return b.desc.typ.String()
}

// checkChunk is for a chunk that b has, in whatever list.
func (b *bump) checkChunk(c *chunk) {
	switch {
	case c.desc != b.desc || c.flow != b.flow:
		invariants.Broken("%s has a chunk of another type", b.name())
	case c.used > c.size || c.limit > c.size || !b.in.from.fixed && c.size > classBytes(c.class):
		invariants.Broken("%s has a chunk of class %d (%d bytes) with size %d, position %d and limit %d", b.name(), c.class, classBytes(c.class), c.size, c.used, c.limit)
	case c.owner.Load() != b.in.rec:
		invariants.Broken("%s of arena %d has a chunk of arena %d", b.name(), b.in.self.id, c.ownerID())
	case c.size != 0 && index.find(unsafex.PtrAddr(c.base)) != c:
		invariants.Broken("the index does not lead to a chunk of %s", b.name())
	}
}

// The functions here check what must be true of arenas and of the store at the ends of slow paths.
// They do nothing and cost nothing unless the build has [invariants.Enabled]. None reads the
// contents of chunks. A program that writes to freed values can damage later values, and nothing
// else (C3), so memory that ought to be zero proves nothing about arenas.

// checkCut is for the bytes [u, end) of c, which were just cut.
func (b *bump) checkCut(c *chunk, u, end uintptr) {
	if !invariants.Enabled {
		return
	}
	if c == &noChunk || c != b.chunk && c != b.large {
		invariants.Broken("%s was cut from a chunk that is not a current one", b.name())
	}
	sampled := b.in.debug != nil // Then the limit is where the next sampled value is due.
	if u > end || end != c.used || end > c.limit && !sampled || c.limit > c.size {
		invariants.Broken("[%d, %d) of %s was cut from a chunk of %d bytes with position %d and limit %d", u, end, b.name(), c.size, c.used, c.limit)
	}
	if b.flow == typedFlow && (u%b.desc.size != 0 || end%b.desc.size != 0) {
		invariants.Broken("[%d, %d) of %s is no whole values of %d bytes", u, end, b.name(), b.desc.size)
	}
	if b.flow == wordFlow && (u%8 != 0 || end%8 != 0) {
		invariants.Broken("[%d, %d) of words is no whole words", u, end)
	}
	b.checkChunk(c)
	if noChunk.used|noChunk.limit|noChunk.size != 0 {
		invariants.Broken("the chunk of bumps that have none has position %d, limit %d and size %d", noChunk.used, noChunk.limit, noChunk.size)
	}
}
