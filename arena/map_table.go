// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/bits"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A mapTable is an open addressing table of slots in groups of eight. A byte of ctrl says of each
// slot whether it is empty, was full, or is full and then seven bits of its key's hash, so that a
// group is searched with a few operations on one word. Where a key belongs say the upper bits of
// its hash, and then come the groups behind: so a larger table gets the entries in the order in
// which they lie in the old one, and growing goes through both from end to end.
//
// Control bytes and slots lie apart. Interleaved, as in Go's maps, they took a fifth more time to
// build and as much to look up, because all control bytes of a million entries stay in a cache, and
// the first slots of a small table need not be eight.
//
// A stale table may hold any bits in ctrl and any slots. Therefore each search ends after as many
// groups as there are, and each slot is reached by an index that Go checks.
type mapTable[K comparable, V any] struct {
	ctrl   []uint64 // A power of two.
	slots  []mapSlot[K, V]
	hashes []uint32 // The upper half of each full slot's hash, if hashing again would take longer.
	shift  uint8    // 64 less the bits that say where a key belongs.
	serial uint     // No two tables of one Map have the same.
}

// A mapSlot is an entry. The value is first, because a value of no size at the end would take room.
type mapSlot[K comparable, V any] struct {
	value V
	key   K
}

const (
	isEmpty = 0
	wasFull = 1    // A search for a key goes on here.
	isFull  = 0x80 // With the lower seven bits of the hash.

	eachByte = 0x0101010101010101
	fullBits = isFull * eachByte
)

// lowest is the index of the first byte of which a bit of e is the highest.
func lowest(e uint64) int { return bits.TrailingZeros64(e) >> 3 }

// matches has the highest bit of each byte that is full with this hash, and perhaps of some that
// are full with another.
func matches(w, hash uint64) uint64 {
	x := w ^ (hash&0x7f|isFull)*eachByte
	return (x - eachByte) &^ x & fullBits
}

// empties is not 0 if there are empty bytes; the lowest bit is one of the first one.
func empties(w uint64) uint64 { return (w - eachByte) &^ w & fullBits }

// home is the group where a hash belongs.
func (t *mapTable[K, V]) home(hash uint64) int {
	return int(hash>>(t.shift&63)) & (len(t.ctrl) - 1)
}

// favorite is the slot that a hash gets if it is vacant, or else perhaps nil. Where slots that are
// not full have keys of zero, a look at it finds most keys without one at the control bytes: in a
// large table either takes a cache miss.
func (t *mapTable[K, V]) favorite(hash uint64) *mapSlot[K, V] {
	i := hash>>(t.shift&63)*8 + hash>>7&7
	if i < uint64(len(t.slots)) { // Of a lone group it need not be one.
		return &t.slots[i]
	}
	return nil
}

// maxDirect is how large slots may be that are cleared for that.
const maxDirect = 64

// pick is which of the vacant slots of a group a hash gets: its favorite one or the next. The first
// table has not all eight and fills from the first one on.
func (t *mapTable[K, V]) pick(vacant, hash uint64) int {
	if len(t.ctrl) <= 1 {
		return lowest(vacant)
	}
	first := int(hash >> 7 & 7)
	return (first + lowest(bits.RotateLeft64(vacant, -8*first))) & 7
}

// find is the slot of a key, or nil.
func (t *mapTable[K, V]) find(key K, hash uint64) *mapSlot[K, V] {
	at := t.home(hash)
	for range t.ctrl {
		w := t.ctrl[at]
		for e := matches(w, hash); e != 0; e &= e - 1 {
			if s := &t.slots[at*8+lowest(e)]; s.key == key {
				return s
			}
		}
		if empties(w) != 0 {
			break
		}
		at = (at + 1) & (len(t.ctrl) - 1)
	}
	return nil
}

// index is which slot s is.
func (t *mapTable[K, V]) index(s *mapSlot[K, V]) int {
	if size := unsafex.Size[mapSlot[K, V]](); size != 0 {
		return int((unsafex.Addr(s) - unsafex.SliceAddr(t.slots)) / size)
	}
	return 0 // There is one key of no size.
}

// vacancy is the first slot for a hash that is not full, or -1.
func (t *mapTable[K, V]) vacancy(hash uint64) int {
	at := t.home(hash)
	for range t.ctrl {
		if e := ^t.ctrl[at] & fullBits; e != 0 {
			return at*8 + t.pick(e, hash)
		}
		at = (at + 1) & (len(t.ctrl) - 1)
	}
	return -1
}

// tag is the control byte of a slot.
func (t *mapTable[K, V]) tag(at int) uint8 { return uint8(t.ctrl[at>>3] >> (at & 7 * 8)) }

