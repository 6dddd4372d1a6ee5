// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"context"
	"fmt"
	"reflect"
	"runtime"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// A freshArena is an arena and what it begins with: one object of the Go heap.
type freshArena struct {
	Arena
	freshState
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

// NewWith makes an arena on memory of the Go heap with options. It panics if they have a Purpose or
// a negative Limit.
func NewWith(o Options) *Arena {
	if o.Purpose != nil {
		panic(fmt.Errorf("arena: NewWith with a Purpose: only memory outside the Go heap is on the account of one; use NewOffHeap"))
	}
	o.checkLimit("NewWith")
	a := new(freshArena)
	var made [1]uintptr
	runtime.Callers(2, made[:])
	if o.Shared {
		a.startShared(goMemory(), made, o)
	} else {
		a.start(&a.freshState, goMemory(), made, o)
	}
	return &a.Arena
}

// NewOffHeap makes an arena on memory outside the Go heap, for values without Go pointers, which
// the collector neither scans nor waits for. Links between them are [offheap.Ref]. For a T with Go
// pointers, New and similar functions panic with the path of the field, unless T is
// [offheap.UnsafeSelfContained].
//
// The arena must be freed. If the program drops it, its memory is never released, because values in
// it may still be in use, and [List] reports it as leaked.
func NewOffHeap(o Options) *Arena {
	o.checkLimit("NewOffHeap")
	if o.NoReuse {
		refuseNoReuse("NewOffHeap")
	}
	if o.Purpose == nil {
		o.Purpose = offheap.NewPurpose("arena")
	}
	_ = o.Purpose.Name() // It panics if the Purpose is a copy or a zero value.
	a, from := new(freshArena), &source{name: offHeapName, outside: true, purpose: o.Purpose}
	var made [1]uintptr
	runtime.Callers(2, made[:])
	if o.Shared {
		a.startShared(from, made, o)
	} else {
		a.start(&a.freshState, from, made, o)
	}
	return &a.Arena
}

// NewFixed makes an arena of so many bytes outside the Go heap, like [NewOffHeap]. All of its
// memory is allocated when NewFixed returns: from then on the arena makes no call to the system,
// and a value that does not fit is refused with [offheap.ErrLimit]. Types that hold bools or are
// self-contained are refused, as are types with Go pointers. Reset keeps the memory in any mode.
// NewFixed panics if bytes is negative. If there is no memory, it panics with a value that
// errors.Is [offheap.ErrOutOfMemory].
func NewFixed(bytes int) *Arena {
	a, err := newFixed(bytes)
	must(err)
	return a
}

func newFixed(n int) (*Arena, error) {
	if n < 0 {
		panic(fmt.Errorf("arena: NewFixed: negative number of bytes %d", n))
	}
	if uint(n) > maxBytes {
		return nil, outOfMemory("NewFixed: %d bytes", n)
	}
	n = (max(n, 8) + 7) &^ 7
	from := &source{name: fixedName, outside: true, fixed: true, purpose: offheap.NewPurpose("arena")}
	_ = from.purpose.Name() // As in NewOffHeap.
	a := new(freshArena)
	var made [1]uintptr
	runtime.Callers(3, made[:])
	a.start(&a.freshState, from, made, Options{})
	if a.debug.apart() {
		a.rec.limit.Store(int64(n))
		return &a.Arena, nil
	}
	allocated := false
	defer func() {
		if !allocated { // makeBlock panics if the Purpose finds a write to a freed block.
			unregister(a.rec)
		}
	}()
	block, err := makeBlock(from.purpose, nil, n+goHeader)
	if err != nil {
		return nil, fmt.Errorf("arena: NewFixed: %w", err)
	}
	allocated = true
	unsafex.ClearAt(block, uintptr(n)+goHeader) // The system lends the pages now.
	c := newChunk(wordFlow, nil, 0, nil, uintptr(n))
	a.words.spare = c
	a.rec.held.Store(int64(n))
	a.own(c, block, from.lead(nil))
	return &a.Arena, nil
}

// NewShared makes an arena, on memory of the Go heap, that many goroutines may use at once: a lock
// around an arena. A goroutine that makes many values is faster with an arena of its own. [NewWith]
// makes a shared arena with options, and [NewOffHeap] one outside the Go heap: both with Shared set.
// A New after Free panics, and so does a second Free. Free, Reset and Rewind wait until other
// goroutines have made the values that they are making. A Map or a Builder in the arena is a value:
// no goroutine may use one while another frees it.
func NewShared() *Arena {
	a := new(freshArena)
	var made [1]uintptr
	runtime.Callers(2, made[:])
	a.startShared(goMemory(), made, Options{})
	return &a.Arena
}

// startShared is start for a shared arena.
func (a *freshArena) startShared(from *source, made [1]uintptr, o Options) {
	if from == &fromGo {
		from = &fromShared
	}
	sh := new(sharedArena)
	a.start(&a.freshState, from, made, o)
	a.table, a.debug, a.shared = nil, nil, sh
	a.close()
	sh.freshState.in.noReuse = a.noReuse
	sh.freshState.in.prepare(&sh.freshState, from)
	sh.in.attach(&sh.freshState.in)
	sh.in.rec, sh.in.id, sh.in.made = a.rec, a.id, a.made
}

// goMemory is the source of arenas on memory of the Go heap.
func goMemory() *source {
	if freehold.HeapMode() {
		return &fromSingle
	}
	return &fromGo
}

// start makes a an arena with a new state. made is the program counter of the caller.
func (a *Arena) start(f *freshState, from *source, made [1]uintptr, o Options) {
	a.made = made[0]
	f.in.noReuse = from.leaves(o)
	f.in.prepare(f, from)
	a.attach(&f.in)
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

// attach makes s, which no arena has, the state of a.
func (a *Arena) attach(s *state) {
	a.state, s.self = s, a
	a.recent.cursor, a.text = &noChunk.cursor, &s.bytes.chunk.cursor
	if s.table != nil {
		a.slots, a.mask = &s.table[0], uintptr(len(s.table)-1)
	}
}

type contextKey struct{}

// NewContext returns ctx with a in it.
func NewContext(ctx context.Context, a *Arena) context.Context {
	return context.WithValue(ctx, contextKey{}, a)
}

// FromContext returns the arena in ctx, or the nil arena, which allocates from the Go heap.
func FromContext(ctx context.Context) *Arena {
	a, _ := ctx.Value(contextKey{}).(*Arena)
	return a
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

// The functions here make values that have their contents from the beginning. In a shared arena the
// contents are in place before another goroutine can free the value, which [New] cannot promise.

// NewFrom returns a new T in a with the contents v, as new(v) does on the Go heap since Go 1.26. The
// copy is shallow: memory that v points to stays where it is (see [DeepClone]). NewFrom panics as
// [New] does.
func NewFrom[T any](a *Arena, v T) *T {
	if a == nil || a.mask == 0 {
		p, err := newFrom(a, v)
		must(err)
		return p
	}
	p := New[T](a)
	*p = v
	return p
}

//go:noinline
func newFrom[T any](a *Arena, v T) (p *T, err error) {
	const op = "NewFrom"
	if a != nil {
		in, lock := a.lock(op)
		defer lock.unlock()
		a = in
	}
	if p, err = newValue[T](op, a); err == nil {
		*p = v
	}
	return p, err
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
		if n == 1 && size != 0 {
			if p := in.cutProbed(d.key, d.size, d.align); p != nil {
				return p, nil
			}
		}
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
