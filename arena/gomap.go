// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math/bits"
	"reflect"
	"slices"
	"sort"
)

// goMaps are the Go maps of an arena, or of one part of a shared one.
type goMaps struct {
	shelves []*mapShelf // In the order of their making.
	lent    int         // How many maps are lent. A checkpoint notes that number.
	held    int64       // Bytes of all maps.
	inUse   int64       // Of those that are lent.
}

// A mapShelf has the maps of one type. Those that are lent come first, in the order in which they were lent, which the
// next round repeats; the others wait for their next use.
type mapShelf struct {
	desc  *typeDesc
	maps  []goMap
	lent  int
	small int64 // Bytes of a map without a table.
}

// A goMap is a Go map that an arena has made.
type goMap struct {
	v      reflect.Value
	plain  map[string]any // The map, if it has this type, the most frequent one: reflect takes twice the time.
	size   int            // How many entries it had at most, as far as the arena knows.
	number int            // How many maps had been lent before it.
}

// goMap is an empty map of a type.
func (a *Arena) goMap(op string, d *typeDesc, hint int) (v reflect.Value, err error) {
	if hint < 0 {
		panic(fmt.Errorf("arena: %s of %s: negative number of entries %d", op, d.typ, hint))
	}
	bytes := mapBytes(d, hint)
	if bytes > maxBytes {
		return v, outOfMemory("%s of %s: %d entries", op, d.typ, hint)
	}
	if a == nil {
		return reflect.MakeMapWithSize(d.typ, hint), nil
	}
	if a.debug != nil {
		defer a.begin(op).done()
	}
	if a.broken() {
		a.misused(op)
	}
	switch a.kind {
	case kindShared:
		err = a.inPart(op, func(part *Arena) (err error) {
			v, err = part.goMap(op, d, hint)
			return err
		})
		return v, err
	case kindHeap:
		if err := a.chargeHeap(bytes); err != nil {
			return v, err
		}
		return reflect.MakeMapWithSize(d.typ, hint), nil
	}
	return a.lendMap(d, hint, bytes)
}

// lendMap is a map that is kept, or a new one, of so many bytes.
func (a *Arena) lendMap(d *typeDesc, hint int, bytes int64) (v reflect.Value, err error) {
	if a.maps == nil {
		a.changed() // An older copy of the arena has no maps.
		a.maps = new(goMaps)
	}
	m := a.maps
	s := m.shelf(d)
	for s.lent < len(s.maps) {
		g := &s.maps[s.lent]
		if more := bytes - s.bytes(g.size); more <= 0 || a.fitsMap(more) {
			g.size = max(g.size, hint)
			return m.lend(s).v, nil
		}
		m.drop(a, s, s.lent, s.lent+1) // A new map may fit in its place, once the arena gives up what is spare.
	}
	if err := a.chargeMap(bytes); err != nil {
		return v, err
	}
	g := goMap{v: reflect.MakeMapWithSize(d.typ, hint), size: hint}
	g.plain, _ = g.v.Interface().(map[string]any)
	s.maps = append(s.maps, g)
	return m.lend(s).v, nil
}

// lend is the first map on the shelf that waits for its next use.
func (m *goMaps) lend(s *mapShelf) *goMap {
	g := &s.maps[s.lent]
	g.number = m.lent
	m.inUse += s.bytes(g.size)
	s.lent++
	m.lent++
	return g
}

// again is an empty map that was used before, or nil.
func (m *goMaps) again(d *typeDesc) *goMap {
	s := m.shelf(d)
	if s.lent == len(s.maps) {
		return nil
	}
	return m.lend(s)
}

// shelf is the shelf for maps of a type.
func (m *goMaps) shelf(d *typeDesc) *mapShelf {
	for _, s := range m.shelves {
		if s.desc == d {
			return s
		}
	}
	s := &mapShelf{desc: d, small: mapBytes(d, 0)}
	m.shelves = append(m.shelves, s)
	return s
}

// noTable is how many entries a map has at most without a table.
const noTable = 8

// bytes are those of a map on the shelf that had so many entries.
func (s *mapShelf) bytes(size int) int64 {
	if size <= noTable {
		return s.small
	}
	return mapBytes(s.desc, size)
}

// mapBytes is about how much a map with room for n entries takes, or more than maxBytes.
func mapBytes(d *typeDesc, n int) int64 {
	const header = 48
	entry := int64(d.typ.Key().Size()+d.typ.Elem().Size()) + 1
	if int64(n) > maxBytes/entry {
		return maxBytes + 1
	}
	slots := int64(noTable)
	if n > noTable {
		slots = 1 << bits.Len64(uint64(int64(n)*8/7))
	}
	return header + slots*entry
}

