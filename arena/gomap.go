// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"math/bits"
	"slices"
	"sort"
)

// noTable is how many entries a map has at most without a table.
const noTable = 8

// bytes are those of a map of the type that had so many entries.
func (s *typeMaps) bytes(size int) int64 {
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

// lend is the first map of the type that waits for its next use.
func (m *goMaps) lend(s *typeMaps) *goMap {
	g := &s.maps[s.lent]
	g.number = m.lent
	m.inUse += s.bytes(g.size)
	s.lent++
	m.lent++
	return g
}

// again is an empty map that was used before, or nil.
func (m *goMaps) again(d *typeDesc) *goMap {
	s := m.of(d)
	if s.lent == len(s.maps) {
		return nil
	}
	return m.lend(s)
}

// of has the maps of a type.
func (m *goMaps) of(d *typeDesc) *typeMaps {
	for _, s := range m.types {
		if s.desc == d {
			return s
		}
	}
	s := &typeMaps{desc: d, small: mapBytes(d, 0)}
	m.types = append(m.types, s)
	return s
}

// drop leaves maps of a type to the collector: those in a range of indexes.
func (m *goMaps) drop(s *state, of *typeMaps, from, to int) {
	for _, g := range of.maps[from:to] {
		m.count(s, -of.bytes(g.size))
	}
	of.maps = slices.Delete(of.maps, from, to)
}

// count counts n more bytes of maps, also beyond the limit.
func (m *goMaps) count(s *state, n int64) {
	m.held += n
	if !s.from.outside {
		s.rec.held.Add(n)
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
func (s *state) keepsMaps() bool { return s.maps != nil && !s.noReuse && !s.debug.apart() }

// takeBackMaps ends the use of all maps but the first n that are lent, and clears those that it
// keeps.
func (s *state) takeBackMaps(n int) {
	if m := s.maps; m != nil {
		for _, of := range m.types {
			m.takeBack(s, of, n)
		}
		m.lent = min(m.lent, n)
	}
}

// takeBack is takeBackMaps for the maps of one type. It drops an eighth of those that were not used, from the end.
func (m *goMaps) takeBack(s *state, of *typeMaps, n int) {
	unused, from := len(of.maps)-of.lent, 0
	if n > 0 {
		from = sort.Search(of.lent, func(i int) bool { return of.maps[i].number >= n })
	}
	kept, keeps := from, s.keepsMaps()
	for at := from; at < of.lent; at++ {
		g := &of.maps[at]
		m.inUse -= of.bytes(g.size)
		if !keeps || !m.clear(s, of, g) {
			continue
		}
		if kept < at {
			of.maps[kept], of.maps[at] = of.maps[at], of.maps[kept]
		}
		kept++
	}
	lent := of.lent
	of.lent = from
	m.drop(s, of, kept, lent)
	m.drop(s, of, len(of.maps)-(unused+7)/8, len(of.maps))
}

// smallMap is the size up to which a map that was hardly used is kept: to clear it costs little.
const smallMap = 64

// clear empties a map, unless it is much larger than what its last use needed.
func (m *goMaps) clear(s *state, of *typeMaps, g *goMap) bool {
	n := len(g.plain)
	if g.plain == nil {
		n = g.v.Len()
	}
	if g.size > smallMap && n < g.size/8 {
		return false
	}
	if n > g.size {
		if more := of.bytes(n) - of.bytes(g.size); more > 0 {
			m.count(s, more)
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

// keepMaps drops the maps that wait that exceed keep bytes, and returns the rest of keep.
func (s *state) keepMaps(keep int64) int64 {
	m := s.maps
	if m == nil {
		return keep
	}
	for _, of := range m.types {
		at := of.lent
		for at < len(of.maps) && of.bytes(of.maps[at].size) <= keep {
			keep -= of.bytes(of.maps[at].size)
			at++
		}
		m.drop(s, of, at, len(of.maps))
	}
	return keep
}

// dropMaps leaves all maps to the collector, as they are.
func (s *state) dropMaps() {
	if m := s.maps; m != nil {
		m.count(s, -m.held)
		s.maps = nil
	}
}

// releaseSpareMaps drops the maps that wait and says whether there were some.
func (s *state) releaseSpareMaps() bool {
	before := s.maps.bytes()
	s.keepMaps(-1)
	return s.maps.bytes() != before
}
