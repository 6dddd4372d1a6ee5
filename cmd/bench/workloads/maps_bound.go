// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"bytes"
	"hash/maphash"
	"math/bits"

	"github.com/freehold-go/freehold/cmd/bench/bound"
)

// This file holds the physical bound of the workload map: tables for its keys alone. They never delete, check nothing,
// and grow by doubling at three quarters.

// boundMapLeast is the logarithm of the first table's length.
const boundMapLeast = 6

// A boundTables keeps tables between rounds, by the logarithm of their length: one of each
// suffices.
type boundTables[T any] [bits.UintSize][]T

// take returns a zeroed table of n entries, a power of two. It is mapped on huge pages if it is
// large enough.
func (t *boundTables[T]) take(n int) []T {
	log := bits.TrailingZeros(uint(n))
	if table := t[log]; table != nil {
		t[log] = nil
		return table
	}
	if size := bound.SizeOf[T](n); size >= bound.HugePage/2 && bound.HugePagesMissing() == "" {
		return bound.Over[T](bound.MapHuge(size).Mem, n)
	}
	return make([]T, n)
}

func (t *boundTables[T]) put(table []T) {
	clear(table)
	t[bits.TrailingZeros(uint(len(table)))] = table
}

// A mapValue is a value of map/strings.
type mapValue struct{ count, bytes int64 }

type boundEntry struct{ key, value int64 } // key 0 means no entry: the value of mapKey(0) is kept apart

// A boundMap is a table from int64 to int64.
type boundMap struct {
	tables  *boundTables[boundEntry]
	table   []boundEntry
	shift   uint
	room    int
	zero    int64 // the value of key 0
	hasZero bool
}

func newBoundMap(tables *boundTables[boundEntry]) *boundMap {
	m := &boundMap{tables: tables}
	m.grow()
	return m
}

func (m *boundMap) slot(key int64) int { return int(uint64(key) * 0x9e3779b97f4a7c15 >> m.shift) }

func (m *boundMap) get(key int64) (int64, bool) {
	if key == 0 {
		return m.zero, m.hasZero
	}
	for i := m.slot(key); ; i++ {
		switch e := &m.table[i&(len(m.table)-1)]; e.key {
		case key:
			return e.value, true
		case 0:
			return 0, false
		}
	}
}

func (m *boundMap) put(key, value int64) {
	if key == 0 {
		m.zero, m.hasZero = value, true
		return
	}
	if m.room == 0 {
		m.grow()
	}
	i := m.slot(key) & (len(m.table) - 1)
	for m.table[i].key != 0 && m.table[i].key != key {
		i = (i + 1) & (len(m.table) - 1)
	}
	if m.table[i].key == 0 {
		m.room--
	}
	m.table[i] = boundEntry{key, value}
}

func (m *boundMap) grow() {
	old := *m
	size := max(1<<boundMapLeast, 2*len(old.table))
	m.table = m.tables.take(size)
	m.shift, m.room = uint(64-bits.Len(uint(size-1))), size/4*3 // put counts room down
	for _, e := range old.table {
		if e.key != 0 {
			m.put(e.key, e.value)
		}
	}
	if len(old.table) > 0 {
		m.tables.put(old.table)
	}
}

func (m *boundMap) drop() { m.tables.put(m.table) }

// A boundNamed is an entry of a table of names: where in the text its key lies, and the value.
type boundNamed struct {
	hash, size uint32 // a hash of 0 is no entry
	at         int
	value      mapValue
}

// A boundNames is a table from names to values, which keeps the keys one behind the other.
type boundNames struct {
	tables *boundTables[boundNamed]
	table  []boundNamed
	text   []byte
	room   int
}

// newBoundNames makes a table that keeps its keys in text.
func newBoundNames(tables *boundTables[boundNamed], text []byte) *boundNames {
	m := &boundNames{tables: tables, text: text}
	m.grow()
	return m
}

// nameSeed is the same for all tables, so a table that grows need not hash its keys again.
var nameSeed = maphash.MakeSeed()

func nameHash(name []byte) uint32 { return uint32(maphash.Bytes(nameSeed, name)) | 1 }

// slot finds the entry of the name, or where it belongs.
func (m *boundNames) slot(name []byte, hash uint32) *boundNamed {
	for i := int(hash >> 1); ; i++ {
		e := &m.table[i&(len(m.table)-1)]
		if e.hash == 0 || e.hash == hash && bytes.Equal(m.text[e.at:e.at+int(e.size)], name) {
			return e
		}
	}
}

func (m *boundNames) get(name []byte) mapValue { return m.slot(name, nameHash(name)).value }

func (m *boundNames) put(name []byte, value mapValue) {
	if m.room == 0 {
		m.grow()
	}
	hash := nameHash(name)
	e := m.slot(name, hash)
	if e.hash == 0 {
		*e = boundNamed{hash: hash, size: uint32(len(name)), at: len(m.text)}
		m.text = append(m.text, name...)
		m.room--
	}
	e.value = value
}

func (m *boundNames) grow() {
	old := *m
	size := max(1<<boundMapLeast, 2*len(old.table))
	m.table = m.tables.take(size)
	m.room = size/4*3 - len(old.table)/4*3 // the old table was full to three quarters
	for _, e := range old.table {
		if e.hash != 0 {
			i := int(e.hash >> 1)
			for m.table[i&(size-1)].hash != 0 {
				i++
			}
			m.table[i&(size-1)] = e
		}
	}
	if len(old.table) > 0 {
		m.tables.put(old.table)
	}
}

// drop returns the table for the next one, and the text as its result.
func (m *boundNames) drop() (text []byte) {
	m.tables.put(m.table)
	return m.text[:0]
}