// chargeMap counts n more bytes of maps. If the limit forbids it, all maps on the shelves go first.
func (a *Arena) chargeMap(n int64) error {
	if !a.fitsMap(n) && !(a.giveUpSpare() && a.fitsMap(n)) {
		return a.rec.beyond(n)
	}
	return nil
}

// fitsMap counts n more bytes of maps, unless the limit forbids them. Maps of an off-heap arena lie on
// the Go heap, and so are no part of its memory.
func (a *Arena) fitsMap(n int64) bool {
	if !a.kind.offHeap() {
		if !a.rec.fits(n) {
			return false
		}
		store.charge(n)
	}
	a.maps.held += n
	return true
}

// drop leaves maps of a shelf to the collector: those in a range of indexes.
func (m *goMaps) drop(a *Arena, s *mapShelf, from, to int) {
	for _, g := range s.maps[from:to] {
		m.count(a, -s.bytes(g.size))
	}
	s.maps = slices.Delete(s.maps, from, to)
}

// count counts n more bytes of maps, also beyond the limit.
func (m *goMaps) count(a *Arena, n int64) {
	m.held += n
	if !a.rec.kind.offHeap() {
		a.rec.held.Add(n)
		store.charge(n)
	}
}

// bytes are those of all maps that the arena counts.
func (m *goMaps) bytes() int64 {
	if m == nil {
		return 0
	}
	return m.held
}

// number is how many maps are lent.
func (m *goMaps) number() int {
	if m == nil {
		return 0
	}
	return m.lent
}

// keepsMaps says whether a hands maps out again.
func (a *Arena) keepsMaps() bool { return a.maps != nil && !a.noReuse && !a.debug.apart() }

// takeBackMaps ends the use of all maps but the first n that are lent, and clears those that it
// keeps.
func (a *Arena) takeBackMaps(n int) {
	if m := a.maps; m != nil {
		for _, s := range m.shelves {
			m.takeBack(a, s, n)
		}
		m.lent = min(m.lent, n)
	}
}

// takeBack is takeBackMaps for the maps of one shelf. It drops an eighth of those that were not used, from the end.
func (m *goMaps) takeBack(a *Arena, s *mapShelf, n int) {
	unused, from := len(s.maps)-s.lent, 0
	if n > 0 {
		from = sort.Search(s.lent, func(i int) bool { return s.maps[i].number >= n })
	}
	kept, keeps := from, a.keepsMaps()
	for at := from; at < s.lent; at++ {
		g := &s.maps[at]
		m.inUse -= s.bytes(g.size)
		if !keeps || !m.clear(a, s, g) {
			continue
		}
		if kept < at {
			s.maps[kept], s.maps[at] = s.maps[at], s.maps[kept]
		}
		kept++
	}
	lent := s.lent
	s.lent = from
	m.drop(a, s, kept, lent)
	m.drop(a, s, len(s.maps)-(unused+7)/8, len(s.maps))
}

// smallMap is the size up to which a map that was hardly used is kept: to clear it costs little.
const smallMap = 64

// clear empties a map, unless it is much larger than what its last use needed.
func (m *goMaps) clear(a *Arena, s *mapShelf, g *goMap) bool {
	n := len(g.plain)
	if g.plain == nil {
		n = g.v.Len()
	}
	if g.size > smallMap && n < g.size/8 {
		return false
	}
	if n > g.size {
		if more := s.bytes(n) - s.bytes(g.size); more > 0 {
			m.count(a, more)
		}
		g.size = n
	}
	if g.plain != nil {
		clear(g.plain)
	} else {
		g.v.Clear()
	}
	return true
}

// keepMaps drops the maps on the shelves that exceed keep bytes, and returns the rest of keep.
func (a *Arena) keepMaps(keep int64) int64 {
	m := a.maps
	if m == nil {
		return keep
	}
	for _, s := range m.shelves {
		at := s.lent
		for at < len(s.maps) && s.bytes(s.maps[at].size) <= keep {
			keep -= s.bytes(s.maps[at].size)
			at++
		}
		m.drop(a, s, at, len(s.maps))
	}
	return keep
}

// dropMaps leaves all maps to the collector, as they are.
func (a *Arena) dropMaps() {
	if m := a.maps; m != nil {
		m.count(a, -m.held)
		a.maps = nil
	}
}

// giveUpSpareMaps drops the maps on the shelves and says whether there were some.
func (a *Arena) giveUpSpareMaps() bool {
	before := a.maps.bytes()
	a.keepMaps(-1)
	return a.maps.bytes() != before
}
