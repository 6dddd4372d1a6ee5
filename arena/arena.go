// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// An Arena holds values that are allocated one by one and freed together. A nil *Arena is valid: it
// allocates from the Go heap, and freeing and resetting it does nothing.
//
// An Arena serves one goroutine at a time, except one made by [NewShared].
//
// An Arena must not be copied. A copy panics when it needs memory of a chunk, and at every other
// use.
type Arena struct {
	_ noCopy
	// recent is the type T that took the slow way last, as a nil *T, and its chunk's cursor. New looks
	// there first: to compare types costs less than to find one.
	recent struct {
		typ    any
		cursor *cursor
	}
	// slots is the first of mask+1 slots, in which a type is found by its key: in the place of the
	// key's hash or in one of the places behind. A mask of 0 means that there are none: every call
	// takes the slow path.
	slots *slot
	mask  uintptr

	// text is the cursor of bytes. It lies here because a copy of the arena reads it, and bytes is
	// the next owner's after a Pool's Put.
	text         *cursor
	words, bytes *bump // Data without pointers and bools. Nil if the arena is asleep; see kit.

	rec  *record
	id   uint64  // The record has another one once a Pool has given it to the next arena.
	made uintptr // The program counter of the call that made the arena.
	kind kind    // Of a shared arena it never changes; Free marks the parts.
	put  bool    // Pool.Put freed it.
	seal         // Tells the arena from a copy.
	// noReuse: the collector gets the chunks after Free, Reset and Rewind; see noreuse.go.
	noReuse bool
	filled  uint16   // How many slots have a key.
	cursors []cursor // For the next chunks.

	typed  []*bump             // In the order of their making.
	byDesc map[*typeDesc]*bump // Of typed, once they are many.
	marks  []mark              // Of checkpoints, the oldest first.

	parts []*sharedPart    // If shared.
	off   *offheap.Purpose // If off-heap.
	debug *debugState      // If a debug mode concerns it.

	maps *goMaps // Of UnsafeGoMap, if there are some.
	kit  *kit    // In an arena of a Pool: what it has got, and leaves to the next one. Nil in the first one.

	onHeap int64 // With the kill switch: the bytes that it, or this part of a shared one, has charged.
}

// A slot leads from the key of a type to the cursor of the chunk that its values are cut from.
type slot struct {
	key    uintptr
	cursor *cursor
}

// A freshArena is an arena that has got nothing from another one, and what it begins with: one
// object of the Go heap.
type freshArena struct {
	Arena
	own body
}

// A body is what an arena begins with. The version is not part of the Arena, because a copy that is
// written over the Arena would bring the old one back.
type body struct {
	tie          tie
	version      uint64
	words, bytes bump
	few          [4]*bump // The first of typed.
	inline       [8]slot  // The first slots.
}

// A tie leads from bumps to the arena that has them. Bumps of a kit share one, so that a new owner
// is entered once.
type tie struct {
	arena atomic.Pointer[Arena] // Nil while a Pool has the bumps.
}

// kind says how an arena works. It is kindFreed after Free.
type kind uint8

const (
	kindFreed kind = iota
	kindShared
	kindGo
	kindOffHeap
	kindFixed
	kindHeap // The kill switch, of arenas on Go memory: every value is one of the Go heap.
)

// NewArena makes an arena on memory of the Go heap, for values of any type. [NewWith] makes one with
// options.
func NewArena() *Arena {
	a := new(freshArena)
	// Called here and not further down, because each frame to unwind costs as much as some ten values.
	var made [1]uintptr
	runtime.Callers(2, made[:])
	a.start(kindGo, made, Options{})
	return &a.Arena
}

// start makes a an arena of a kind. made is the program counter of the caller.
func (f *freshArena) start(k kind, made [1]uintptr, o Options) {
	a := &f.Arena
	if !k.offHeap() && freehold.HeapMode() {
		k = kindHeap
	}
	a.kind = k
	a.resolve(o)
	a.prepare(&f.own)
	a.made = made[0]
	register(a)
	if o.Limit > 0 {
		a.rec.limit.Store(o.Limit)
	}
}

// prepare makes a, which is zero but for kind and options, an arena of its kind without chunks.
func (a *Arena) prepare(own *body) {
	a.seal = seal{self: a, last: &own.version}
	own.tie.arena.Store(a)
	a.words, a.bytes = &own.words, &own.bytes
	a.words.init(&own.tie, wordFlow, nil)
	a.bytes.init(&own.tie, byteFlow, nil)
	a.typed = own.few[:0]
	a.slots, a.mask = &own.inline[0], uintptr(len(own.inline)-1)
	a.debug = newDebugState(a.kind)
	if a.kind == kindHeap || a.kind == kindShared || a.debug.apart() {
		a.closeSlots()
	}
}

// closeSlots makes every call take the slow way.
func (a *Arena) closeSlots() {
	a.slots, a.mask = nil, 0
	a.recent.typ, a.recent.cursor = nil, &noCursor
}

