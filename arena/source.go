// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"runtime"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// Options configure [NewWith], for arenas on memory of the Go heap, and [NewOffHeap], for those
// outside of it. The zero value is a good choice: then NewWith makes what [NewArena] makes.
type Options struct {
	// Purpose is the account of an off-heap arena's memory; nil means one called "arena". Arenas on
	// Go memory have no account: NewWith takes only nil.
	Purpose *offheap.Purpose
	// Limit is the first limit; see [Arena.SetLimit].
	Limit int64
	// Shared makes an arena that many goroutines may use at once, as [NewShared] describes.
	Shared bool
	// NoReuse makes Free, Reset, Rewind and [Pool.Put] leave memory to the collector, as the mode
	// [NoReuse] of Reset does, for any mode of Reset. The arena takes memory of other arenas only
	// after the collector has proved that no pointer leads into it. NewOffHeap refuses it, because
	// the collector sees no pointer to off-heap memory.
	NoReuse bool
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

func (o Options) checkLimit(op string) {
	if o.Limit < 0 {
		panic(fmt.Errorf("arena: %s: negative limit %d; 0 means none", op, o.Limit))
	}
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

// A source is where the chunks of an arena come from, and where they go. The kinds of arenas differ in
// nothing else.
type source struct {
	name    string
	outside bool // Chunks lie outside the Go heap: they take no Go pointers, and must be freed.
	fixed   bool // There is one chunk, of words, which serves all data.
	single  bool // The kill switch: there are no chunks, and each value is an object of the Go heap.
	purpose *offheap.Purpose
}

// The names of sources, in [Info]. A shared arena on Go memory has a name of its own.
const (
	goName      = "Go memory"
	sharedName  = "shared"
	offHeapName = "off-heap"
	fixedName   = "fixed"
	singleName  = "Go heap"
)

var (
	fromGo     = source{name: goName}
	fromShared = source{name: sharedName}
	fromSingle = source{name: singleName, single: true}
)

// goMemory is the source of arenas on memory of the Go heap.
func goMemory() *source {
	if freehold.HeapMode() {
		return &fromSingle
	}
	return &fromGo
}

// onGo says whether chunks lie on the Go heap.
func (f *source) onGo() bool { return !f.outside && !f.single }

// leaves says whether an arena with the options leaves its chunks to the collector.
func (f *source) leaves(o Options) bool {
	if f.outside && freehold.NoReuseMode() {
		sayOffHeapReuses()
	}
	return f.onGo() && (o.NoReuse || freehold.NoReuseMode())
}

// takes says whether values of the type may lie there. The memory of a fixed arena serves any type,
// and is other data's afterwards.
func (f *source) takes(d *typeDesc) bool {
	return !f.outside || d.path == "" && !(f.fixed && d.flow == typedFlow)
}

// admit panics if values of the type must not lie there.
func (f *source) admit(op string, d *typeDesc) {
	switch {
	case f.takes(d):
	case d.path != "":
		panic(fmt.Errorf("arena: %s of %s in an off-heap arena: the type holds a Go pointer, which the collector would not see: %s; use NewArena for it, or replace pointers by offheap.Ref", op, d.typ, d.path))
	default:
		panic(fmt.Errorf("arena: %s of %s in a fixed arena: the type holds a bool or is self-contained, so that its memory must stay its own; use a number for the bool, or NewOffHeap", op, d.typ))
	}
}

// lead is how many bytes of a chunk's memory are no part of it. On the Go heap the runtime takes them.
// Outside, they lie in front of the first value: so it is not the beginning of a block of offheap,
// whose functions then refuse to free, resize and move it.
func (f *source) lead(d *typeDesc) uintptr {
	if f.outside && d != nil {
		return d.size
	}
	return goHeader
}

// acquire is an empty chunk of just this class for b, or nil without an error if the limit forbids it.
func (f *source) acquire(b *bump, class uint8) (*chunk, error) {
	s := b.in
	if !s.rec.fits(int64(classBytes(class))) {
		return nil, nil
	}
	if f.outside {
		return s.acquireOffHeap(b, class)
	}
	store.charge(int64(classBytes(class)))
	k := shelf{b.desc, b.flow, class}
	var c *chunk
	if !s.debug.apart() {
		if !s.noReuse {
			c = store.get(k)
		}
		if c == nil {
			c = proven.get(k)
		}
	}
	if c == nil {
		c = makeChunk(b.flow, b.desc, class)
	}
	c.owner.Store(s.rec)
	return c, nil
}

// release takes empty chunks, linked by next, which no slot leads to.
func (f *source) release(s *state, list *chunk) {
	if f.outside {
		s.releaseOffHeap(list)
		return
	}
	var n int64
	for c := list; c != nil; c = c.next {
		n += c.bytes()
		c.owner.Store(nil)
	}
	s.rec.held.Add(-n)
	store.charge(-n)
	if s.debug.apart() {
		quarantine.put(list, s.debug.quarantined())
		return
	}
	store.put(list)
}

// makeBlock makes a block of offheap for n values of t, which no other type gets if t holds bools or
// is self-contained, or for n bytes if t is nil. Only owner.Free frees it.
func makeBlock(p *offheap.Purpose, t reflect.Type, n int) (unsafex.Ptr, error) {
	addr, err := owner.Make(p, t, n)
	if err != nil {
		return nil, err
	}
	return unsafex.Pointer(addr), nil
}

func init() {
	owner.Register(func(addr uintptr) string {
		if id, known := ownerOf(addr); known && id != 0 {
			return fmt.Sprintf("arena %d", id)
		}
		return ""
	})
}

// acquireOffHeap is [source.acquire] outside the Go heap. The caller has counted the bytes.
func (s *state) acquireOffHeap(b *bump, class uint8) (*chunk, error) {
	bytes := classBytes(class)
	c := newChunk(b.flow, b.desc, class, nil, bytes)
	lead, n := s.from.lead(b.desc), bytes
	if b.desc == nil {
		c.dirty, c.size = bytes-lead, bytes-lead
	} else {
		n = bytes / b.desc.size
		c.size = (n - 1) * b.desc.size
	}
	defer func() {
		if c.base == nil { // An error, or the panic of a Purpose that finds a write to a freed block.
			s.rec.held.Add(-int64(bytes))
		}
	}()
	block, err := makeBlock(s.from.purpose, c.typ(), int(n))
	if err != nil {
		return nil, fmt.Errorf("arena: %w", err)
	}
	s.own(c, block, lead)
	return c, nil
}

// own makes a new chunk, which is a block of offheap but for its first bytes, the arena's.
func (s *state) own(c *chunk, block unsafex.Ptr, lead uintptr) {
	c.base, c.lead, c.off = unsafex.Add(block, lead), lead, true
	s.noteChunk(c)
	c.owner.Store(s.rec)
	index.add(c)
	s.rec.noteLeak()
}

// releaseOffHeap gives empty chunks, linked by next, back to offheap. If offheap refuses one, because
// unsafe code has damaged it, the chunk is lost and the others are given back; see tellLate.
func (s *state) releaseOffHeap(list *chunk) {
	for c := list; c != nil; c = c.next {
		c.owner.Store(nil)
		index.remove(c)
		if debugmode.On() { // So that it counts as the arena's no longer.
			debugmode.Freeing(c.block(), "Free")
		}
		s.freeChunk(c)
		if !s.from.fixed {
			s.rec.held.Add(-c.bytes())
		}
		runtime.KeepAlive(c)
	}
	s.rec.noteLeak()
}

// freeChunk frees the block of c. tellLate panics with the first refusal.
func (s *state) freeChunk(c *chunk) {
	freed := false
	defer func() {
		if !freed {
			v := recover()
			s.rec.refused.CompareAndSwap(nil, &v)
		}
	}()
	owner.Free(c.block(), c.typ())
	freed = true
}

// block is the address of the block of offheap that the chunk lies in.
func (c *chunk) block() uintptr { return unsafex.PtrAddr(c.base) - c.lead }

// typ is the type that a typed chunk is for, and nil for others.
func (c *chunk) typ() reflect.Type {
	if c.desc == nil {
		return nil
	}
	return c.desc.typ
}

// full is the error of a fixed arena for what does not fit.
func (s *state) full() error {
	return fmt.Errorf("arena: arena %d, which has a fixed size of %d bytes (NewFixed) and was made by %s, is full: Reset it, or make it larger: %w",
		s.self.id, s.rec.held.Load(), s.self.place(), offheap.ErrLimit)
}
