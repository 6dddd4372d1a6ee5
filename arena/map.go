// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// A Map is a hash table in an arena. It behaves as a Go map does, for NaN, for zeros of both signs
// and for interface keys, too: a key whose dynamic type cannot be compared panics and changes
// nothing. [NewMap] makes one. Unlike a nil map, a nil *Map cannot be read: every use ends in Go's
// panic for a nil pointer.
//
// When a new key comes into the map, strings that it is or holds in its fields and elements are
// copied to the arena. The contents of an interface in a key are not copied, and values are kept as
// they are. If keys and values have no pointers and bools, their tables lie in memory that the
// collector does not scan, and off the heap if the arena does. Other tables lie in memory of their
// own type, which it scans.
//
// When a Map outgrows its table, the next one is twice as large, and the old one stays in the
// arena, unused, until the arena is reset or freed. All old tables together take at most as much as
// the last one, and [Arena.Stats] counts them as InUse. A good hint avoids them. A Map that loses
// as many entries as it gains takes no more memory.
//
// A Map serves one goroutine at a time, or many that only look up and iterate. It ends with its
// arena's values: after Free and after Reset every use panics. So does every use after Rewind to a
// checkpoint from before the Map was made, grew, or got its last key with a string. The Map itself,
// some 300 bytes, is on the Go heap, so it can report this. A copy of a Map panics. An older copy
// that is written over its original goes unnoticed: entries may be missing or wrong.
type Map[K comparable, V any] struct {
	_     noCopy
	self  *Map[K, V]    // Its own address, which a copy does not have.
	life  *record       // Its round says whether the arena has freed values.
	round atomic.Uint64 // Of life, at the last use.
	grown uint64        // The round in which the Map last took memory of the arena.
	t     mapTable[K, V]
	kind  hashKind
	room  int // Empty slots that may be taken before the table is full.
	n     int
	hasher

	a       *Arena // To allocate from.
	keys    *keyInfo
	scanned bool           // Slots hold pointers that must not outlive their entries.
	direct  bool           // Keys are words, and zero in all slots that are not full.
	far     bool           // Likewise, and the table is so large that checking favorites first pays.
	clears  uint           // How often Clear was called.
	loops   mapLoops       // Iterations that are under way.
	spare   mapTable[K, V] // Of the table's size, empty, if there is one.
}

// NewMap makes an empty Map in a, with room for hint entries. If there is no memory for them, it
// panics with a value that errors.Is [offheap.ErrLimit] or [offheap.ErrOutOfMemory]. It panics if
// hint is negative.
func NewMap[K comparable, V any](a *Arena, hint int) *Map[K, V] {
	m, err := newMap[K, V]("NewMap", a, hint)
	must(err)
	return m
}

// TryNewMap is NewMap with an error for what the world may refuse.
func TryNewMap[K comparable, V any](a *Arena, hint int) (*Map[K, V], error) {
	return newMap[K, V]("TryNewMap", a, hint)
}

func newMap[K comparable, V any](op string, a *Arena, hint int) (*Map[K, V], error) {
	if hint < 0 {
		panic(fmt.Errorf("arena: %s: negative number of entries %d", op, hint))
	}
	slot := describe[mapSlot[K, V]]()
	m := &Map[K, V]{a: a, life: &heapRecord, keys: keysOf[K](), scanned: slot.flow == typedFlow}
	if a != nil {
		a.check(op)
		if a.rec.kind.offHeap() {
			a.checkEntries(op, reflect.TypeFor[K](), reflect.TypeFor[V]())
		}
		m.life = a.rec
	}
	m.begin()
	m.self = m
	m.kind = m.keys.kind
	m.direct = m.kind == hashWord && slot.size <= maxDirect
	m.hasher.init()
	if hint == 0 {
		return m, nil
	}
	if uint(hint) > maxBytes {
		return nil, outOfMemory("%s: %d entries", op, hint)
	}
	if slot.size == 0 {
		hint = 1 // There is one key of no size. Its slot is the first; see index.
	}
	groups, slots := tableFor(hint)
	for {
		t, err := m.newTable(op, groups, slots)
		if err != nil {
			return nil, err
		}
		if m.life.round.Load() == m.grown {
			m.use(t, t.most())
			return m, nil
		}
		m.begin() // Another goroutine may have freed the table: the arena is a shared one.
	}
}

