// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"

	"github.com/freehold-go/freehold/internal/owner"
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
	if a.debug != nil {
		defer a.begin(op).done()
	}
	a.check(op)
	if a.kind == kindShared {
		a.freeShared(op, m)
		return
	}
	a.end(op, m)
	unregister(a.rec)
	a.tellLate()
}

// tellLate panics with what offheap has found when the arena freed chunks: that it could not free one
// of them, or the damage of other blocks. Nothing is left to do then.
func (a *Arena) tellLate() {
	if a.off == nil {
		return
	}
	if v := a.rec.refused.Swap(nil); v != nil {
		panic(*v)
	}
	owner.TellLate()
}

// end gives everything back and makes every later use panic. op is what did it.
func (a *Arena) end(op string, m Mode) {
	if a.asleep() {
		a.wake()
	}
	a.giveUpValues(op, 0)
	a.checkChunks()
	abandons := a.abandons(m)
	a.retire(op)
	a.dropMaps()
	if abandons {
		a.abandonAll()
	} else {
		var out *chunk
		room := int64(0)
		a.each(func(b *bump) { b.giveBack(0, &room, &out) })
		a.giveUp(out)
	}
	clear(a.typed)
	a.typed, a.byDesc, a.marks = nil, nil, nil
	a.noteEnd()
}

// retire makes every later use of the arena panic. op is what did it.
func (a *Arena) retire(op string) {
	a.kind, a.put = kindFreed, op == opPut
	a.outdate()
	a.rec.noteReset()
	a.closeSlots()
	a.text = &noCursor
}

// each calls f for every bump.
func (a *Arena) each(f func(*bump)) {
	if a.asleep() {
		a.wake()
	}
	f(a.words)
	f(a.bytes)
	for _, b := range a.typed {
		f(b)
	}
}

// eachType calls f with the description of each type that has chunks of its own.
func (a *Arena) eachType(f func(desc any)) {
	for _, b := range a.typed {
		if b.chunk != &noChunk || b.full != nil || b.large != nil || b.spare != nil || b.spareLarge != nil {
			f(b.desc)
		}
	}
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
	if a.debug != nil {
		defer a.begin("Reset").done()
	}
	a.check("Reset")
	m.check("Reset")
	if m == NoReuse && a.off != nil {
		refuseNoReuse("Reset")
	}
	if a.kind == kindShared {
		a.resetShared(m)
		return
	}
	a.reset("Reset", m)
	a.rec.noteReset()
	a.tellLate()
}

// reset returns how many of the bytes to keep were not needed. op is what did it.
func (a *Arena) reset(op string, m Mode) int64 {
	a.giveUpValues(op, 0)
	a.changed()
	clear(a.marks)
	a.marks = a.marks[:0]
	if a.kind == kindHeap {
		a.dischargeHeap(0)
		return m.keep()
	}
	if a.abandons(m) {
		a.dropMaps()
		a.abandonAll()
		a.checkChunks()
		return m.keep()
	}
	keep := m.keep()
	if a.debug.apart() {
		keep = 0 // Freed chunks are quarantined.
	} else if a.kind == kindFixed {
		keep = Keep.keep()
	}
	var out *chunk
	room := keep - a.rec.held.Load()
	a.each(func(b *bump) { keep = b.giveBack(keep, &room, &out) })
	a.giveUp(out)
	a.takeBackMaps(0)
	keep = a.keepMaps(keep)
	a.checkChunks()
	return keep
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
	return b.chunk != &noChunk && b.full == nil && b.large == nil && (b.spare == nil || b.spare.class <= b.chunk.class) && b.arena().debug == nil
}

// reuse empties the current chunk.
func (b *bump) reuse(c *chunk) {
	c.close(b.flow)
	c.rewind(b.flow, 0)
	b.open(c)
	b.setFloor(0)
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
// small round then lie in the current chunk, whose cursor the fast paths cut from: no value needs a slow path, and an
// arena of a Pool stays asleep. A chunk that held one block serves small ones, too. Large chunks stay as they are, because they
// gain little. The new chunk has the size of a class and so may be larger, within room. With a limit, it is none that the bump
// would not ask for (modest).
func (b *bump) merge(keep int64, room *int64, out **chunk) {
	chunks, bytes := b.spares()
	a := b.arena()
	if bytes > min(keep, mostMerged) || a.kind != kindGo || a.debug != nil {
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
	if more > *room && more > 0 || a.rec.modest(class) != class {
		return
	}
	c, err := a.tryAcquire(b, class)
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
		c.close(b.flow)
		if b.arena().debug.apart() { // It is poisoned, and goes to the quarantine.
			c.used = 0
		} else {
			c.rewind(b.flow, 0)
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
