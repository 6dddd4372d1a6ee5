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
	if a.debug != nil {
		defer a.begin("Checkpoint").done()
	}
	a.check("Checkpoint")
	if a.kind == kindShared {
		return a.checkpointShared()
	}
	c := Checkpoint{a.id, registry.last.Add(1)}
	a.partChunks()
	a.checkpoint(c)
	a.rec.noteCheckpoint(c.serial)
	return c
}

func (a *Arena) checkpoint(c Checkpoint) {
	at := len(a.marks)
	a.changed()
	a.each(func(b *bump) {
		m := mark{serial: c.serial, chunk: b.chunk, full: b.full, large: b.large, used: b.chunk.used}
		if m.used == 0 { // Rewind empties the chunk with the later ones, and a limit may release it before.
			m.chunk = &noChunk
		}
		b.setFloor(m.used)
		a.marks = append(a.marks, m)
	})
	if a.debug != nil {
		a.marks[at].values = len(a.debug.values)
	}
	a.marks[at].maps = a.maps.number()
	if a.kind == kindHeap { // There are no chunks; what counts is what SetLimit bounds.
		a.marks[at].onHeap = a.onHeap
	}
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
	if a.debug != nil {
		defer a.begin("Rewind").done()
	}
	a.check("Rewind")
	if c.arena != a.id {
		panic(misuse("Rewind", useOfMark, "of arena %d to a checkpoint of arena %d: rewind the arena that noted the checkpoint, or use a checkpoint of this arena", a.id, c.arena))
	}
	if a.kind == kindShared {
		a.rewindShared(c)
		return
	}
	a.rewind("Rewind", c, a.abandons(GiveBack))
	a.rec.noteRewind(c.serial)
	a.tellLate()
}

// marksOf finds the marks [from, to) of a checkpoint, none if it is stale.
func (a *Arena) marksOf(c Checkpoint) (from, to int) {
	from = sort.Search(len(a.marks), func(i int) bool { return a.marks[i].serial >= c.serial })
	for to = from; to < len(a.marks) && a.marks[to].serial == c.serial; to++ {
	}
	return from, to
}

// rewind frees the values made since c. If abandons, their memory goes to the collector.
func (a *Arena) rewind(op string, c Checkpoint, abandons bool) {
	from, to := a.marksOf(c)
	if from == to {
		panic(misuse("Rewind", useOfMark, "of arena %d to a stale checkpoint: the arena was reset or rewound beyond it: note another after that", a.id))
	}
	marks := a.marks[from:to]
	a.giveUpValues(op, marks[0].values)
	a.changed()
	clear(a.marks[to:])
	a.marks = a.marks[:to]
	if a.kind == kindHeap {
		a.dischargeHeap(marks[0].onHeap)
		return
	}
	if n := marks[0].maps; a.maps.number() > n {
		a.takeBackMaps(n)
	}
	a.each(func(b *bump) { // In the order of the marks; bumps that came later have none.
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
	if a.debug.apart() {
		a.giveUpSpare()
	}
	a.checkChunks()
}

func (b *bump) rewind(m *mark) {
	if m.chunk == &noChunk && b.simple() { // No list of values has changed since the mark: a loop that rewinds at each turn mostly comes here.
		if b.chunk.used != 0 {
			b.reuse(b.chunk)
		}
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
		b.setFloor(m.used)
		c.close(b.flow)
		if b.arena().debug.apart() { // Freed memory is poisoned, and must not be used again.
			c.used = m.used
			c.next, b.full = b.full, c
			b.use(&noChunk)
			return
		}
		c.rewind(b.flow, m.used)
		b.open(c)
		b.arm()
		return
	}
	b.reopen()
}
