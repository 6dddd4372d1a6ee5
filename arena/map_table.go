// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"strings"

	"github.com/freehold-go/freehold/internal/typeinfo"
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

// A mapRoom is the memory of a table's slots. Many slots lie in segments of some 64 KiB, so that a
// table which outgrows its room becomes one of twice the size without a second room: the entries of
// one segment go to two new ones, and then the segment is free to be another new one.
type mapRoom[S any] struct {
	one  []S   // The slots, if they are one segment.
	segs [][]S // All segments if there are several, a power of two. The list lies on the Go heap.
	bits uint8 // How many bits of an index say where in its segment a slot is.

	// Segments without use, for the next room. Those that the collector scans are zero.
	next []S
	free [][]S
}

// segmentBytes is about how large a segment is. Three of them are in use while a table grows, and
// should stay near the processor.
const segmentBytes = 64 << 10

// segmentSlots is how many slots a segment has at most: a power of two, and at least one group.
func segmentSlots(slot uintptr) int {
	return max(8, 1<<bits.Len(uint(segmentBytes/max(1, slot)/2)))
}

// at is the slot with an index.
func (r *mapRoom[S]) at(i int) *S {
	if r.segs == nil {
		return &r.one[i]
	}
	return &r.segs[uint(i)>>(r.bits&31)][i&(1<<(r.bits&31)-1)]
}

// count is how many segments there are.
func (r *mapRoom[S]) count() int {
	if r.segs == nil {
		return min(1, len(r.one))
	}
	return len(r.segs)
}

// segment is one of them.
func (r *mapRoom[S]) segment(i int) []S {
	if r.segs == nil {
		return r.one
	}
	return r.segs[i]
}

// len is how many slots there are.
func (r *mapRoom[S]) len() int {
	if r.segs == nil {
		return len(r.one)
	}
	return len(r.segs) << r.bits
}

// clear makes all slots zero.
func (r *mapRoom[S]) clear() {
	for i := range r.count() {
		clear(r.segment(i))
	}
}

// follow makes r, which is empty, a room of n slots after old, with memory of a, and changes nothing
// of old. Segments of old will be put in r, unless spill, which is [Map.spill], is 0. No segment is open
// yet.
func (r *mapRoom[S]) follow(op string, a *Arena, old *mapRoom[S], n, spill int, u slotUse) error {
	most := segmentSlots(unsafex.Size[S]())
	length := min(n, most)
	count := max(1, n/most)
	need := count
	r.bits = uint8(bits.Len(uint(length - 1)))
	if len(old.segment0()) == length {
		r.next, r.free = old.next, old.free
		if spill != 0 {
			need = min(count, count-old.count()+spill)
		}
	}
	if need -= len(r.free); r.next != nil {
		need--
	}
	var mem []S
	if need > 0 {
		var err error
		if mem, err = mapMemory[S](op, a, need*length, u.scanned || u.zero && count == 1); err != nil {
			return err
		}
	}
	if count == 1 {
		r.one = mem
		return nil
	}
	r.segs = make([][]S, count)
	r.free = append(make([][]S, 0, len(r.free)+count), r.free...)
	for ; len(mem) > 0; mem = mem[length:] {
		r.free = append(r.free, mem[:length:length])
	}
	return nil
}

// slotUse says what slots must be.
type slotUse struct {
	scanned bool // The collector scans them.
	zero    bool // Those that are not full are zero.
}

// segment0 is the first segment, or nil.
func (r *mapRoom[S]) segment0() []S {
	if r.count() == 0 {
		return nil
	}
	return r.segment(0)
}

// open is the slot with an index in a room that is being filled, or nil if there are fewer segments
// than a sound table needs.
func (r *mapRoom[S]) open(i int, u slotUse) *S {
	if !r.isOpen(i) {
		s := r.next
		if r.next = nil; s == nil {
			if len(r.free) == 0 {
				return nil
			}
			s = r.free[len(r.free)-1]
			r.free = r.free[:len(r.free)-1]
		}
		if u.zero && !u.scanned {
			clear(s)
		}
		if r.segs == nil {
			r.one = s
		} else {
			r.segs[uint(i)>>(r.bits&31)] = s
		}
	}
	return r.at(i)
}

