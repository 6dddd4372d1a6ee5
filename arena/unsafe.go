// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math/bits"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// An UnsafeType is a type that is known only at run time, looked up once. Decoders have one for each
// type that they fill, and allocate values with [Arena.UnsafeNew] and its kin. There is one
// UnsafeType for each type; any goroutine may use it.
type UnsafeType struct {
	desc *typeDesc
	size uintptr
	// key leads to the cursor that the fast paths cut from. It is noKey for types whose values need
	// more than a cut.
	key   uintptr
	cut   uintptr // The size, or 1 with noKey.
	small int     // The fast path makes slices of at most so many values.

	arrays atomic.Pointer[arrayTypes]
}

// noKey is the key of no type.
const noKey = 1

var unsafeTypes sync.Map // Of *UnsafeType, by reflect.Type.

// UnsafeTypeOf looks up t. It takes about a microsecond the first time and some 30 ns after that.
func UnsafeTypeOf(t reflect.Type) *UnsafeType {
	if t == nil {
		panic(fmt.Errorf("arena: UnsafeTypeOf of a nil reflect.Type"))
	}
	if u, ok := unsafeTypes.Load(t); ok {
		return u.(*UnsafeType)
	}
	checkGenuine("UnsafeTypeOf", t)
	d := describeType(t)
	u := &UnsafeType{desc: d, size: d.size, key: noKey, cut: 1}
	if d.flow != byteFlow && d.size != 0 {
		u.key, u.cut, u.small = d.key, d.size, int(smallSlice/d.size)
	}
	first, _ := unsafeTypes.LoadOrStore(t, u)
	return first.(*UnsafeType)
}

// Type is the type that was looked up.
func (t *UnsafeType) Type() reflect.Type { return t.desc.typ }

// String is the name of the type.
func (t *UnsafeType) String() string { return t.desc.typ.String() }

// An arrayType is the type of an array of a type's values.
type arrayType struct {
	typ   reflect.Type
	count int
}

// arrayTypes are the array types of one type by the class of their length. Package reflect never
// forgets a type that it made, so there are only so many.
type arrayTypes [arrayClasses]atomic.Pointer[arrayType]

// Lengths of arrays have classes: 1 to 16, and then eight to an octave. An array has at most mostArray
// bytes: the slack of a larger one would be more than what a slice's header takes.
const (
	arrayClasses = 8 * (17 - 3)
	mostArray    = 64 << 10
)

// countClass is the smallest class of n values, and the values that it has.
func countClass(n int) (class, count int) {
	shift := max(bits.Len(uint(n-1))-4, 0)
	top := (n - 1) >> shift
	return 8*shift + top, (top + 1) << shift
}

// array is the array type of the smallest class of at least n values.
func (t *UnsafeType) array(n int) *arrayType {
	all := t.arrays.Load()
	if all == nil {
		t.arrays.CompareAndSwap(nil, new(arrayTypes))
		all = t.arrays.Load()
	}
	class, count := countClass(n)
	a := all[class].Load()
	if a == nil {
		a = &arrayType{reflect.ArrayOf(count, t.desc.typ), count}
		all[class].Store(a)
	}
	return a
}

// onHeap is n zero values of the type in a row on the Go heap. They are one object, unless they are
// many, and then two.
func (t *UnsafeType) onHeap(n int) unsafe.Pointer {
	switch bytes := uintptr(n) * t.size; {
	case uintptr(n) > t.desc.most: // The bytes may overflow.
		return reflect.MakeSlice(t.desc.slice, n, n).UnsafePointer() // It panics, or ends the process.
	case bytes == 0:
		return unsafex.PtrOf(new(struct{}))
	case n == 1:
		return reflect.New(t.desc.typ).UnsafePointer()
	case !t.desc.scan:
		return unsafex.DataOf(make([]uint64, (bytes+7)/8))
	case bytes <= mostArray:
		return reflect.New(t.array(n).typ).UnsafePointer()
	}
	return reflect.MakeSlice(t.desc.slice, n, n).UnsafePointer()
}

// copyValues copies n values of the type. If they hold pointers, the collector sees each store.
func (t *UnsafeType) copyValues(to, from unsafe.Pointer, n int) {
	if n == 0 || t.size == 0 {
		return
	}
	if !t.desc.scan {
		bytes := n * int(t.size)
		copy(unsafex.SliceOf[byte](to, bytes, bytes), unsafex.SliceOf[byte](from, bytes, bytes))
		return
	}
	dst, src := sliceHeader{to, n, n}, sliceHeader{from, n, n} // reflect.SliceAt would put them on the heap.
	reflect.Copy(reflect.NewAt(t.desc.slice, unsafex.PtrOf(&dst)).Elem(), reflect.NewAt(t.desc.slice, unsafex.PtrOf(&src)).Elem())
}

