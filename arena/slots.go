// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The slots of an arena are a hash table with linear probing: it leads from the keys of types to
// cursors. The fast paths read the place of the key's hash alone; the slow paths search on from
// there. The table is at most half full, so few types lie in another place. It grows with the number
// of types. Keys are addresses, which the linker chooses: a table that grows with their collisions
// can get any size.

const (
	minSlots = 8       // Of the table that is part of the arena.
	maxSlots = 1 << 10 // If types need more than half of them, the table is cleared and filled again.
)

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
