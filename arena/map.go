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
// When a Map outgrows its table, the next one is two or four times as large. Small old tables, up to
// some 64 KiB, stay in the arena, unused, until the arena is reset or freed, and [Arena.Stats] counts
// them as InUse; all of them together take less than the last one. Of a larger table the entries'
// memory becomes a part of the next one, unless an iteration is under way; one byte for each slot, or
// five if keys are not numbers or pointers, stays. A good hint avoids old tables. A Map that loses as
// many entries as it gains takes no more memory.
//
// A Map serves one goroutine at a time, or many that only look up and iterate. It ends with its
// arena's values: after Free and after Reset every use panics. So does every use after Rewind to a
// checkpoint from before the Map was made, grew, or got its last key with a string. The Map itself,
// some 300 bytes, is a Go value on the stack or on the Go heap, so it can report this. A copy of a
// Map panics. An older copy that is written over its original goes unnoticed: entries may be missing
// or wrong.
type Map[K comparable, V any] struct {
	_     noCopy
	self  *Map[K, V]    // Its own address, which a copy does not have.
	life  *record       // Its round says whether the arena has freed values.
	round atomic.Uint64 // Of life, at the last use.
	grown uint64        // The round in which the Map last took memory of the arena.
	kind  hashKind
	hasher
	t    mapTable[K, V]
	room int // Empty slots that may be taken before the table is full.
	n    int
	far  bool // Slots are direct, and the table is so large that checking favorites first pays.

	a      *Arena // To allocate from.
	keys   *keyInfo
	clears uint     // How often Clear was called.
	loops  mapLoops // Iterations that are under way.
}

// NewMap makes an empty Map in a, with room for hint entries. If there is no memory for them, it
// panics with a value that errors.Is [offheap.ErrLimit] or [offheap.ErrOutOfMemory]. It panics if
// hint is negative.
func NewMap[K comparable, V any](a *Arena, hint int) *Map[K, V] {
	var m Map[K, V] // On the caller's stack if it keeps neither the Map nor a copy.
	m.self = &m
	m.mustStart(a, hint)
	return &m
}

// mustStart is start for NewMap, which is inlined then.
//
//go:noinline
func (m *Map[K, V]) mustStart(a *Arena, hint int) { must(m.unseen().start("NewMap", a, hint)) }

// unseen is m without escape analysis knowing. A Map holds its own address, so where anything that it holds
// is kept, the Map must lie on the heap: a pointer in the heap to a stack ends the process when the stack is
// gone. That is right for a copy of the Map. But the methods keep only what is not on the stack, and so
// they use m unseen.
func (m *Map[K, V]) unseen() *Map[K, V] {
	return unsafex.As[Map[K, V]](unsafex.Unescaped(unsafex.PtrOf(m)))
}

// start makes m, which has nothing but its self, a Map in a.
func (m *Map[K, V]) start(op string, a *Arena, hint int) error {
	if hint < 0 {
		panic(fmt.Errorf("arena: %s: negative number of entries %d", op, hint))
	}
	m.life = &heapRecord
	if a != nil {
		m.life = a.check(op).rec
		if a.from.outside {
			a.from.checkEntries(op, reflect.TypeFor[K](), reflect.TypeFor[V]())
		}
	}
	m.a, m.keys = a, keysOf[mapSlot[K, V]]()
	if m.kind = m.keys.kind; m.kind == hashAny { // Others are not hashed in a row.
		m.hasher.init()
	}
	m.begin()
	if hint == 0 {
		return nil
	}
	return m.reserve(op, hint)
}

// reserve makes the first table one for hint entries.
func (m *Map[K, V]) reserve(op string, hint int) error {
	if uint(hint) > maxBytes {
		return outOfMemory("%s: %d entries", op, hint)
	}
	if unsafex.Size[mapSlot[K, V]]() == 0 {
		hint = 1 // There is one key of no size.
	}
	groups, slots := tableFor(hint)
	for {
		t, err := m.newTable(op, groups, slots)
		if err != nil {
			return err
		}
		if m.life.round.Load() == m.grown {
			m.adopt(op, t)
			return nil
		}
		m.begin() // Another goroutine may have freed the table: the arena is a shared one.
	}
}