// A sliceHeader is how a slice lies in memory (GC-8).
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

// The door for decoders and their kin: values of types that are known only at run time, as pointers.
// What it returns is as good as what New and MakeSlice return. The names say Unsafe because the
// caller turns the pointer into a value: memory of one type, used as another's, shows the collector a
// bad pointer, or Go code a bool that is neither true nor false.

// UnsafeNew returns the memory of a zero value of t in a, or on the Go heap if a is nil. It is [New]
// for a type that is known only at run time, about as fast. The caller uses the memory as a value of
// t, and stores pointers in it as Go does, never as bytes. The error is one that errors.Is
// [offheap.ErrLimit] or [offheap.ErrOutOfMemory], and a is as before. If a is off the heap and t may
// not lie there, UnsafeNew panics, as New does.
func (a *Arena) UnsafeNew(t *UnsafeType) (unsafe.Pointer, error) {
	if a != nil {
		if p := a.cursorOf(t.key).take(t.cut); p != nil {
			return p, nil
		}
	}
	return a.unsafeNewSlow(t)
}

//go:noinline
func (a *Arena) unsafeNewSlow(t *UnsafeType) (unsafe.Pointer, error) {
	if a != nil && t.size != 0 {
		if p := a.cutProbed(t.desc.key, t.size, t.desc.align); p != nil {
			return p, nil
		}
	}
	return a.unsafeValues("UnsafeNew", t, 1)
}

// UnsafeMakeSlice returns the memory of n zero values of t in a row, as [MakeSlice] does; what
// [Arena.UnsafeNew] says holds for it. If n is 0, the result is not nil. UnsafeMakeSlice panics if n
// is negative.
func (a *Arena) UnsafeMakeSlice(t *UnsafeType, n int) (unsafe.Pointer, error) {
	if a != nil && uint(n-1) < uint(t.small) {
		if p := a.cursorOf(t.key).take(uintptr(n) * t.size); p != nil {
			return p, nil
		}
	}
	return a.unsafeMakeSliceSlow(t, n)
}

//go:noinline
func (a *Arena) unsafeMakeSliceSlow(t *UnsafeType, n int) (unsafe.Pointer, error) {
	if n < 0 {
		panic(fmt.Errorf("arena: UnsafeMakeSlice of %s: negative length %d", t, n))
	}
	if a != nil && uint(n-1) < uint(t.small) {
		if p := a.probe(t.key).take(uintptr(n) * t.size); p != nil {
			return p, nil
		}
	}
	return a.unsafeValues("UnsafeMakeSlice", t, n)
}

// unsafeValues is n zero values of t in a row, in a or on the Go heap.
func (a *Arena) unsafeValues(op string, t *UnsafeType, n int) (unsafe.Pointer, error) {
	p, err := a.alloc(op, t.desc, n, true)
	if p == nil && err == nil {
		p = t.onHeap(n)
	}
	return p, err
}

// Take returns the memory of zero values of the cursor's type that have n bytes together, or nil if
// the cursor has not enough room. n is a multiple of the type's size, above 0 and at most 1 MiB.
func (c *UnsafeCursor) Take(n uintptr) unsafe.Pointer { return c.take(n) }

// UnsafeCursor returns the cursor for values of t in a. It has no room if a has made no value of t
// yet, or if each value needs the ordinary way, as in shared arenas and in the debug modes. If a is
// nil, it has no room either.
func (a *Arena) UnsafeCursor(t *UnsafeType) *UnsafeCursor {
	if a == nil {
		return &noChunk.cursor
	}
	return a.find(t.key)
}

// UnsafeBytes returns n bytes in a, or on the Go heap if a is nil. They are not cleared: they may hold
// data of values that a freed before. The caller overwrites all of them. UnsafeBytes panics if n is
// negative.
func (a *Arena) UnsafeBytes(n int) ([]byte, error) {
	if a != nil && n > 0 && a.text != nil {
		if p := a.text.take(uintptr(n)); p != nil {
			return unsafex.SliceOf[byte](p, n, n), nil
		}
	}
	return a.unsafeBytesSlow(n)
}

