// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"sort"
)

// A Checkpoint is a state of an arena to which [Arena.Rewind] returns it.
type Checkpoint struct {
	arena  uint64
	serial uint64 // Of the marks; rises.
}

// A mark is the position of one bump at a checkpoint.
type mark struct {
	serial             uint64
	chunk, full, large *chunk
	used               uintptr
	values             int   // How many the debug mode knew.
	onHeap             int64 // Of the arena.
	maps               int   // How many Go maps were lent.
}

// end is where the chunks that were filled after the mark end in the list of full chunks: at the
// chunk that was current at the mark or, without a current one, at the chunk that was full last.
func (m *mark) end() *chunk {
	if m.chunk != &noChunk {
		return m.chunk
	}
	return m.full
}

// noMark is the mark of a bump that came after the checkpoint.
var noMark = mark{chunk: &noChunk}

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
		b.retire()
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