// begin notes the present round for a Map that has no memory yet.
func (m *Map[K, V]) begin() {
	m.grown = m.life.round.Load()
	m.round.Store(m.grown)
}

// checkEntries panics if keys or values of the types must not live in an off-heap or fixed arena.
func (a *Arena) checkEntries(op string, key, value reflect.Type) {
	for i, t := range []reflect.Type{key, value} {
		d := describeType(t)
		if d.path == "" && (a.rec.kind == kindOffHeap || d.flow != typedFlow) {
			continue
		}
		op = fmt.Sprintf("%s of a Map[%s, %s], %s", op, key, value, []string{"with keys", "with values"}[i])
		if a.rec.kind == kindFixed {
			d.checkFixed(op)
		}
		d.checkOffHeap(op)
	}
}

// check panics if the arena gave memory of the Map up, and if the Map is a copy.
func (m *Map[K, V]) check(op string) {
	if m.self != m || m.life.round.Load() != m.round.Load() {
		m.checkSlow(op)
	}
}

//go:noinline
func (m *Map[K, V]) checkSlow(op string) {
	if m.self == nil {
		panic(misuse(op, useOfZero, "on a Map that no function of the package made; use NewMap"))
	}
	if m.self != m {
		panic(misuse(op, useOfCopy, "on a copy of a Map of %s; use *Map, never copy the value", m.life.name()))
	}
	how, now := m.life.since(m.grown)
	if how != "" { // Otherwise the arena may be in use, beside goroutines that look up.
		m.lost(op, how)
	}
	m.round.Store(now)
}

// tookMemory notes that memory which the arena has made since the last check is the Map's. It panics
// if another goroutine has freed values of the arena meanwhile.
func (m *Map[K, V]) tookMemory(op string) {
	if m.life.round.Load() != m.round.Load() {
		how, now := m.life.freedSince(m.round.Load())
		if how != "" {
			m.lost(op, how)
		}
		m.round.Store(now)
	}
	m.grown = m.round.Load()
}

// lost panics because the arena has freed memory of the Map.
func (m *Map[K, V]) lost(op, how string) {
	m.a.check(op)
	panic(misuse(op, useAfterReset, "on a Map of %s, which was %s since the Map was made or took more memory; the arena was made by %s: make a new Map with NewMap after each Reset and Rewind", m.life.name(), how, m.life.place()))
}

// stale panics because the table is not what the Map left in it.
func (m *Map[K, V]) stale(op string) {
	panic(misuse(op, useAfterReset, "on a Map of %s whose memory holds something else by now: it was made, or has grown, after the checkpoint of a Rewind: use no value of an arena after that", m.life.name()))
}

// Len is the number of entries.
func (m *Map[K, V]) Len() int {
	m.check("Map.Len")
	return m.n
}

// Get returns the value of key, and whether there is one.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.check("Map.Get")
	var h uint64
	if m.kind == hashWord {
		w := unsafex.Word(&key)
		h = m.word(w)
		if m.far {
			if s := m.t.favorite(h); s != nil && s.key == key && w != 0 {
				return s.value, true
			}
		}
	} else {
		h = m.hash(key)
	}
	if s := m.t.find(key, h); s != nil {
		return s.value, true
	}
	return value, false
}

// Set makes value the value of key. If the Map must grow and there is no memory, Set panics with a
// value that errors.Is [offheap.ErrLimit] or [offheap.ErrOutOfMemory], and the Map is unchanged.
func (m *Map[K, V]) Set(key K, value V) { must(m.set("Map.Set", key, value)) }

// TrySet is Set with an error for what the world may refuse.
func (m *Map[K, V]) TrySet(key K, value V) error { return m.set("Map.TrySet", key, value) }