//go:noinline
func (a *Arena) unsafeBytesSlow(n int) ([]byte, error) {
	if n < 0 {
		panic(fmt.Errorf("arena: UnsafeBytes: negative number of bytes %d", n))
	}
	p, err := a.alloc("UnsafeBytes", describe[byte](), n, false)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return make([]byte, n), nil
	}
	return unsafex.SliceOf[byte](p, n, n), nil
}

// UnsafeGrow makes room for want values of t, and returns where they are and for how many there is
// room: as many as want or more, so that growing step by step is cheap. p is the first of capacity
// values of t in a row, or nil if capacity is 0. If the last one ends at the position where a
// allocates next, the values stay where they are. Otherwise UnsafeGrow copies the first length values,
// and the old ones stay unchanged. The values behind capacity, or behind length in a copy, are zero.
// If there is an error, the result is p and capacity. UnsafeGrow panics if not 0 <= length <=
// capacity.
func (a *Arena) UnsafeGrow(t *UnsafeType, p unsafe.Pointer, length, capacity, want int) (unsafe.Pointer, int, error) {
	if length < 0 || length > capacity {
		panic(fmt.Errorf("arena: UnsafeGrow of %s: length %d out of range [0, capacity %d]", t, length, capacity))
	}
	if a != nil && want > capacity {
		if g, room := a.growFast(t, p, length, capacity, want); g != nil {
			return g, room, nil
		}
	}
	const op = "UnsafeGrow"
	if a != nil {
		in, lock := a.lock(op)
		defer lock.unlock()
		a = in
	}
	if want <= capacity {
		return p, capacity, nil
	}
	if _, err := t.desc.bytesFor(want); err != nil {
		return p, capacity, err
	}
	room := grown(uintptr(want), uintptr(capacity), t.size)
	if a != nil {
		if b := a.growing(op, t.desc); b != nil {
			if more := b.extend(unsafex.PtrAddr(p), uintptr(capacity)*t.size, uintptr(want)*t.size, room*t.size, t.size, true); more != 0 {
				return p, int(more / t.size), nil
			}
		}
	}
	g, err := a.unsafeValues(op, t, int(room))
	if err != nil && int(room) > want { // It may just fit.
		room = uintptr(want)
		g, err = a.unsafeValues(op, t, want)
	}
	if err != nil {
		return p, capacity, err
	}
	t.copyValues(g, p, length)
	return g, int(room), nil
}

// wordsOf is the cursor for values of t, if slices of t can grow and shrink by it alone: the values
// are whole words, and no debug mode counts them.
func (a *Arena) wordsOf(t *UnsafeType) *cursor {
	if t.size%8 != 0 || a.debug != nil {
		return &noChunk.cursor
	}
	return a.find(t.key)
}

// growFast is UnsafeGrow if the cursor has room for at least want values, more than capacity, or nil.
func (a *Arena) growFast(t *UnsafeType, p unsafe.Pointer, length, capacity, want int) (unsafe.Pointer, int) {
	if uint(want) > uint(t.small)/2 || !a.direct() {
		return nil, 0
	}
	c := a.wordsOf(t)
	room := grown(uintptr(want), uintptr(capacity), t.size)
	if c.ends(p, uintptr(capacity)*t.size) {
		room = min(room, uintptr(capacity)+(c.limit-c.used)/t.size)
		if room < uintptr(want) {
			return nil, 0
		}
		c.used += (room - uintptr(capacity)) * t.size
		return p, int(room)
	}
	g := c.take(room * t.size)
	if g != nil {
		t.copyValues(g, p, length)
	}
	return g, int(room)
}

// ends reports whether the block of size bytes at p, more than none, ends where an open chunk is cut
// next.
func (c *cursor) ends(p unsafe.Pointer, size uintptr) bool {
	addr, base := unsafex.PtrAddr(p), unsafex.PtrAddr(c.base)
	// The second condition keeps out a foreign block that ends where the chunk begins.
	return addr+size == base+c.used && addr >= base && size != 0 && c.limit >= c.used
}

// trimFast is UnsafeTrim by the cursor alone, or false.
func (a *Arena) trimFast(t *UnsafeType, p unsafe.Pointer, length, capacity int) bool {
	c := a.wordsOf(t)
	if !c.ends(p, uintptr(capacity)*t.size) {
		return false
	}
	end := c.used - uintptr(capacity-length)*t.size
	if end < c.floor {
		return false
	}
	if invariants.Enabled {
		checkTrim(c.base, end, c.used, t.String())
	}
	c.used = end
	return true
}