// New returns a zero T in a. It may hold pointers to any memory; the collector follows them. If a
// has a limit that forbids the allocation, New panics with a value that errors.Is
// [offheap.ErrLimit].
func New[T any](a *Arena) *T {
	size := unsafex.Size[T]()
	if a != nil && size != 0 {
		c := a.recent.cursor
		if _, ok := a.recent.typ.(*T); !ok {
			c = a.cursorOf(typeinfo.Key[T]())
		}
		if size%8 == 0 {
			u := c.used
			if n := u + size; n <= c.limit {
				c.used = n
				return unsafex.As[T](unsafex.Add(c.base, u))
			}
		} else {
			u := (c.used + unsafex.Align[T]() - 1) &^ (unsafex.Align[T]() - 1)
			if n := u + size; n <= c.limit {
				c.used = n
				p := unsafex.As[T](unsafex.Add(c.base, u))
				if size <= 1<<10 { // A large zero would be made on the Go heap.
					var zero T
					*p = zero
				} else if !c.typed {
					unsafex.ClearAt(unsafex.PtrOf(p), size)
				}
				return p
			}
		}
	}
	return newSlow[T](a)
}

// cursorOf is the cursor of the chunk that the values of the type of that key are cut from, or noCursor
// if the key is not in the place of its hash.
func (a *Arena) cursorOf(key uintptr) *cursor {
	if a.mask != 0 {
		if s := unsafex.Elem(a.slots, typeinfo.Hash(key)&a.mask); s.key == key {
			return s.cursor
		}
	}
	return &noCursor
}

//go:noinline
func newSlow[T any](a *Arena) *T {
	if size := unsafex.Size[T](); a != nil && size != 0 {
		var p unsafex.Ptr
		switch {
		case a.kind != kindShared:
			p = a.cutProbed(typeinfo.Key[T](), size, unsafex.Align[T]())
		case size%8 != 0:
			p = a.cutOddPinned(typeinfo.Key[T](), size, unsafex.Align[T]())
		default:
			p = a.cutPinned(typeinfo.Key[T](), size)
		}
		if p != nil {
			return unsafex.As[T](p)
		}
	}
	p, err := newValue[T]("New", a)
	must(err)
	return p
}

// TryNew is New with an error instead of a panic for what the world may refuse.
func TryNew[T any](a *Arena) (*T, error) {
	if a != nil && unsafex.Size[T]() != 0 && a.kind != kindShared {
		if p := a.cutProbed(typeinfo.Key[T](), unsafex.Size[T](), unsafex.Align[T]()); p != nil {
			return unsafex.As[T](p), nil
		}
	}
	return newValue[T]("TryNew", a)
}

func newValue[T any](op string, a *Arena) (*T, error) {
	if a == nil && unsafex.Size[T]() <= maxBytes {
		return new(T), nil
	}
	p, err := a.alloc(op, describe[T](), 1, true) // It refuses a larger T, also for the Go heap.
	if p == nil {
		if err != nil {
			return nil, err
		}
		return new(T), nil
	}
	return unsafex.As[T](p), nil
}

// NewOf is [New] for a type that is known only at run time: the result is a *T for the T that t
// describes.
func NewOf(a *Arena, t reflect.Type) any {
	if t == nil {
		panic(fmt.Errorf("arena: NewOf of a nil reflect.Type"))
	}
	checkGenuine("NewOf", t)
	var p unsafex.Ptr
	if d := describeType(t); a != nil && d.size != 0 && a.kind != kindShared {
		p = a.cutProbed(d.key, d.size, d.align)
	}
	if p == nil {
		var err error
		p, err = allocType("NewOf", a, t, 1)
		must(err)
	}
	return reflect.NewAt(t, p).Interface()
}

// MakeSlice returns a slice of zero values of T in a, as make([]T, length, capacity) does on the Go
// heap. It panics as New does, and as make does if length or capacity are negative or length
// exceeds capacity.
func MakeSlice[T any](a *Arena, length, capacity int) []T {
	// Whole words, and not so many that their bytes could overflow.
	if size := unsafex.Size[T](); a != nil && size != 0 && size%8 == 0 && uint(length) <= uint(capacity) && uint(capacity-1) < smallSlice/(uint(size)|1) {
		if p := a.cursorOf(typeinfo.Key[T]()).take(uintptr(capacity) * size); p != nil {
			return unsafex.SliceOf[T](p, length, capacity)
		}
	}
	return makeSliceSlow[T](a, length, capacity)
}

// smallSlice bounds the bytes of slices that are made the fast way.
const smallSlice = 1 << 20