// begin notes the present round for a Map that has no memory yet.
func (m *Map[K, V]) begin() {
	m.grown = m.life.round.Load()
	m.round.Store(m.grown)
}

// checkEntries panics if keys or values of the types must not live in an arena outside the Go heap.
func (f *source) checkEntries(op string, key, value reflect.Type) {
	for i, t := range []reflect.Type{key, value} {
		if d := describeType(t); !f.takes(d) {
			f.admit(fmt.Sprintf("%s of a Map[%s, %s], %s", op, key, value, []string{"with keys", "with values"}[i]), d)
		}
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
		panic(misuse(op, useOfCopy, "on a copy of a Map of %s; use *Map, never copy the value", m.a.name()))
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
	panic(misuse(op, useAfterReset, "on a Map of %s, which was %s since the Map was made or took more memory; the arena was made by %s: make a new Map with NewMap after each Reset and Rewind", m.a.name(), how, m.a.place()))
}

// stale panics because the table is not what the Map left in it.
func (m *Map[K, V]) stale(op string) {
	panic(misuse(op, useAfterReset, "on a Map of %s whose memory holds something else by now: it was made, or has grown, after the checkpoint of a Rewind: use no value of an arena after that", m.a.name()))
}

// Len is the number of entries.
func (m *Map[K, V]) Len() int {
	u := m.unseen()
	u.check("Map.Len")
	return u.n
}

// String names the types, the arena and the number of entries. It never panics. Goroutines may call it beside each other, and
// beside look-ups.
func (m *Map[K, V]) String() string {
	name := fmt.Sprintf("Map[%s, %s]", reflect.TypeFor[K](), reflect.TypeFor[V]())
	switch {
	case m == nil:
		return "a nil " + name
	case m.self == nil:
		return "a " + name + " that no function of the package made"
	case m.self != m:
		return "a copy of a " + name + " of " + m.a.name()
	}
	if how, _ := m.life.since(m.grown); how != "" {
		return name + " of " + m.a.name() + ", which was " + how
	}
	return fmt.Sprintf("%s of %s with %d entries", name, m.a.name(), m.n)
}

// Get returns the value of key, and whether there is one.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	u := m.unseen()
	if u.self != m || u.life.round.Load() != u.round.Load() {
		u.checkSlow("Map.Get")
	}
	t := &u.t
	if t.isRow() && u.kind != hashAny {
		if at, found := t.inRow(key); found {
			return t.slots.one[at].value, true
		}
		return value, false
	}
	var h uint64
	if u.kind != hashWord {
		h = u.fullHash(key)
	} else {
		w := unsafex.Word(&key)
		h = u.word(w)
		if u.far {
			if s := t.favorite(h); s.key == key && w != 0 {
				return s.value, true
			}
		}
	}
	// Written out, because a call takes as long as a look-up in a small table.
	at := t.home(h)
	for range t.ctrl {
		w := t.ctrl[at]
		for e := matches(w, h); e != 0; e &= e - 1 {
			if s := t.slots.at(at*8 + lowest(e)); s.key == key {
				return s.value, true
			}
		}
		if empties(w) != 0 {
			break
		}
		at = (at + 1) & (len(t.ctrl) - 1)
	}
	return value, false
}

// hash is the hash by which the present table finds a key: 0 if it compares all keys.
func (m *Map[K, V]) hash(key K) uint64 {
	if m.t.isRow() && m.kind != hashAny {
		return 0
	}
	return m.fullHash(key)
}

// fullHash is the hash of a key, which tables of several groups need.
func (m *Map[K, V]) fullHash(key K) uint64 {
	switch m.kind {
	case hashWord:
		return m.word(unsafex.Word(&key))
	case hashString:
		s := *unsafex.As[string](unsafex.PtrOf(&key))
		return m.bytes(unsafex.SliceOf[byte](unsafex.StringData(s), len(s), len(s)))
	case hashBytes:
		return m.bytes(unsafex.SliceOf[byte](unsafex.PtrOf(&key), int(unsafex.Size[K]()), int(unsafex.Size[K]())))
	}
	return comparableHash(&m.hasher, key)
}

// seek is the slot of a key or, if there is none, the first slot for it that is not full: -1 without
// one.
func (m *Map[K, V]) seek(key K, hash uint64) (slot int, found bool) {
	if m.t.isRow() && m.kind != hashAny {
		return m.t.inRow(key)
	}
	return m.t.seek(key, hash)
}

