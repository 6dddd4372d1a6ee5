// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"runtime"
	"unsafe"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

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
	return a.probe(t.key)
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
	return a.probe(t.key)
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
