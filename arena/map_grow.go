// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/bits"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// tableFor is how many groups and slots n entries need.
func tableFor(n int) (groups, slots int) {
	if n <= 8 {
		return 1, n
	}
	groups = 1 << bits.Len(uint(n-1)/7)
	return groups, groups * 8
}

// newTable is a table whose slots are not open yet.
func (m *Map[K, V]) newTable(op string, groups, slots int) (t mapTable[K, V], err error) {
	if groups > 1 && m.mul == 0 {
		m.hasher.init()
	}
	// The slots come first: they are the most, and without them nothing is taken.
	if err = t.slots.follow(op, m.a, &m.t.slots, slots, m.spill(), m.use()); err != nil {
		return t, err
	}
	if t.ctrl, err = mapMemory[uint64](op, m.a, groups, true); err != nil {
		return t, err
	}
	if m.kind != hashWord && groups > 1 {
		if t.hashes, err = mapMemory[uint32](op, m.a, slots, false); err != nil {
			return t, err
		}
	}
	t.shift = uint8(min(63, 65-bits.Len(uint(groups))))
	t.serial = m.t.serial + 1
	return t, nil
}

// spill is how many segments more than two are open at most while the entries of one segment are moved: the
// segment itself, and those of entries that lie in another segment than that where they belong: in the old
// table and in the new one, because full groups lead on to the next, the last one to the first. It is 0 if
// an iteration may read the old table, so that no segment is used again.
func (m *Map[K, V]) spill() int {
	if m.loops.pinned() || m.t.slots.count() == 0 {
		return 0
	}
	groups := max(1, len(m.t.slots.segment(0))/8)
	return 3 + 2*(m.t.longestRun()/groups)
}

func (m *Map[K, V]) use() slotUse {
	return slotUse{scanned: m.keys.scanned, zero: m.keys.scanned || m.keys.direct}
}

// smallTable is up to how many bytes of slots a table counts as small.
const smallTable = 16 << 10

// grow makes room for one more entry at least.
func (m *Map[K, V]) grow(op string) error {
	groups, slots := len(m.t.ctrl), m.t.slots.len()
	switch {
	case groups == 0:
		return m.firstTable(op, m.firstSlots())
	case groups == 1 && slots < 8:
		slots = min(2*slots, 8)
	case groups > 1 && m.n <= groups*5: // Of the 7 that are taken 2 were full: sweeping will do for a while.
	default:
		// Small tables grow by four: all of them together take as much on average, and moving less.
		by := 4
		if uintptr(slots)*unsafex.Size[mapSlot[K, V]]() > smallTable {
			by = 2
		}
		groups *= by
		slots = 8 * groups
	}
	if uint(slots) > maxBytes {
		return outOfMemory("%s: a Map of %d entries", op, m.n+1)
	}
	t, err := m.newTable(op, groups, slots)
	if err != nil {
		return err
	}
	m.tookMemory(op)
	m.adopt(op, t)
	return nil
}

// firstTable makes a row the Map's first table.
func (m *Map[K, V]) firstTable(op string, slots int) error {
	use := m.use()
	s, err := mapMemory[mapSlot[K, V]](op, m.a, slots, use.scanned || use.zero)
	if err != nil {
		return err
	}
	ctrl, err := mapMemory[uint64](op, m.a, 1, true)
	if err != nil {
		return err
	}
	m.tookMemory(op)
	m.t.ctrl, m.t.slots.one, m.t.slots.bits = ctrl, s, uint8(bits.Len(uint(slots-1)))
	m.t.shift = 63
	m.t.serial++
	m.room = slots
	m.loops.newTable()
	return nil
}

// adopt moves the entries to t, which becomes the table.
func (m *Map[K, V]) adopt(op string, t mapTable[K, V]) {
	n := m.move(op, &t)
	if n >= t.most() {
		m.stale(op)
	}
	m.t, m.room = t, t.most()-n
	m.far = m.keys.direct && uintptr(t.slots.len())*unsafex.Size[mapSlot[K, V]]() >= farTable
	m.loops.newTable()
}

// farTable is how many bytes of slots no longer stay near the processor. In less, a wrong guess of
// it that a key is in its favorite slot costs more than the slot.
const farTable = 4 << 20

// firstSlots is how many slots the first table has: all eight of a group unless they are large.
func (m *Map[K, V]) firstSlots() int {
	return int(min(8, max(1, 256/max(1, unsafex.Size[mapSlot[K, V]]()))))
}

// move moves all entries to another table, which is empty, and says how many there were. Segments of
// the old table become those of the new one, unless an iteration may read the old one.
func (m *Map[K, V]) move(op string, to *mapTable[K, V]) (n int) {
	from, pinned, use := &m.t, m.loops.pinned(), m.use()
	for i := range from.slots.count() {
		slots := from.slots.segment(i)
		first := i << from.slots.bits
		for at := first; at < first+len(slots); at += 8 {
			for e := from.ctrl[at>>3] & fullBits; e != 0; e &= e - 1 {
				s := &slots[at-first+lowest(e)]
				h := m.movedHash(at+lowest(e), s, to)
				v := to.vacancy(h)
				if v < 0 {
					m.stale(op)
				}
				d := to.slots.open(v, use)
				if d == nil {
					m.stale(op)
				}
				to.fill(v, h)
				*d = *s
				n++
			}
		}
		if !pinned {
			to.slots.put(slots, use)
		}
	}
	if !to.slots.openAll(use) {
		m.stale(op)
	}
	return n
}

// movedHash is the hash in another table of the entry in a slot.
func (m *Map[K, V]) movedHash(at int, s *mapSlot[K, V], to *mapTable[K, V]) uint64 {
	switch {
	case to.isRow():
		return uint64(m.t.tag(at))
	case m.t.hashes != nil:
		return uint64(m.t.hashes[at])<<32 | uint64(m.t.tag(at))
	}
	return m.fullHash(s.key)
}