func (r *mapRoom[S]) isOpen(i int) bool {
	if r.segs == nil {
		return r.one != nil
	}
	return r.segs[uint(i)>>(r.bits&31)] != nil
}

// openAll opens the rest of the segments. It returns false if there are too few.
func (r *mapRoom[S]) openAll(u slotUse) bool {
	for i := range max(1, len(r.segs)) {
		if r.open(i<<r.bits, u) == nil {
			return false
		}
	}
	return true
}

// put takes a segment of the old room, which no longer needs it.
func (r *mapRoom[S]) put(s []S, u slotUse) {
	if u.scanned { // What entries lead to must not live longer than they do.
		clear(s)
	}
	switch {
	case len(s) != 1<<r.bits:
	case r.next == nil:
		r.next = s
	default:
		r.free = append(r.free, s)
	}
}

// mapMemory is n values in a, or on the Go heap, zero if zero says so.
func mapMemory[T any](op string, a *Arena, n int, zero bool) ([]T, error) {
	// Only the arena itself is asked: if a copy of another arena was written over it, the Map would not notice
	// when that arena frees the memory. The rest are the conditions of MakeSlice.
	if size := unsafex.Size[T](); a != nil && a.direct() && size != 0 && size%8 == 0 && uint(n-1) < smallSlice/(uint(size)|1) {
		if p := a.cursorOf(typeinfo.Key[T]()).take(uintptr(n) * size); p != nil {
			return unsafex.SliceOf[T](p, n, n), nil
		}
	}
	p, err := a.alloc(op, describe[T](), n, zero)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return make([]T, n), nil
	}
	return unsafex.SliceOf[T](p, n, n), nil
}

// A hasher makes the hashes of one Map its own, so that an attacker who chooses keys does not know
// which of them collide.
type hasher struct{ add, mul uint64 }

// hashSeed is that of the package maphash.
var hashSeed = maphash.MakeSeed()

func (h *hasher) init() { h.add, h.mul = rand.Uint64(), rand.Uint64()|1 }

// comparableHash hashes a key of any type, as Go says.
func comparableHash[K comparable](h *hasher, key K) uint64 {
	return h.word(maphash.Comparable(hashSeed, key))
}

// word mixes a word. Both halves of one product, as wyhash does it, are not enough: of keys in a
// row it makes an arithmetic progression, and the step of one Map in a hundred is so near to a
// simple fraction that its keys pile up in a few places. The second product breaks the progression
// up.
func (h *hasher) word(x uint64) uint64 {
	hi, lo := bits.Mul64(x^h.add, h.mul)
	return (hi ^ lo) * golden
}

// longKey is from how many bytes on the package maphash, which has the processor's own instructions,
// is faster than bytes.
const longKey = 64