// fill makes a slot full.
func (t *mapTable[K, V]) fill(at int, hash uint64) {
	w, shift := &t.ctrl[at>>3], at&7*8
	*w = *w&^(0xff<<shift) | (hash&0x7f|isFull)<<shift
	if t.hashes != nil {
		t.hashes[at] = uint32(hash >> 32)
	}
}

// vacate makes a full slot empty and returns true, or one that was full, if a search must go on
// there.
func (t *mapTable[K, V]) vacate(at int) bool {
	w, shift := &t.ctrl[at>>3], at&7*8
	ends := empties(*w) != 0 || len(t.ctrl) == 1
	if *w &^= 0xff << shift; !ends {
		*w |= wasFull << shift
	}
	return ends
}

// most is how many slots may be full: seven of eight if there are many, so that searches end.
func (t *mapTable[K, V]) most() int {
	if len(t.ctrl) <= 1 {
		return len(t.slots)
	}
	return len(t.ctrl) * 7
}

// tableFor is how many groups and slots n entries need.
func tableFor(n int) (groups, slots int) {
	if n <= 8 {
		return 1, n
	}
	groups = 1 << bits.Len(uint(n-1)/7)
	return groups, groups * 8
}

func (m *Map[K, V]) newTable(op string, groups, slots int) (t mapTable[K, V], err error) {
	// The slots come first: they are the most, and without them nothing is taken.
	if t.slots, err = mapMemory[mapSlot[K, V]](op, m.a, slots, m.scanned || m.direct); err != nil {
		return t, err
	}
	if t.ctrl, err = mapMemory[uint64](op, m.a, groups, true); err != nil {
		return t, err
	}
	if m.kind != hashWord {
		if t.hashes, err = mapMemory[uint32](op, m.a, slots, false); err != nil {
			return t, err
		}
	}
	t.shift = uint8(min(63, 65-bits.Len(uint(groups))))
	t.serial = m.t.serial + 1
	return t, nil
}

// mapMemory is n values in a, or on the Go heap, zero if zero says so.
func mapMemory[T any](op string, a *Arena, n int, zero bool) ([]T, error) {
	p, err := a.alloc(op, describe[T](), n, zero)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return make([]T, n), nil
	}
	return unsafex.SliceOf[T](p, n, n), nil
}

// smallTable is up to how many bytes of slots a table counts as small.
const smallTable = 16 << 10

// grow makes room for one more entry at least.
func (m *Map[K, V]) grow(op string) error {
	old := m.t
	groups, slots, spare := len(old.ctrl), len(old.slots), false
	switch {
	case groups == 0:
		groups, slots = 1, m.firstSlots()
	case groups == 1 && slots < 8:
		slots = min(2*slots, 8)
	case groups > 1 && m.n <= groups*5: // Of the 7 that are taken 2 were full: sweeping will do for a while.
		spare = m.spare.ctrl != nil
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
	t := m.spare
	if spare {
		t.serial = old.serial + 1
		clear(t.ctrl)
	} else {
		var err error
		if t, err = m.newTable(op, groups, slots); err != nil {
			return err
		}
		m.tookMemory(op)
	}
	room := t.most() - m.move(op, &t)
	if room <= 0 {
		m.stale(op)
	}
	if m.spare = (mapTable[K, V]{}); !m.loops.pinned() {
		swept := len(old.ctrl) == groups && groups > 1
		if m.scanned || m.direct && swept { // What entries lead to must not live longer than they do.
			clear(old.slots)
		}
		if swept {
			m.spare = old
		}
	}
	m.use(t, room)
	m.loops.newTable()
	return nil
}

func (m *Map[K, V]) use(t mapTable[K, V], room int) {
	m.t, m.room = t, room
	m.far = m.direct && uintptr(len(t.slots))*unsafex.Size[mapSlot[K, V]]() >= farTable
}

// farTable is how many bytes of slots no longer stay near the processor. In less, a wrong guess of
// it that a key is in its favorite slot costs more than the slot.
const farTable = 4 << 20

// firstSlots is how many slots the first table has: all eight of a group unless they are large.
func (m *Map[K, V]) firstSlots() int {
	return int(min(8, max(1, 256/max(1, unsafex.Size[mapSlot[K, V]]()))))
}

// move copies all entries to another table, which is empty, and says how many there were.
func (m *Map[K, V]) move(op string, to *mapTable[K, V]) (n int) {
	from := &m.t
	for g, w := range from.ctrl {
		for e := w & fullBits; e != 0; e &= e - 1 {
			i := g*8 + lowest(e)
			s := &from.slots[i]
			var h uint64
			if from.hashes != nil {
				h = uint64(from.hashes[i])<<32 | uint64(from.tag(i))
			} else {
				h = m.word(unsafex.Word(&s.key))
			}
			at := to.vacancy(h)
			if at < 0 {
				m.stale(op)
			}
			to.fill(at, h)
			to.slots[at] = *s
			n++
		}
	}
	return n
}
