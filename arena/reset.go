// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"sort"

	"github.com/freehold-go/freehold/internal/invariants"
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
	s.rec.noteReset()
	clear(s.table) // Neither the Arena nor a copy keeps a chunk alive.
	s.self.close()
	s.self = nil // Every later use panics.
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
	c, err := b.in.from.lend(b, class)
	if c == nil || err != nil { // A limit forbids to have both.
		return
	}
	*room -= more
	keepUpTo(&b.spare, 0, out)
	keepUpTo(&b.spareLarge, 0, out)
	c.next, b.spare = nil, c
}

// checkChunks is for an arena that was reset or rewound, or is about to be freed.
func (s *state) checkChunks() {
	if !invariants.Enabled || s.from.single || s.debug.apart() { // Values that are kept apart lie in few chunks.
		return
	}
	held := int64(0)
	s.each(func(b *bump) {
		if b.chunk != &noChunk {
			b.checkChunk(b.chunk)
			held += b.chunk.bytes()
		}
		for i, list := range []*chunk{b.full, b.spare, b.large, b.spareLarge} {
			for c := list; c != nil; c = c.next {
				b.checkChunk(c)
				held += c.bytes()
				if spare := i%2 == 1; spare && (c.used != 0 || c.limit != 0) || i == 0 && c.limit != 0 {
					invariants.Broken("list %d of %s has a chunk with position %d and limit %d", i, b.name(), c.used, c.limit)
				}
			}
		}
	})
	elsewhere := s.debug.bytes()
	if !s.from.outside {
		elsewhere += s.maps.bytes()
	}
	// A fixed arena counts requested bytes.
	if n := s.rec.held.Load(); !s.from.fixed && n != held+elsewhere {
		invariants.Broken("arena %d has %d bytes in chunks and %d elsewhere; counted were %d", s.self.id, held, elsewhere, n)
	}
}

// A Checkpoint is a state of an arena to which [Arena.Rewind] returns it.
type Checkpoint struct {
	arena  uint64
	serial uint64 // Of the marks; rises.
}

// Checkpoint notes the present fill of a. It costs some bytes for each type in use, until a is
// rewound to an earlier checkpoint or reset. So a loop that rewinds at each turn notes one checkpoint
// before it begins. In an arena without reuse ([Options]), the values with pointers that are made later
// begin new chunks, one for each of their types.
func (a *Arena) Checkpoint() Checkpoint {
	if a == nil {
		return Checkpoint{}
	}
	s := a.check("Checkpoint")
	if s.debug != nil {
		defer s.begin("Checkpoint").done()
	}
	c := Checkpoint{a.id, registry.last.Add(1)}
	in, lock := a.lock("Checkpoint")
	defer lock.unlock()
	in.partChunks()
	in.checkpoint(c)
	in.rec.noteCheckpoint(c.serial)
	return c
}

func (s *state) checkpoint(c Checkpoint) {
	at := len(s.marks)
	s.each(func(b *bump) {
		m := mark{serial: c.serial, chunk: b.chunk, full: b.full, large: b.large, used: b.chunk.used}
		if m.used == 0 { // Rewind empties the chunk with the later ones, and a limit may release it before.
			m.chunk = &noChunk
		} else {
			b.chunk.floor = m.used
		}
		s.marks = append(s.marks, m)
	})
	if s.debug != nil {
		s.marks[at].values = len(s.debug.values)
	}
	s.marks[at].maps = s.maps.number()
	s.marks[at].onHeap = s.onHeap // With the kill switch there are no chunks; what counts is what SetLimit bounds.
}

// Rewind frees all values that were made since c was noted and keeps their memory for the next
// ones. An arena without reuse ([Options]) leaves their memory to the collector instead. If older
// values point to freed ones, they see stale values, as Free describes. Checkpoints noted later
// than c become stale, and a Reset makes all checkpoints stale; c itself can be used again. A stale
// checkpoint, and a checkpoint of another arena, panic and change nothing.
func (a *Arena) Rewind(c Checkpoint) {
	if a == nil {
		if c != (Checkpoint{}) {
			panic(misuse("Rewind", useOfMark, "of a nil Arena to a checkpoint of arena %d: rewind the arena that noted the checkpoint", c.arena))
		}
		return
	}
	s := a.check("Rewind")
	if s.debug != nil {
		defer s.begin("Rewind").done()
	}
	if c.arena != a.id {
		panic(misuse("Rewind", useOfMark, "of arena %d to a checkpoint of arena %d: rewind the arena that noted the checkpoint, or use a checkpoint of this arena", a.id, c.arena))
	}
	in, lock := a.lock("Rewind")
	defer lock.unlock()
	in.rewind("Rewind", c, in.abandons(GiveBack))
	in.rec.noteRewind(c.serial)
	in.tellLate()
}

// marksOf finds the marks [from, to) of a checkpoint, none if it is stale.
func (s *state) marksOf(c Checkpoint) (from, to int) {
	from = sort.Search(len(s.marks), func(i int) bool { return s.marks[i].serial >= c.serial })
	for to = from; to < len(s.marks) && s.marks[to].serial == c.serial; to++ {
	}
	return from, to
}

// rewind frees the values made since c. If abandons, their memory goes to the collector.
func (s *state) rewind(op string, c Checkpoint, abandons bool) {
	from, to := s.marksOf(c)
	if from == to {
		panic(misuse("Rewind", useOfMark, "of arena %d to a stale checkpoint: the arena was reset or rewound beyond it: note another after that", c.arena))
	}
	marks := s.marks[from:to]
	s.freeValues(op, marks[0].values)
	clear(s.marks[to:])
	s.marks = s.marks[:to]
	if s.from.single {
		s.dischargeHeap(marks[0].onHeap)
		return
	}
	if n := marks[0].maps; s.maps.number() > n {
		s.takeBackMaps(n)
	}
	s.each(func(b *bump) { // In the order of the marks; bumps that came later have none.
		m := &noMark
		if len(marks) > 0 {
			m, marks = &marks[0], marks[1:]
		}
		if abandons {
			b.abandonSince(m)
		} else {
			b.rewind(m)
		}
	})
	if s.debug.apart() {
		s.releaseSpare()
	}
	s.checkChunks()
}

func (b *bump) rewind(m *mark) {
	if m.chunk == &noChunk && b.simple() { // No list of values has changed since the mark: a loop that rewinds at each turn mostly comes here.
		b.reuse(b.chunk)
		return
	}
	b.look()
	if b.chunk != m.chunk || b.full != m.full { // Under a debug mode no chunk is current after a Rewind.
		b.leaveChunk()
		b.emptyUntil(&b.full, m.end(), &b.spare)
		b.full = m.full
		b.use(m.chunk)
	}
	b.emptyUntil(&b.large, m.large, &b.spareLarge)
	if c := b.chunk; c != &noChunk {
		c.floor = m.used
		c.close()
		if b.in.debug.apart() { // Freed memory is poisoned, and must not be used again.
			c.used = m.used
			c.next, b.full = b.full, c
			b.use(&noChunk)
			return
		}
		c.rewind(m.used)
		c.open()
		b.arm()
		return
	}
	b.reopen()
}
