// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"runtime"

	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
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
	// The fast paths use what is here, and nothing else. An older copy that is written over the Arena
	// brings old cursors back, by which values of the same type are cut, but no list of chunks: these
	// are in the state.

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
	text  *cursor // Of bytes. Nil if no function of the package made the Arena.

	*state
	id   uint64
	made uintptr // The program counter of the call that made the arena.
}

// A state is what an arena has beside its fast paths: all that lists, counts and frees chunks.
// Methods of a state are for callers that have checked the Arena.
//
//	Arena ──> slot ──> cursor          the fast paths
//	  │ ^                 ∧
//	  v │ self            │ is the beginning of
//	state ──> bump ──> chunk ──> chunk ...
//	  │                   │ owner
//	  └─────> record <────┘            what the registry knows
type state struct {
	self *Arena // Nil once the arena is freed, and while a Pool has the state.
	rec  *record
	from *source
	// shared is the arena that a shared one locks. A shared arena has no chunks of its own.
	shared *sharedArena
	// noReuse: the collector gets the chunks after Free, Reset and Rewind; see noreuse.go.
	noReuse bool
	put     bool // Pool.Put freed it.

	table  []slot // Nil if every call takes the slow path.
	filled int    // How many slots have a key.

	words, bytes *bump
	typed        []*bump             // In the order of their making.
	byDesc       map[*typeDesc]*bump // Of typed, once they are many.
	marks        []mark              // Of checkpoints, the oldest first.

	debug  *debugState // If a debug mode concerns it.
	maps   *goMaps     // Of UnsafeGoMap, if there are some.
	onHeap int64       // With the kill switch: the bytes that it has charged.
}

// A slot leads from the key of a type to the cursor of the chunk that its values are cut from.
type slot struct {
	key    uintptr
	cursor *cursor
}

// A freshArena is an arena and what it begins with: one object of the Go heap.
type freshArena struct {
	Arena
	freshState
}

// A freshState is a state and what it begins with.
type freshState struct {
	in           state
	words, bytes bump
	few          [4]*bump // The first of typed.
	inline       [minSlots]slot
}

// NewArena makes an arena on memory of the Go heap, for values of any type. [NewWith] makes one with
// options.
func NewArena() *Arena {
	a := new(freshArena)
	// Called here and not further down, because each frame to unwind costs as much as some ten values.
	var made [1]uintptr
	runtime.Callers(2, made[:])
	a.start(&a.freshState, goMemory(), made, Options{})
	return &a.Arena
}

// start makes a an arena with a new state. made is the program counter of the caller.
func (a *Arena) start(f *freshState, from *source, made [1]uintptr, o Options) {
	a.made = made[0]
	f.in.noReuse = from.leaves(o)
	f.in.prepare(f, from)
	a.take(&f.in)
	a.register()
	if o.Limit > 0 {
		a.rec.limit.Store(o.Limit)
	}
}

// prepare makes s, which is zero but for noReuse, a state without chunks.
func (s *state) prepare(f *freshState, from *source) {
	s.from = from
	s.words, s.bytes = &f.words, &f.bytes
	s.words.init(s, wordFlow, nil)
	s.bytes.init(s, byteFlow, nil)
	s.typed = f.few[:0]
	if s.debug = newDebugState(from); !from.single && !s.debug.apart() {
		s.table = f.inline[:]
	}
}

// take makes s, which no arena has, the state of a.
func (a *Arena) take(s *state) {
	a.state, s.self = s, a
	a.recent.cursor, a.text = &noChunk.cursor, &s.bytes.chunk.cursor
	if s.table != nil {
		a.slots, a.mask = &s.table[0], uintptr(len(s.table)-1)
	}
}

// close makes every call take the slow way.
func (a *Arena) close() {
	a.slots, a.mask, a.text = nil, 0, &noChunk.cursor
	a.recent.typ, a.recent.cursor = nil, &noChunk.cursor
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

// cursorOf is the cursor of the chunk that the values of the type of that key are cut from, or that of
// noChunk if the key is not in the place of its hash.
func (a *Arena) cursorOf(key uintptr) *cursor {
	if a.mask != 0 {
		if s := unsafex.Elem(a.slots, typeinfo.Hash(key)&a.mask); s.key == key {
			return s.cursor
		}
	}
	return &noChunk.cursor
}

//go:noinline
func newSlow[T any](a *Arena) *T {
	if size := unsafex.Size[T](); a != nil && size != 0 {
		if p := a.cutProbed(typeinfo.Key[T](), size, unsafex.Align[T]()); p != nil {
			return unsafex.As[T](p)
		}
	}
	p, err := newValue[T]("New", a)
	must(err)
	return p
}

// TryNew is New with an error instead of a panic for what the world may refuse.
func TryNew[T any](a *Arena) (*T, error) {
	if a != nil && unsafex.Size[T]() != 0 {
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
	if d := describeType(t); a != nil && d.size != 0 {
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
		if p := a.probe(typeinfo.Key[T]()).take(uintptr(capacity) * size); p != nil {
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
	if err != nil || a == nil {
		return nil, err
	}
	s := a.check(op)
	if s.shared != nil {
		in, lock := a.lock(op)
		defer lock.unlock()
		return in.alloc(op, d, n, zero)
	}
	if s.debug != nil {
		defer s.begin(op).done()
	}
	s.from.admit(op, d)
	switch {
	case size == 0:
		return nil, nil
	case s.from.single:
		return nil, s.chargeHeap(int64(size))
	case s.debug != nil:
		return s.allocDebug(op, d, n, size, zero)
	}
	return s.cut(d, size, zero)
}

// cut is memory of size bytes for values of a type from a chunk, which the fast path then finds, unless
// all calls of the arena take the slow path.
func (s *state) cut(d *typeDesc, size uintptr, zero bool) (unsafex.Ptr, error) {
	b, align := s.bumpFor(d), d.align
	if b.flow == wordFlow { // In a fixed arena bytes lie among words.
		size, align = (size+7)&^7, 8
	}
	p, err := b.cut(size, align, zero)
	if err == nil && b.flow == d.flow {
		s.cache(d, &b.chunk.cursor)
	}
	return p, err
}

// bumpFor is the bump that values of a type are cut from.
func (s *state) bumpFor(d *typeDesc) *bump {
	switch {
	case d.flow == wordFlow || s.from.fixed:
		return s.words
	case d.flow == byteFlow:
		return s.bytes
	case s.byDesc != nil:
		if b := s.byDesc[d]; b != nil {
			return b
		}
	default:
		for _, b := range s.typed {
			if b.desc == d {
				return b
			}
		}
	}
	return s.addBump(d)
}

// manyTypes is when a list of bumps is no longer searched from end to end.
const manyTypes = 24

func (s *state) addBump(d *typeDesc) *bump {
	b := new(bump)
	b.init(s, typedFlow, d)
	s.typed = append(s.typed, b)
	if s.byDesc == nil && len(s.typed) >= manyTypes {
		s.byDesc = make(map[*typeDesc]*bump, 2*len(s.typed))
		for _, b := range s.typed {
			s.byDesc[b.desc] = b
		}
	}
	if s.byDesc != nil {
		s.byDesc[d] = b
	}
	return b
}
