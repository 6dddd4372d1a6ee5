// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math/bits"
	"reflect"
)

// GoMap returns an empty Go map with room for hint entries, which ends with a's values: Reset, Rewind
// and [Pool.Put] clear it, and a hands it out again. So a round takes no new memory for its maps. A
// [Map] does that without pointers to the Go heap; GoMap is for code that demands a Go map. A nil a
// makes a map that is the caller's for good.
//
// The map lies on the Go heap, in arenas of every kind, and may hold any values. [Stats] and limits
// count it as large as hint says, or as large as it was in an earlier round. An arena keeps a map
// only while it is used: Reset drops a map of more than 64 entries if its last use had less than an
// eighth of its entries, and an eighth of the maps that the round did not use. An arena without
// reuse ([Options]), one that is freed, and one in the debug modes guard and poison hand no map out
// again, and leave it as it is.
//
// No code may use the map after that. A stale map is an ordinary Go map, so memory stays intact, but
// a stale read sees entries of the next owner, and a stale write adds to them. If another goroutine
// still uses the map while Reset clears it or its next owner writes to it, Go ends the process with
// "fatal error: concurrent map read and map write", which no recover stops. A [Map] panics instead.
//
// GoMap panics if hint is negative. If a limit refuses the map, it panics with a value that errors.Is
// [offheap.ErrLimit].
func GoMap[K comparable, V any](a *Arena, hint int) map[K]V {
	m, err := goMapOf[K, V]("GoMap", a, hint)
	must(err)
	return m
}

// TryGoMap is [GoMap] that returns an error if there is no memory, instead of panicking.
func TryGoMap[K comparable, V any](a *Arena, hint int) (map[K]V, error) {
	return goMapOf[K, V]("TryGoMap", a, hint)
}

func goMapOf[K comparable, V any](op string, a *Arena, hint int) (map[K]V, error) {
	v, err := a.goMap(op, describe[map[K]V](), hint)
	if err != nil {
		return nil, err
	}
	return v.Interface().(map[K]V), nil
}

// goMaps are the Go maps of an arena, or of one part of a shared one.
type goMaps struct {
	lent    []goMap     // In the order in which they were handed out, so that a checkpoint is a number of them.
	shelves []*mapShelf // In the order of their making.
	held    int64       // Bytes of all maps.
	inUse   int64       // Of those that are lent.
}

// A mapShelf keeps the maps of one type that wait for their next use.
type mapShelf struct {
	desc   *typeDesc
	free   []goMap // The last one is the next to be lent.
	unused int     // How many of them the round that ends has not lent.
}

// A goMap is a Go map that an arena has made.
type goMap struct {
	v     reflect.Value
	shelf *mapShelf
	size  int   // How many entries it had at most, as far as the arena knows.
	bytes int64 // What it is counted as.
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
		a.maps = new(goMaps)
	}
	m := a.maps
	s := m.shelf(d)
	var g goMap
	if n := len(s.free); n > 0 {
		g, s.free[n-1] = s.free[n-1], goMap{}
		s.free = s.free[:n-1]
		s.unused = min(s.unused, n-1)
	}
	if more := bytes - g.bytes; more > 0 {
		if err := a.chargeMap(more); err != nil {
			m.drop(a, g)
			return v, err
		}
		g.bytes = bytes
	}
	if g.shelf == nil {
		g.v, g.shelf = reflect.MakeMapWithSize(d.typ, hint), s
	}
	g.size = max(g.size, hint)
	m.inUse += g.bytes
	m.lent = append(m.lent, g)
	return g.v, nil
}

// shelf is the shelf for maps of a type.
func (m *goMaps) shelf(d *typeDesc) *mapShelf {
	for i, s := range m.shelves {
		if s.desc == d {
			return m.shelves[i]
		}
	}
	s := &mapShelf{desc: d}
	m.shelves = append(m.shelves, s)
	return s
}

// mapBytes is about how much a map with room for n entries takes, or more than maxBytes.
func mapBytes(d *typeDesc, n int) int64 {
	const header, most = 48, 8
	entry := int64(d.typ.Key().Size()+d.typ.Elem().Size()) + 1
	if int64(n) > maxBytes/entry {
		return maxBytes + 1
	}
	slots := int64(most)
	if n > most {
		slots = 1 << bits.Len64(uint64(int64(n)*8/7))
	}
	return header + slots*entry
}

// chargeMap counts n more bytes of maps. Maps of an off-heap arena lie on the Go heap, and so are no
// part of its memory.
func (a *Arena) chargeMap(n int64) error {
	if !a.kind.offHeap() {
		if !a.rec.fits(n) && !(a.giveUpSpare() && a.rec.fits(n)) {
			return a.rec.beyond(n)
		}
		store.charge(n)
	}
	a.maps.held += n
	return nil
}

// drop leaves a map to the collector.
func (m *goMaps) drop(a *Arena, g goMap) { m.count(a, -g.bytes) }

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
	return len(m.lent)
}

// keepsMaps says whether a hands maps out again.
func (a *Arena) keepsMaps() bool { return a.maps != nil && !a.noReuse && !a.debug.apart() }

// takeBackMaps ends the use of all maps but the first n that are lent, and clears those that it
// keeps.
func (a *Arena) takeBackMaps(n int) {
	m := a.maps
	if m == nil {
		return
	}
	for _, s := range m.shelves {
		s.unused = min(s.unused, len(s.free))
	}
	for i := len(m.lent) - 1; i >= n; i-- { // Backwards, so that the next round gets them in the same order.
		m.takeBack(a, m.lent[i])
	}
	clear(m.lent[n:])
	m.lent = m.lent[:n]
	for _, s := range m.shelves {
		m.dropFirst(a, s, (s.unused+7)/8)
		s.unused = len(s.free)
	}
}

// smallMap is the size up to which a map that was hardly used is kept: to clear it costs little.
const smallMap = 64

// takeBack puts a map on its shelf, unless it is much larger than what its last use needed.
func (m *goMaps) takeBack(a *Arena, g goMap) {
	m.inUse -= g.bytes
	n := g.v.Len()
	if !a.keepsMaps() || g.size > smallMap && n < g.size/8 {
		m.drop(a, g)
		return
	}
	if n > g.size {
		g.size = n
		if bytes := mapBytes(g.shelf.desc, n); bytes > g.bytes {
			m.count(a, bytes-g.bytes)
			g.bytes = bytes
		}
	}
	g.v.Clear()
	g.shelf.free = append(g.shelf.free, g)
}

// dropFirst drops n maps of a shelf, those that would be lent last.
func (m *goMaps) dropFirst(a *Arena, s *mapShelf, n int) {
	for _, g := range s.free[:n] {
		m.drop(a, g)
	}
	left := copy(s.free, s.free[n:])
	clear(s.free[left:])
	s.free = s.free[:left]
}

// keepMaps drops the maps on the shelves that exceed keep bytes, and returns the rest of keep.
func (a *Arena) keepMaps(keep int64) int64 {
	m := a.maps
	if m == nil {
		return keep
	}
	for _, s := range m.shelves {
		n := len(s.free)
		for n > 0 && s.free[n-1].bytes <= keep {
			n--
			keep -= s.free[n].bytes
		}
		m.dropFirst(a, s, n)
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
