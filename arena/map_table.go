// SPDX-License-Identifier: Apache-2.0

package arena

import "math/bits"

// A mapTable is an open addressing table of slots in groups of eight. A byte of ctrl says of each
// slot whether it is empty, was full, or is full and then seven bits of its key's hash, so that a
// group is searched with a few operations on one word. Where a key belongs say the upper bits of
// its hash, and then come the groups behind: so a larger table gets the entries in the order in
// which they lie in the old one, and growing goes through both from end to end.
//
// Control bytes and slots lie apart. Interleaved, as in Go's maps, they took a fifth more time to
// build and as much to look up, because all control bytes of a million entries stay in a cache, and
// the first slots of a small table need not be eight. DESIGN has the
// figures of a table without control bytes.
//
// A table of one group is a row. Its keys have hash 0 unless they are hashed as Go says (hashAny): all
// of them are compared, which takes less time than a hash.
//
// A stale table may hold any bits in ctrl and any slots. Therefore each search ends after as many
// groups as there are, and each slot is reached by an index that Go checks.
type mapTable[K comparable, V any] struct {
	ctrl   []uint64 // A power of two.
	slots  mapRoom[mapSlot[K, V]]
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

// favorite is the slot that a hash gets if it is vacant, in a table of many groups. Where slots that are
// not full have keys of zero, a look at it finds most keys without one at the control bytes: in a
// large table either takes a cache miss.
func (t *mapTable[K, V]) favorite(hash uint64) *mapSlot[K, V] {
	i := hash>>(t.shift&63)*8 + hash>>7&7
	return t.slots.at(int(i))
}

// maxDirect is how large slots may be that are cleared for that.
const maxDirect = 64

// pick is which of the vacant slots of a group a hash gets: its favorite one or the next. The first
// table has not all eight and fills from the first one on: -1 if it is full, which nobody notices before if an
// older copy was written over the Map.
func (t *mapTable[K, V]) pick(vacant, hash uint64) int {
	if len(t.ctrl) <= 1 {
		if i := lowest(vacant); i < len(t.slots.one) {
			return i
		}
		return -1
	}
	first := int(hash >> 7 & 7)
	return (first + lowest(bits.RotateLeft64(vacant, -8*first))) & 7
}

// inRow is what seek is, for a row whose keys have no hash.
func (t *mapTable[K, V]) inRow(key K) (slot int, found bool) {
	if len(t.ctrl) == 0 {
		return -1, false
	}
	w := t.ctrl[0]
	for i := range t.slots.one {
		if w&isFull != 0 && t.slots.one[i].key == key {
			return i, true
		}
		w >>= 8
	}
	return t.pick(^t.ctrl[0]&fullBits, 0), false
}

// seek is the slot of a key or, if there is none, the first slot for it that is not full: -1 without
// one.
func (t *mapTable[K, V]) seek(key K, hash uint64) (slot int, found bool) {
	vacant, at := -1, t.home(hash)
	for range t.ctrl {
		w := t.ctrl[at]
		for e := matches(w, hash); e != 0; e &= e - 1 {
			if i := at*8 + lowest(e); t.slots.at(i).key == key {
				return i, true
			}
		}
		if vacant < 0 && ^w&fullBits != 0 {
			vacant = at*8 + t.pick(^w&fullBits, hash)
		}
		if empties(w) != 0 {
			break
		}
		at = (at + 1) & (len(t.ctrl) - 1)
	}
	return vacant, false
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

// longestRun is how many groups in a row have no empty slot. An entry lies no further behind the group where
// it belongs.
func (t *mapTable[K, V]) longestRun() (longest int) {
	n, run := len(t.ctrl), 0
	for i := 0; i < n || run > 0 && i < 2*n; i++ { // The first group comes behind the last one.
		if empties(t.ctrl[i&(n-1)]) != 0 {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return min(longest, n)
}

// isRow says whether all slots are one group.
func (t *mapTable[K, V]) isRow() bool { return len(t.ctrl) <= 1 }

// most is how many slots may be full: seven of eight if there are many, so that searches end.
func (t *mapTable[K, V]) most() int {
	if t.isRow() {
		return t.slots.len()
	}
	return len(t.ctrl) * 7
}
