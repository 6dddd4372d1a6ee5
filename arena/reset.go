// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"

	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Free frees all values of a and reuses their memory at once. The program must not use a value
// afterwards: the value may show data of a later one, of the same type if the type holds pointers
// or bools. An arena without reuse ([Options]) leaves the memory to the collector, and a value that
// is still in use does not change. Every use of a afterwards panics, a second Free included.
func (a *Arena) Free() {
	if a != nil {
		a.free("Free", GiveBack)
	}
}

// free frees all values of a and ends it. op is what did it.
func (a *Arena) free(op string, m Mode) {
	s := a.check(op)
	if s.debug != nil {
		defer s.begin(op).done()
	}
	in, lock := a.lock(op)
	defer lock.unlock()
	in.end(op, m)
	if lock != nil {
		lock.freed.Store(true)
	}
	unregister(s.rec)
	s.tellLate()
}

// tellLate panics with what offheap has found when the arena freed chunks: that it could not free one
// of them, or the damage of other blocks. Nothing is left to do then.
func (s *state) tellLate() {
	if !s.from.outside {
		return
	}
	if v := s.rec.refused.Swap(nil); v != nil {
		panic(*v)
	}
	owner.TellLate()
}

// end gives everything back and makes every later use panic. op is what did it.
func (s *state) end(op string, m Mode) {
	s.freeValues(op, 0)
	s.checkChunks()
	s.dropMaps()
	if s.abandons(m) {
		s.abandonAll()
		s.each((*bump).remember)
	} else {
		var out *chunk
		room := int64(0)
		s.each(func(b *bump) { b.giveBack(0, &room, &out) })
		s.release(out)
	}
	clear(s.typed)
	s.typed, s.byDesc, s.marks = nil, nil, nil
	s.noteEnd()
	s.put = op == opPut
	s.retire()
}

// retire makes every later use of the arena panic.
func (s *state) retire() {
	s.rec.noteReset()
	clear(s.table) // Neither the Arena nor a copy keeps a chunk alive.
	s.self.close()
	s.self = nil
}

// each calls f for every bump.
func (s *state) each(f func(*bump)) {
	f(s.words)
	f(s.bytes)
	for _, b := range s.typed {
		f(b)
	}
}

// types is the number of types that have chunks of their own.
func (s *state) types() (n int) {
	for _, b := range s.typed {
		if b.chunk != &noChunk || b.full != nil || b.large != nil || b.spare != nil || b.spareLarge != nil {
			n++
		}
	}
	return n
}

// A Mode decides the next owner of an arena's chunks after [Arena.Reset]: one of the constants below,
// or the result of [KeepUpTo]. Reset panics if it gets any other negative number.
type Mode int64

// The modes of Reset, beside [KeepUpTo].
const (
	// Keep leaves all chunks with the arena, so the next round allocates nothing. Small chunks of one
	// kind are exchanged for one chunk of their size.
	Keep Mode = 1<<63 - 1
	// GiveBack moves all chunks to the store, where any arena finds them. After some seconds they
	// go to the collector.
	GiveBack Mode = 0
	// NoReuse leaves all chunks to the collector, neither wiped nor reused. A value that is still
	// in use does not change, and its chunk lives as long as a pointer leads into it. The next
	// round allocates new chunks, as large as those of the last rounds. Off-heap and fixed arenas,
	// whose memory the collector does not see, panic. [Options] and [Pool] have a field for arenas
	// that always do so; the word noreuse of FREEHOLD is for all arenas on Go memory.
	//
	// A finalizer takes over chunks of 64 KiB and more without pointers, once the collector has
	// proved that no pointer leads into them. Go runs all finalizers in one goroutine, so a
	// finalizer of the program that blocks keeps all such chunks. A cleanup (runtime.AddCleanup) of
	// a value in such a chunk does not run while arenas take the chunk over, but when they no
	// longer use it.
	NoReuse Mode = -1
)

// KeepUpTo leaves chunks of up to n bytes with the arena and moves the others to the store.
func KeepUpTo(n int64) Mode {
	if n < 0 {
		panic(fmt.Errorf("arena: KeepUpTo: negative number of bytes %d", n))
	}
	return Mode(n)
}

// keep is how many bytes of chunks stay with the arena.
func (m Mode) keep() int64 { return max(0, int64(m)) }

