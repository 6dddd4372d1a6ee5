// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/bits"
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

// mapLoops counts the iterations of a Map that are under way, and says whether one of them may look
// at the present table. Many goroutines may iterate at once.
type mapLoops struct{ state atomic.Uint64 }

// pinnedTable is the bit of the state that says so. The rest is the count.
const pinnedTable = 1 << 63

// begin counts an iteration, which reads the present table.
func (l *mapLoops) begin() {
	for v := l.state.Load(); !l.state.CompareAndSwap(v, (v+1)|pinnedTable); {
		v = l.state.Load()
	}
}

// end is the end of an iteration. The last one leaves no table pinned.
func (l *mapLoops) end() {
	for {
		v := l.state.Load()
		n := v - 1
		if n&^pinnedTable == 0 {
			n = 0
		}
		if l.state.CompareAndSwap(v, n) {
			return
		}
	}
}

// pinned says whether an iteration may read the present table.
func (l *mapLoops) pinned() bool { return l.state.Load()&pinnedTable != 0 }

// newTable says that the present table is one that no iteration has seen.
func (l *mapLoops) newTable() { l.state.And(^uint64(pinnedTable)) }

// Update makes f(old, ok) the value of key, where old is the present value and ok says whether there
// is one; without one, old is zero. It is the way to count: m.Update(word, func(n int, _ bool) int {
// return n + 1 }). The key is hashed once, not twice as by Get and Set.
//
// f gets a copy of the value, and no pointer into the table, because the table may go before a
// pointer would. So f may use the Map, and its arena. Update sets the value after f has returned, as
// [Map.Set] does, whatever f did: an entry that f has deleted is there again, and a value that f has
// set is overwritten. If f frees, resets or rewinds the memory of the Map, Update panics, as every
// use of the Map does then. If f panics, the Map stays as f left it.
//
// If the Map must grow and there is no memory, Update panics as [Map.Set] does.
func (m *Map[K, V]) Update(key K, f func(old V, ok bool) V) { must(m.update(key, f)) }

func (m *Map[K, V]) update(key K, f func(old V, ok bool) V) error {
	const op = "Map.Update"
	u := m.unseen()
	u.check(op)
	h, serial := u.hash(key), u.t.serial
	at, found := u.seek(key, h)
	var old V
	if found {
		s := u.t.slots.at(at)
		old = s.value
	}
	value := f(old, found)
	u.check(op) // f may have used the Map and the arena.
	if u.t.serial != serial {
		h = u.hash(key)
	}
	if at, found = u.seek(key, h); found {
		u.replace(at, key, value)
		return nil
	}
	return u.insert(op, at, h, key, value)
}

// GetOrSet returns the value of key. If there is none, it sets value first, as [Map.Set] does; then
// ok is false.
func (m *Map[K, V]) GetOrSet(key K, value V) (actual V, ok bool) {
	actual, ok, err := m.getOrSet(key, value)
	must(err)
	return actual, ok
}

func (m *Map[K, V]) getOrSet(key K, value V) (actual V, ok bool, err error) {
	const op = "Map.GetOrSet"
	u := m.unseen()
	u.check(op)
	h := u.hash(key)
	at, found := u.seek(key, h)
	if found {
		s := u.t.slots.at(at)
		return s.value, true, nil
	}
	if err = u.insert(op, at, h, key, value); err != nil {
		return actual, false, err
	}
	return value, false, nil
}

// Without the methods here package encoding/json would write a Map as {}, since it sees no exported
// field. They copy the entries to a Go map and back, so that the rules for keys and values are
// json's own, in any version of it. Every program with an arena has that package already:
// internal/debugmode writes its evidence by it.

// MarshalJSON encodes the Map as package encoding/json encodes a Go map with the same entries: keys
// are sorted, and must be strings, integers or [encoding.TextMarshaler]; other keys are an error. It
// copies the entries to the Go heap first, and takes time and memory there in proportion. If a method
// of a key or a value frees the arena's values, MarshalJSON panics.
//
// A copy of a Map, as in json.Marshal(*m), has no such method: encoding/json writes {} for it. Go vet
// reports the copy.
func (m *Map[K, V]) MarshalJSON() ([]byte, error) {
	m.check("Map.MarshalJSON")
	// A method of a key or a value may free later keys. Then this panic takes the place of the results, or of a panic of
	// reflect's because json finds a key no more that it has seen.
	defer m.check("Map.MarshalJSON")
	entries := make(map[K]V, m.n)
	maps.Insert(entries, m.All())
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // The caller's encoder does so, unless it is told not to.
	if err := e.Encode(entries); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// UnmarshalJSON sets the entries of a JSON object, as package encoding/json does in a Go map:
// entries with other keys stay. The Map must be one of [NewMap]. json.Unmarshal makes a zero Map
// where it finds a nil *Map, and UnmarshalJSON returns an error for it, because the arena is not
// known; package arenajson makes a Map in its arena there. Keys are copied to the arena; memory that values point to lies on the Go heap.
//
// If the text or a type is wrong, the Map is unchanged. If the arena has no memory, UnmarshalJSON
// returns an error that errors.Is [offheap.ErrLimit] or [offheap.ErrOutOfMemory], and has set some
// of the entries.
func (m *Map[K, V]) UnmarshalJSON(text []byte) error {
	if m.self == nil {
		return fmt.Errorf("arena: Map.UnmarshalJSON of a %T that no function of the package made: make it with NewMap before, and unmarshal into it", m)
	}
	m.check("Map.UnmarshalJSON")
	var entries map[K]V
	if err := json.Unmarshal(text, &entries); err != nil {
		return err
	}
	for k, v := range entries {
		if err := m.set("Map.UnmarshalJSON", k, v); err != nil {
			return err
		}
	}
	return nil
}