//go:noinline
func makeSliceSlow[T any](a *Arena, length, capacity int) []T {
	// The conditions of MakeSlice.
	if size := unsafex.Size[T](); a != nil && size != 0 && size%8 == 0 && uint(length) <= uint(capacity) && uint(capacity-1) < smallSlice/(uint(size)|1) {
		var p unsafex.Ptr
		if a.kind == kindShared {
			p = a.cutPinned(typeinfo.Key[T](), uintptr(capacity)*size)
		} else {
			p = a.probe(typeinfo.Key[T]()).take(uintptr(capacity) * size)
		}
		if p != nil {
			return unsafex.SliceOf[T](p, length, capacity)
		}
	}
	s, err := makeSlice[T]("MakeSlice", a, length, capacity)
	must(err)
	return s
}

// TryMakeSlice is MakeSlice with an error if memory is refused. A capacity whose bytes exceed the
// address space is such a refusal, too.
func TryMakeSlice[T any](a *Arena, length, capacity int) ([]T, error) {
	return makeSlice[T]("TryMakeSlice", a, length, capacity)
}

// makeSlice is the typed way for other parts of the package to allocate: a slice of zero values in
// a, or on the Go heap if a is nil or the kill switch is on.
func makeSlice[T any](op string, a *Arena, length, capacity int) ([]T, error) {
	if length < 0 || length > capacity {
		panic(fmt.Errorf("arena: %s of %s: length %d out of range [0, capacity %d]", op, reflect.TypeFor[T](), length, capacity))
	}
	d := describe[T]()
	p, err := a.alloc(op, d, capacity, true)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return make([]T, length, capacity), nil
	}
	return unsafex.SliceOf[T](p, length, capacity), nil
}

// allocType is the untyped way for other parts of the package to allocate: memory for n zero values
// of t in a row in a, or on the Go heap if a is nil or the kill switch is on. op is the exported
// function that was called.
func allocType(op string, a *Arena, t reflect.Type, n int) (unsafex.Ptr, error) {
	d := describeType(t)
	p, err := a.alloc(op, d, n, true)
	if p == nil && err == nil {
		p = reflect.MakeSlice(d.slice, n, n).UnsafePointer()
	}
	return p, err
}

// alloc is memory for n values, zero if zero says so; otherwise the caller overwrites all of it. It
// is nil without an error if the values must come from the Go heap: a is nil, the kill switch is
// on, or there are no bytes.
func (a *Arena) alloc(op string, d *typeDesc, n int, zero bool) (unsafex.Ptr, error) {
	size, err := d.bytesFor(n)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, nil
	}
	if a.debug != nil {
		defer a.begin(op).done()
	}
	if a.broken() {
		a.misused(op)
	}
	switch a.kind {
	case kindShared:
		return a.allocShared(op, d, n, zero)
	case kindHeap:
		return nil, a.chargeHeap(int64(size))
	case kindOffHeap:
		d.checkOffHeap(op)
	case kindFixed:
		return a.allocFixed(op, d, n, size, zero)
	}
	if size == 0 {
		return nil, nil
	}
	if a.debug != nil {
		return a.allocDebug(op, d, n, size, zero)
	}
	return a.cut(d, size, zero)
}

// allocShared is alloc in one of the parts of a shared arena.
func (a *Arena) allocShared(op string, d *typeDesc, n int, zero bool) (p unsafex.Ptr, err error) {
	err = a.inPart(op, func(part *Arena) error {
		p, err = part.alloc(op, d, n, zero)
		return err
	})
	return p, err
}

// cut is memory of size bytes for values of a type from a chunk, which the fast path then finds, unless
// all calls of the arena take the slow path.
func (a *Arena) cut(d *typeDesc, size uintptr, zero bool) (unsafex.Ptr, error) {
	b := a.bumpFor(d)
	p, err := b.cut(size, d.align, zero)
	if err == nil && b.chunk != &noChunk && a.mask != 0 {
		a.cache(d.key, b.cursor)
	}
	return p, err
}

// bumpFor is the bump that values of a type are cut from.
func (a *Arena) bumpFor(d *typeDesc) *bump {
	if a.asleep() {
		a.wake()
	}
	switch d.flow {
	case wordFlow:
		return a.words
	case byteFlow:
		return a.bytes
	}
	if a.byDesc != nil {
		if b := a.byDesc[d]; b != nil {
			return b
		}
	} else {
		for _, b := range a.typed {
			if b.desc == d {
				return b
			}
		}
	}
	return a.addBump(d)
}

// manyTypes is when a list of bumps is no longer searched from end to end.
const manyTypes = 24

func (a *Arena) addBump(d *typeDesc) *bump {
	b := new(bump)
	b.init(a.words.tie, typedFlow, d)
	a.changed() // An older copy of the arena has a list without b.
	a.typed = append(a.typed, b)
	if a.byDesc != nil {
		a.byDesc[d] = b
	} else {
		a.indexBumps()
	}
	return b
}

// indexBumps makes the index of the bumps once they are many.
func (a *Arena) indexBumps() {
	if len(a.typed) < manyTypes {
		return
	}
	a.byDesc = make(map[*typeDesc]*bump, 2*len(a.typed))
	for _, b := range a.typed {
		a.byDesc[b.desc] = b
	}
}