// UnsafeTrim gives the last values of a slice back to a, so that the next value of t lies where they
// were, and returns how many are left: length, or capacity if a cannot take them back. It can if the
// slice ends at the position where a allocates next and no [Arena.Checkpoint] was noted since. p is
// the first of capacity values of t in a row. The caller promises that [length, capacity) is zero, as
// a returned it, and that nothing refers to it any more. UnsafeTrim panics if not 0 <= length <=
// capacity.
func (a *Arena) UnsafeTrim(t *UnsafeType, p unsafe.Pointer, length, capacity int) int {
	if length < 0 || length > capacity {
		panic(fmt.Errorf("arena: UnsafeTrim of %s: length %d out of range [0, capacity %d]", t, length, capacity))
	}
	const op = "UnsafeTrim"
	if a == nil || length == capacity {
		return capacity
	}
	a, lock := a.lock(op)
	defer lock.unlock()
	if a.trimFast(t, p, length, capacity) {
		runtime.KeepAlive(p)
		return length
	}
	b := a.growing(op, t.desc)
	if b == nil || !b.trim(unsafex.PtrAddr(p), uintptr(length)*t.size, uintptr(capacity)*t.size) {
		return capacity
	}
	runtime.KeepAlive(p)
	return length
}

// UnsafeGoMap returns an empty Go map of type t with room for hint entries, which ends with a's
// values: Reset, Rewind and [Pool.Put] clear it, and a hands it out again. So a round takes no new
// memory for its maps. The result is the map: a value of a map type is one pointer. A [Map] works
// without the Go heap; UnsafeGoMap is for code that demands a Go map. A nil a makes a map that is the
// caller's for good.
//
// The map lies on the Go heap, in arenas of every kind, and may hold any values. [Stats] and limits
// count it as large as hint says, or as large as it was in an earlier round. So an arena whose maps
// grew may hold more after Reset than its limit allows; it drops maps before it refuses a value. An
// arena keeps a map only while it is used: Reset drops a map of more than 64 entries if its last use
// had less than an eighth of its entries, and an eighth of the maps that the round did not use. An
// arena without reuse ([Options]), one that is freed, and one in the debug mode guard hand no map
// out again, and leave it as it is.
//
// No code may use the map after that. A stale map is an ordinary Go map, so memory stays intact, but
// a stale read sees entries of the next owner, and a stale write adds to them. If another goroutine
// still uses the map while Reset clears it or its next owner writes to it, Go ends the process with
// "fatal error: concurrent map read and map write", which no recover stops. A [Map] panics instead.
//
// UnsafeGoMap panics if t is no map type or hint is negative. If a limit refuses the map, it returns
// an error that errors.Is [offheap.ErrLimit].
func (a *Arena) UnsafeGoMap(t *UnsafeType, hint int) (unsafe.Pointer, error) {
	if a != nil && hint == 0 && a.direct() && a.maps != nil {
		if g := a.maps.again(t.desc); g != nil {
			return g.v.UnsafePointer(), nil
		}
	}
	if k := t.desc.typ.Kind(); k != reflect.Map {
		panic(fmt.Errorf("arena: UnsafeGoMap of %s: want a map type", t))
	}
	v, err := a.goMap("UnsafeGoMap", t.desc, hint)
	if err != nil {
		return nil, err
	}
	return v.UnsafePointer(), nil
}

// trim makes the block [addr, addr+size) end at addr+left, if it ends at the bump position and no
// checkpoint lies behind the new end. What it gives back is zero.
func (b *bump) trim(addr, left, size uintptr) bool {
	c := b.chunk
	base := unsafex.PtrAddr(c.base)
	if addr+size != base+c.used || addr < base || size == 0 { // As in extend.
		return false
	}
	end := addr - base + left
	if b.flow == wordFlow { // In a fixed arena bytes lie among words.
		end = (end + 7) &^ 7
	}
	if end >= c.used || end < c.floor {
		return false
	}
	b.look()
	if invariants.Enabled && b.flow != byteFlow && !b.in.from.fixed { // Bytes need not be zero, and lie among words there.
		checkTrim(c.base, end, c.used, b.name())
	}
	if b.flow == byteFlow { // Bytes need not be zero: the next values are cleared up to dirty.
		c.dirty = max(c.dirty, c.used)
	}
	if b.in.from.fixed { // Bytes lie among words, which must be zero.
		unsafex.ClearAt(unsafex.Add(c.base, end), c.used-end)
	}
	c.used = end
	b.arm()
	return true
}