// check panics if m is no mode.
func (m Mode) check(op string) {
	if m < 0 && m != NoReuse {
		panic(fmt.Errorf("arena: %s with mode %d: a mode is Keep, GiveBack, NoReuse or the result of KeepUpTo", op, int64(m)))
	}
}

// Reset frees all values of a, as [Arena.Free] does, but a can be used again.
func (a *Arena) Reset(m Mode) {
	if a == nil {
		return
	}
	s := a.check("Reset")
	if s.debug != nil {
		defer s.begin("Reset").done()
	}
	m.check("Reset")
	if m == NoReuse && s.from.outside {
		refuseNoReuse("Reset")
	}
	in, lock := a.lock("Reset")
	defer lock.unlock()
	in.reset("Reset", m)
	in.rec.noteReset()
	in.tellLate()
}

// reset frees all values. op is what did it.
func (s *state) reset(op string, m Mode) {
	s.freeValues(op, 0)
	clear(s.marks)
	s.marks = s.marks[:0]
	switch {
	case s.from.single:
		s.dischargeHeap(0)
		return
	case s.abandons(m):
		s.dropMaps()
		s.abandonAll()
		s.checkChunks()
		return
	case s.from.fixed:
		m = Keep
	}
	keep := m.keep()
	if s.debug.apart() {
		keep = 0 // Freed chunks are quarantined.
	}
	var out *chunk
	room := keep - s.rec.held.Load()
	s.each(func(b *bump) { keep = b.giveBack(keep, &room, &out) })
	s.release(out)
	s.takeBackMaps(0)
	s.keepMaps(keep)
	s.checkChunks()
}

// release gives empty chunks, linked by next, up.
func (s *state) release(list *chunk) {
	if list != nil {
		s.refillSlots()
		s.from.release(s, list)
	}
}

// giveBack empties all chunks of the bump, keeps the largest up to keep bytes, moves the others to
// out and returns the rest of keep. The largest one that it keeps becomes the current chunk, and the
// arena's slot leads to it, so that the next values take the fast paths. room is how many bytes all
// chunks of the arena may grow by, so that none exceeds what the arena keeps because another one grew.
func (b *bump) giveBack(keep int64, room *int64, out **chunk) int64 {
	if c := b.chunk; b.simple() {
		_, bytes := b.spares()
		if left := keep - c.bytes() - bytes; left >= 0 {
			b.reuse(c)
			return left
		}
	}
	b.empty()
	b.merge(keep, room, out)
	keep = keepUpTo(&b.spareLarge, keep, out)
	keep = keepUpTo(&b.spare, keep, out)
	b.reopen()
	return keep
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

// empty makes all chunks of the bump spare ones.
func (b *bump) empty() {
	b.look()
	b.retire()
	b.emptyUntil(&b.full, nil, &b.spare)
	b.emptyUntil(&b.large, nil, &b.spareLarge)
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

// mostMerged bounds the bytes of the chunks that merge makes one of.
const mostMerged = 64 << 10

// merge exchanges all chunks of a bump, which are spare ones, for one that has room for what all of them have. The values of a
// small round then lie in the current chunk, whose cursor the fast paths cut from: no value needs a slow path. A chunk that held one block serves small ones, too. Large chunks stay as they are, because they
// gain little. The new chunk has the size of a class and so may be larger, within room. With a limit, it is none that the bump
// would not ask for (modest).
func (b *bump) merge(keep int64, room *int64, out **chunk) {
	chunks, bytes := b.spares()
	if bytes > min(keep, mostMerged) || b.in.from.outside || b.in.debug != nil {
		return
	}
	if chunks < 2 {
		if b.spare == nil {
			b.spare, b.spareLarge = b.spareLarge, nil
		}
		return
	}
	class := classOf(uintptr(bytes))
	more := int64(classBytes(class)) - bytes
	if more > *room && more > 0 || b.in.rec.modest(class) != class {
		return
	}
	c, err := b.in.from.acquire(b, class)
	if c == nil || err != nil { // A limit forbids to have both.
		return
	}
	*room -= more
	keepUpTo(&b.spare, 0, out)
	keepUpTo(&b.spareLarge, 0, out)
	c.next, b.spare = nil, c
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
