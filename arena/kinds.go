// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"reflect"
	"runtime"

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
		a.startShared(kindShared, made, o)
	} else {
		a.start(kindGo, made, o)
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
	a := &freshArena{Arena: Arena{off: o.Purpose}}
	if a.off == nil {
		a.off = offheap.NewPurpose("arena")
	}
	_ = a.off.Name() // It panics if the Purpose is a copy or a zero value.
	var made [1]uintptr
	runtime.Callers(2, made[:])
	if o.Shared {
		a.startShared(kindOffHeap, made, o)
	} else {
		a.start(kindOffHeap, made, o)
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
	f := &freshArena{Arena: Arena{off: offheap.NewPurpose("arena")}}
	a := &f.Arena
	_ = a.off.Name() // As in NewOffHeap.
	var made [1]uintptr
	runtime.Callers(3, made[:])
	f.start(kindFixed, made, Options{})
	if a.debug.apart() {
		a.rec.limit.Store(int64(n))
		return a, nil
	}
	allocated := false
	defer func() {
		if !allocated { // makeBlock panics if the Purpose finds a write to a freed block.
			unregister(a.rec)
		}
	}()
	block, err := makeBlock(a.off, nil, n)
	if err != nil {
		return nil, fmt.Errorf("arena: NewFixed: %w", err)
	}
	allocated = true
	unsafex.ClearAt(block, uintptr(n)) // The system lends the pages now.
	c := newChunk(nil, 0, block, uintptr(n))
	c.off = true
	a.noteChunk(c)
	c.owner.Store(a.rec)
	index.add(c)
	a.words.spare = c
	a.rec.held.Store(int64(n))
	a.rec.noteLeak()
	return a, nil
}

// allocFixed is alloc in a fixed arena, where data of all kinds shares the one chunk, in whole
// words.
func (a *Arena) allocFixed(op string, d *typeDesc, n int, size uintptr, zero bool) (unsafex.Ptr, error) {
	d.checkFixed(op)
	if size == 0 {
		return nil, nil
	}
	if a.debug != nil {
		return a.allocDebug(op, d, n, size, zero)
	}
	p, err := a.words.cut((size+7)&^7, 8, zero)
	if err == nil && d.flow == wordFlow {
		a.cache(d.key, a.words.cursor)
	}
	return p, err
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

// full is the error of a fixed arena for what does not fit.
func (a *Arena) full() error {
	return fmt.Errorf("arena: arena %d, which has a fixed size of %d bytes (NewFixed) and was made by %s, is full: Reset it, or make it larger: %w",
		a.id, a.rec.held.Load(), a.place(), offheap.ErrLimit)
}

func init() {
	owner.Register(func(addr uintptr) string {
		if id, known := ownerOf(addr); known && id != 0 {
			return fmt.Sprintf("arena %d", id)
		}
		return ""
	})
}

// acquireOffHeap is tryAcquire for memory outside the Go heap.
func (a *Arena) acquireOffHeap(b *bump, class uint8) (*chunk, error) {
	bytes := classBytes(class)
	c := newChunk(b.desc, class, nil, bytes)
	c.off = true
	n := bytes
	if b.desc == nil {
		c.dirty = bytes
	} else {
		n = bytes / b.desc.size
		c.size = n * b.desc.size
	}
	defer func() {
		if c.base == nil { // An error, or the panic of a Purpose that finds a write to a freed block.
			a.rec.held.Add(-int64(bytes))
		}
	}()
	var err error
	c.base, err = makeBlock(a.off, c.typ(), int(n))
	if err != nil {
		return nil, fmt.Errorf("arena: %w", err)
	}
	a.noteChunk(c)
	a.rec.noteLeak()
	c.owner.Store(a.rec)
	index.add(c)
	return c, nil
}

// giveUpOffHeap gives empty chunks, linked by next, back to offheap. If offheap refuses one, because
// unsafe code has damaged it, the chunk is lost and the others are given back; see tellLate.
func (a *Arena) giveUpOffHeap(list *chunk) {
	for c := list; c != nil; c = c.next {
		c.disown()
		index.remove(c)
		if debugmode.On() { // So that it counts as the arena's no longer.
			debugmode.Freeing(unsafex.PtrAddr(c.base), "Free")
		}
		a.freeChunk(c)
		if a.kind != kindFixed {
			a.rec.held.Add(-c.bytes())
		}
		runtime.KeepAlive(c)
	}
	a.rec.noteLeak()
}

// freeChunk frees the block of c. tellLate panics with the first refusal.
func (a *Arena) freeChunk(c *chunk) {
	freed := false
	defer func() {
		if !freed {
			v := recover()
			a.rec.refused.CompareAndSwap(nil, &v)
		}
	}()
	owner.Free(unsafex.PtrAddr(c.base), c.typ())
	freed = true
}

// typ is the type that a typed chunk is for, and nil for others.
func (c *chunk) typ() reflect.Type {
	if c.desc == nil {
		return nil
	}
	return c.desc.typ
}