func (m *Map[K, V]) set(op string, key K, value V) error {
	m.check(op)
	h := m.hash(key)
	t, vacant := &m.t, -1
	at := t.home(h)
	for range t.ctrl {
		w := t.ctrl[at]
		for e := matches(w, h); e != 0; e &= e - 1 {
			if s := &t.slots[at*8+lowest(e)]; s.key == key {
				if m.keys.rewritten {
					m.rewrite(&s.key, key)
				}
				s.value = value
				return nil
			}
		}
		if vacant < 0 && ^w&fullBits != 0 {
			vacant = at*8 + t.pick(^w&fullBits, h)
		}
		if empties(w) != 0 {
			break
		}
		at = (at + 1) & (len(t.ctrl) - 1)
	}
	if m.room == 0 && (vacant < 0 || t.tag(vacant) != wasFull) {
		if err := m.grow(op); err != nil {
			return err
		}
		vacant = t.vacancy(h)
	}
	if vacant < 0 {
		m.stale(op)
	}
	if m.keys.strings != nil {
		if err := m.keys.own(op, m.a, unsafex.PtrOf(&key)); err != nil {
			return err
		}
		m.tookMemory(op)
	}
	s := &t.slots[vacant]
	if t.tag(vacant) != wasFull {
		m.room--
	}
	t.fill(vacant, h)
	s.key, s.value = key, value
	m.n++
	return nil
}

// rewrite makes key the key of an entry whose key is equal, but may have other bits: a zero of the
// other sign. Its strings stay the arena's.
func (m *Map[K, V]) rewrite(to *K, key K) {
	old := *to
	for _, at := range m.keys.strings {
		*unsafex.As[string](unsafex.Add(unsafex.PtrOf(&key), at)) = *unsafex.As[string](unsafex.Add(unsafex.PtrOf(&old), at))
	}
	*to = key
}

// Delete removes the entry of key and reports whether there was one.
func (m *Map[K, V]) Delete(key K) bool {
	m.check("Map.Delete")
	h := m.hash(key)
	t := &m.t
	s := t.find(key, h)
	if s == nil {
		return false
	}
	if t.vacate(t.index(s)) {
		m.room++
	}
	if m.scanned || m.direct {
		*s = mapSlot[K, V]{}
	}
	m.n--
	return true
}

// Clear removes all entries, those with NaN in their keys, too. The table stays.
func (m *Map[K, V]) Clear() {
	m.check("Map.Clear")
	clear(m.t.ctrl)
	if m.scanned || m.direct {
		clear(m.t.slots)
	}
	m.n, m.room = 0, m.t.most()
	m.clears++
}

// All iterates over the entries, in no particular order. The program may change the Map meanwhile,
// as it may change a Go map: an entry that is removed before it was reached is not produced, a
// changed entry is produced with its latest value, and a new entry may be produced. If the arena is
// freed, the iteration panics when it goes on.
func (m *Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.loop("Map.All", "the next step of Map.All", yield) }
}

// Keys iterates over the keys, as [Map.All] does.
func (m *Map[K, V]) Keys() iter.Seq[K] {
	return func(yield func(K) bool) {
		m.loop("Map.Keys", "the next step of Map.Keys", func(k K, _ V) bool { return yield(k) })
	}
}

// Values iterates over the values, as [Map.All] does.
func (m *Map[K, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		m.loop("Map.Values", "the next step of Map.Values", func(_ K, v V) bool { return yield(v) })
	}
}

func (m *Map[K, V]) loop(op, next string, yield func(K, V) bool) {
	m.check(op)
	// If the Map grows, the table that the loop began with says which entries are to come, and the
	// new one what they are. Nothing changes the old one, since it is pinned.
	t, clears := m.t, m.clears
	m.loops.begin()
	defer m.loops.end()
	from := rand.Uint32()
	for i := range len(t.ctrl) * 8 {
		at := (i/8+int(from>>3))&(len(t.ctrl)-1)*8 + (i+int(from))&7
		if t.tag(at) < isFull {
			continue
		}
		s := &t.slots[at]
		key, value := s.key, s.value
		if t.serial != m.t.serial {
			if key != key { // It cannot be found, nor changed, nor removed but by Clear.
				if m.clears != clears {
					continue
				}
			} else if s = m.t.find(key, m.hash(key)); s == nil {
				continue
			} else {
				key, value = s.key, s.value
			}
		}
		if !yield(key, value) {
			return
		}
		m.check(next)
	}
}