// Set makes value the value of key. If the Map must grow and there is no memory, Set panics with a
// value that errors.Is [offheap.ErrLimit] or [offheap.ErrOutOfMemory], and the Map is unchanged.
func (m *Map[K, V]) Set(key K, value V) { must(m.set("Map.Set", key, value)) }

func (m *Map[K, V]) set(op string, key K, value V) error {
	u := m.unseen()
	u.check(op)
	h := u.hash(key)
	at, found := u.seek(key, h)
	if found {
		u.replace(at, key, value)
		return nil
	}
	return u.insert(op, at, h, key, value)
}

// replace makes value the value of an entry whose key is equal to key.
func (m *Map[K, V]) replace(at int, key K, value V) {
	s := m.t.slots.at(at)
	if m.keys.rewritten {
		m.rewrite(&s.key, key)
	}
	s.value = value
}

// insert sets an entry with a new key at a place that seek has found for it.
func (m *Map[K, V]) insert(op string, at int, hash uint64, key K, value V) error {
	if m.room == 0 && (at < 0 || m.t.tag(at) != wasFull) {
		if err := m.grow(op); err != nil {
			return err
		}
		if m.kind != hashAny { // In a row it had none.
			hash = m.hash(key)
		}
		at = m.t.vacancy(hash)
	}
	if at < 0 {
		m.stale(op)
	}
	if m.keys.strings != nil {
		if err := m.keys.own(op, m.a, unsafex.PtrOf(&key)); err != nil {
			return err
		}
		m.tookMemory(op)
	}
	if m.t.tag(at) != wasFull {
		m.room--
	}
	m.t.fill(at, hash)
	s := m.t.slots.at(at)
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
	u := m.unseen()
	u.check("Map.Delete")
	at, found := u.seek(key, u.hash(key))
	if !found {
		return false
	}
	if u.t.vacate(at) {
		u.room++
	}
	if u.keys.scanned || u.keys.direct {
		*u.t.slots.at(at) = mapSlot[K, V]{}
	}
	u.n--
	return true
}

// Clear removes all entries, those with NaN in their keys, too. The table stays.
func (m *Map[K, V]) Clear() {
	u := m.unseen()
	u.check("Map.Clear")
	clear(u.t.ctrl)
	if u.keys.scanned || u.keys.direct {
		u.t.slots.clear()
	}
	u.n, u.room = 0, u.t.most()
	u.clears++
}

// GetBytes is [Map.Get] with a key in a buffer, which it does not copy.
func GetBytes[K ~string, V any](m *Map[K, V], key []byte) (V, bool) {
	return m.Get(bufferKey[K](key))
}

// SetBytes is [Map.Set] with a key in a buffer. If the key is new, SetBytes copies it to the arena.
func SetBytes[K ~string, V any](m *Map[K, V], key []byte, value V) {
	must(m.set("SetBytes", bufferKey[K](key), value))
}

// bufferKey is a key for a Map, which does not keep it: it keeps copies of strings.
func bufferKey[K ~string](b []byte) K {
	return K(unsafex.StringOf(unsafex.Unescaped(unsafex.DataOf(b)), len(b)))
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
	u := m.unseen()
	u.check(op)
	// If the Map grows, the table that the loop began with says which entries are to come, and the
	// new one what they are. Nothing changes the old one, since it is pinned.
	t, clears := u.t, u.clears
	u.loops.begin()
	defer u.loops.end()
	from := rand.Uint32()
	for i := range len(t.ctrl) * 8 {
		at := (i/8+int(from>>3))&(len(t.ctrl)-1)*8 + (i+int(from))&7
		if t.tag(at) < isFull {
			continue
		}
		s := t.slots.at(at)
		key, value := s.key, s.value
		if t.serial != u.t.serial {
			if key != key { // It cannot be found, nor changed, nor removed but by Clear.
				if u.clears != clears {
					continue
				}
			} else if at, found := u.seek(key, u.hash(key)); !found {
				continue
			} else {
				s = u.t.slots.at(at)
				key, value = s.key, s.value
			}
		}
		if !yield(key, value) {
			return
		}
		u.check(next)
	}
}