// bytes is wyhash, as the Go runtime has it for processors without instructions for AES. A call of
// maphash takes as long as all of it for short keys.
func (h *hasher) bytes(b []byte) uint64 {
	n := len(b)
	seed := h.add
	var x, y uint64
	switch {
	case n > 16:
		if n >= longKey {
			x = maphash.Bytes(hashSeed, b)
			break
		}
		for rest := b; len(rest) > 16; rest = rest[16:] {
			seed = mix(binary.LittleEndian.Uint64(rest)^h.mul, binary.LittleEndian.Uint64(rest[8:])^seed)
		}
		x, y = binary.LittleEndian.Uint64(b[n-16:]), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 8:
		x, y = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		x, y = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		x = uint64(b[0])<<16 | uint64(b[n>>1])<<8 | uint64(b[n-1])
	}
	return mix(golden^uint64(n), mix(x^h.mul, y^seed))
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hashKind is how a type of keys is hashed.
type hashKind uint8

const (
	hashAny    hashKind = iota // As Go says.
	hashWord                   // An aligned 1, 2, 4 or 8 bytes, whose bits are the key.
	hashString                 // A string.
	hashBytes                  // Bytes that are the key.
)

// keyInfo is what a Map must know of the types of its keys and values.
type keyInfo struct {
	kind    hashKind
	strings []uintptr // Where in a key there are strings.
	// rewritten: keys that are equal may have different bits, of which the last that was set
	// counts.
	rewritten bool
	scanned   bool // Slots hold pointers that must not outlive their entries.
	direct    bool // Keys are words, and zero in all slots that are not full.
}

// keyInfos leads from the type of a Map's slots to their *keyInfo.
var keyInfos typeinfo.Table[keyInfo]

func init() { keyInfos.Init((*keyInfo).fill) }

// keysOf is the keyInfo of a Map with slots of type S, a mapSlot.
func keysOf[S any]() *keyInfo {
	key := typeinfo.Key[S]()
	if k, ok := keyInfos.Recent(key); ok {
		return k
	}
	return keyInfos.Find(key, reflect.TypeFor[S]())
}

// fill makes k the keyInfo of a type of slots.
func (k *keyInfo) fill(_ uintptr, slot reflect.Type) {
	f, _ := slot.FieldByName("key")
	t := f.Type
	bytes := k.walk(t, 0)
	switch {
	case t.Kind() == reflect.String:
		k.kind = hashString
	case bytes == t.Size() && bytes != 0:
		k.kind = hashBytes
		if n := bytes; n <= 8 && n&(n-1) == 0 && uintptr(t.Align()) >= min(n, bits.UintSize/8) {
			k.kind = hashWord
		}
	}
	k.scanned = describeType(slot).flow == typedFlow
	k.direct = k.kind == hashWord && slot.Size() <= maxDirect
}

// walk notes the part at an offset of a key, and counts the bytes that say alone whether two keys
// are equal.
func (k *keyInfo) walk(t reflect.Type, at uintptr) (bytes uintptr) {
	switch t.Kind() {
	case reflect.String:
		k.strings = append(k.strings, at)
		return 0
	case reflect.Interface, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		k.rewritten = true
		return 0
	case reflect.Array:
		if t.Len() == 0 {
			return 0
		}
		first := len(k.strings)
		bytes = k.walk(t.Elem(), at)
		each := k.strings[first:len(k.strings):len(k.strings)]
		for i := 1; i < t.Len() && len(each) > 0; i++ {
			for _, s := range each {
				k.strings = append(k.strings, s+uintptr(i)*t.Elem().Size())
			}
		}
		return bytes * uintptr(t.Len())
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" { // Which Go does not compare.
				bytes += k.walk(f.Type, at+f.Offset)
			}
		}
		return bytes
	}
	return t.Size()
}

// own makes all strings of the key at p copies in a.
func (k *keyInfo) own(op string, a *Arena, p unsafex.Ptr) error {
	for _, at := range k.strings {
		s := unsafex.As[string](unsafex.Add(p, at))
		c, err := ownString(op, a, *s)
		if err != nil {
			return err
		}
		*s = c
	}
	return nil
}

// ownString is [String] with an error, and copies also where the arena is the Go heap, so that the
// kill switch changes nothing for those who use the original's bytes again.
func ownString(op string, a *Arena, s string) (string, error) {
	if len(s) == 0 {
		return "", nil
	}
	var p unsafex.Ptr
	if a != nil && a.direct() { // As in mapMemory.
		p = a.text.take(uintptr(len(s)))
	}
	if p == nil {
		var err error
		if p, err = a.alloc(op, describe[byte](), len(s), false); err != nil {
			return "", err
		}
	}
	if p == nil {
		return strings.Clone(s), nil
	}
	copy(unsafex.SliceOf[byte](p, len(s), len(s)), s)
	return unsafex.StringOf(p, len(s)), nil
}