// checkTrim is for the bytes [from, to) of a chunk, which a caller of UnsafeTrim vouches for.
func checkTrim(base unsafe.Pointer, from, to uintptr, name string) {
	for i, v := range unsafex.SliceOf[byte](unsafex.Add(base, from), int(to-from), int(to-from)) {
		if v != 0 {
			invariants.Broken("UnsafeTrim gave back values of %s in which byte %d is not zero", name, i)
		}
	}
}

// An UnsafeMap is a *[Map] whose types are known only at run time, as a decoder has it: a reflect.Value
// of any pointer to a Map holds one. Keys and values are passed by their addresses. The caller vouches
// that these are the addresses of a K and a V.
type UnsafeMap interface {
	// UnsafeTypes returns K and V. The pointer may be nil.
	UnsafeTypes() (key, value reflect.Type)
	// UnsafeStart makes a zero Map an empty one in a, as [NewMap] does, with an error for lack of memory. It panics if the Map is not zero.
	// The Map must lie on the Go heap: it tells a stale use as long as nothing else lies where it is.
	UnsafeStart(a *Arena) error
	// UnsafeGet is [Map.Get]: it stores the value of a key if there is one, and says so.
	UnsafeGet(key, value unsafe.Pointer) bool
	// UnsafeSet is [Map.Set] that returns an error if there is no memory.
	UnsafeSet(key, value unsafe.Pointer) error
	// Len is [Map.Len].
	Len() int
}

// UnsafeTypes is for an [UnsafeMap].
func (m *Map[K, V]) UnsafeTypes() (key, value reflect.Type) {
	return reflect.TypeFor[K](), reflect.TypeFor[V]()
}

// UnsafeStart is for an [UnsafeMap].
func (m *Map[K, V]) UnsafeStart(a *Arena) error {
	if m.self != nil {
		panic(fmt.Errorf("arena: Map.UnsafeStart of a %T that was made before", m))
	}
	m.self = m
	return m.start("Map.UnsafeStart", a, 0)
}

// UnsafeGet is for an [UnsafeMap].
func (m *Map[K, V]) UnsafeGet(key, value unsafe.Pointer) bool {
	// SAFETY: the caller vouches for the types of both variables.
	v, ok := m.Get(*unsafex.As[K](key))
	if ok {
		*unsafex.As[V](value) = v
	}
	return ok
}

// UnsafeSet is for an [UnsafeMap].
func (m *Map[K, V]) UnsafeSet(key, value unsafe.Pointer) error {
	// SAFETY: as in UnsafeGet.
	return m.set("Map.UnsafeSet", *unsafex.As[K](key), *unsafex.As[V](value))
}

// lendMap is a map that is kept, or a new one, of so many bytes.
func (s *state) lendMap(d *typeDesc, hint int, bytes int64) (v reflect.Value, err error) {
	if s.maps == nil {
		s.maps = new(goMaps)
	}
	m := s.maps
	of := m.of(d)
	for of.lent < len(of.maps) {
		g := &of.maps[of.lent]
		if more := bytes - of.bytes(g.size); more <= 0 || s.fitsMap(more) {
			g.size = max(g.size, hint)
			return m.lend(of).v, nil
		}
		m.drop(s, of, of.lent, of.lent+1) // A new map may fit in its place, once the arena gives up what is spare.
	}
	if err := s.chargeMap(bytes); err != nil {
		return v, err
	}
	g := goMap{v: reflect.MakeMapWithSize(d.typ, hint), size: hint}
	g.plain, _ = g.v.Interface().(map[string]any)
	of.maps = append(of.maps, g)
	return m.lend(of).v, nil
}

// chargeMap counts n more bytes of maps. If the limit forbids it, all maps that wait go first.
func (s *state) chargeMap(n int64) error {
	if !s.fitsMap(n) && !(s.releaseSpare() && s.fitsMap(n)) {
		return s.rec.beyond(n)
	}
	return nil
}

// fitsMap counts n more bytes of maps, unless the limit forbids them. Maps of an off-heap arena lie on
// the Go heap, and so are no part of its memory.
func (s *state) fitsMap(n int64) bool {
	if !s.from.outside {
		if !s.rec.fits(n) {
			return false
		}
		store.charge(n)
	}
	s.maps.held += n
	return true
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
	s := a.check(op)
	if s.debug != nil {
		defer s.begin(op).done()
	}
	switch {
	case s.shared != nil:
		in, lock := a.lock(op)
		defer lock.unlock()
		return in.goMap(op, d, hint)
	case s.from.single:
		if err := s.chargeHeap(bytes); err != nil {
			return v, err
		}
		return reflect.MakeMapWithSize(d.typ, hint), nil
	}
	return s.lendMap(d, hint, bytes)
}
