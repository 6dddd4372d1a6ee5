// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// A Pool keeps objects that are not in use, so that they need not be made anew. The zero Pool is
// ready. Set the fields before the first use, and do not change them later.
//
// Any number of goroutines may use a Pool at once. A Put is ordered before the Get that returns the
// object. A Pool must not be copied; its slow paths panic with an [*offheap.MisuseError] if they see
// a copy.
//
// A second Put of an object, a use after Put, and a Put of an object that Get did not return are
// mistakes. Without a debug mode a second Put hands one object to two callers, and an object from
// elsewhere is kept like any other. With OffHeap the program can end later: the panic of
// [offheap.Delete] comes when the Pool drops the object, also on a goroutine of the collector.
// docs/pools.md says which mode finds which mistake.
type Pool[T any] struct {
	// New makes an object when there is no idle one; nil is new(T). If New panics, the panic passes
	// through Get. If New returns nil, Get panics.
	New func() *T
	// Reset is called by Put, so that an idle object keeps nothing alive; nil does nothing. If Reset
	// panics, the panic passes through Put, and the object is not kept; with OffHeap it is leaked.
	Reset func(*T)
	// Size is the bytes that an object takes, with all that belongs to it. Put calls it before Reset.
	// Get, Put, Drain and each collection call it for idle objects, which Reset has cleared. Size must
	// be fast, must not use the Pool, and must not panic: on the goroutine of a collection a panic ends
	// the program.
	Size func(*T) int
	// MaxSize is the largest Size of an object that Put keeps, 0 or less for no bound.
	MaxSize int
	// Max bounds the number of idle objects; 0 is 1,024 for each P (GOMAXPROCS at the first use), a
	// negative Max keeps none. While GOMAXPROCS changes, the number can be above Max by 64 for each
	// P.
	Max int
	// OffHeap is the account of the objects, which then lie off the Go heap. T must hold no Go
	// pointers, and New must be nil: a new object is zero. Call Drain before you drop such a Pool;
	// otherwise its idle objects are leaked. In the debug modes and under the race detector each Get
	// makes an object and each Put frees it.
	OffHeap *offheap.Purpose

	_ noCopy
	view
	state atomic.Pointer[state[T]]
}

// A state is what the slow paths of a Pool use.
type state[T any] struct {
	store
	tracked *tracker[T] // In the debug modes and under the race detector.
	direct  bool        // The objects of OffHeap are not kept.
}

// Get returns an idle object, or a new one. An idle object is as Put and Reset left it. If memory is
// refused, which can happen with OffHeap alone, Get panics as [offheap.New] does.
func (p *Pool[T]) Get() *T {
	pin := percpu.Acquire()
	if c := p.view.cache(pin); c != nil {
		if n := c.n - 1; n < cacheSize {
			x := c.items[n]
			c.items[n] = nil // The cache must not keep an object alive that the caller drops.
			c.n = n
			c.gets++
			pin.Release()
			return unsafex.As[T](x)
		}
	}
	pin.Release()
	return p.getSlow()
}

// Put gives x to the Pool. The caller must not use x afterwards. Put(nil) does nothing.
func (p *Pool[T]) Put(x *T) {
	if x == nil || (p.Reset != nil || p.Size != nil) && !p.prepare(x) {
		return
	}
	pin := percpu.Acquire()
	if c := p.view.cache(pin); c != nil {
		if n := c.n; n < c.room.Load() {
			c.items[n%cacheSize] = unsafex.PtrOf(x)
			c.n = n + 1
			pin.Release()
			return
		}
	}
	pin.Release()
	p.putSlow(x)
}

//go:noinline
func (p *Pool[T]) getSlow() *T {
	s := p.open("Get")
	if s.direct {
		s.gets.Add(1)
		s.misses.Add(1)
		return p.create()
	}
	if s.tracked != nil {
		s.gets.Add(1)
		x := s.tracked.get()
		if x == nil {
			x = p.create()
			s.misses.Add(1)
		}
		s.tracked.got(x)
		return x
	}
	s.grow(&p.view, currentID())
	if x := s.take(&p.view); x != nil {
		return unsafex.As[T](x)
	}
	s.misses.Add(1)
	return p.create()
}

// currentID is the ID of a P that ran the caller a moment ago.
func currentID() int {
	pin := percpu.Acquire()
	id := pin.ID()
	pin.Release()
	return id
}

// create makes an object.
func (p *Pool[T]) create() *T {
	if p.OffHeap != nil {
		return offheap.For[T](p.OffHeap).New()
	}
	if p.New == nil {
		return new(T)
	}
	x := p.New()
	if x == nil {
		panic(fmt.Errorf("pool: Get: New of a Pool of %s returned nil", reflect.TypeFor[T]()))
	}
	return x
}

// prepare is the part of Put before x is idle. It returns false if x is not kept in a cache.
//
//go:noinline
func (p *Pool[T]) prepare(x *T) bool {
	s := p.open("Put")
	if s.tracked != nil {
		p.putSlow(x)
		return false
	}
	return p.clean(s, x)
}

// clean calls Size and Reset. It returns false if x is too large; then x is dropped.
func (p *Pool[T]) clean(s *state[T], x *T) bool {
	if p.Size != nil && p.MaxSize > 0 && p.Size(x) > p.MaxSize {
		s.free([]unsafex.Ptr{unsafex.PtrOf(x)})
		s.drops.large.Add(1)
		return false
	}
	if p.Reset != nil {
		p.Reset(x)
	}
	return true
}

//go:noinline
func (p *Pool[T]) putSlow(x *T) {
	s := p.open("Put")
	switch {
	case s.direct:
		s.discard(unsafex.PtrOf(x))
	case s.tracked != nil:
		s.tracked.returned(x) // Before Reset: x may be in use by another caller.
		if !p.clean(s, x) {
			s.tracked.forget(x)
		} else if n := s.tracked.put(x); n > 0 {
			s.drops.full.Add(uint64(n))
		}
	default:
		s.grow(&p.view, currentID())
		s.keep(&p.view, unsafex.PtrOf(x))
	}
}

// open is the state of p. It panics if op must not use p.
func (p *Pool[T]) open(op string) *state[T] {
	s := p.state.Load()
	if s == nil {
		s = p.start()
	}
	if s.owner != unsafex.PtrOf(p) {
		panic(copied("Pool."+op, "Pool"))
	}
	return s
}

// configure makes s the empty store of p.
func (p *Pool[T]) configure(s *store) {
	s.owner, s.max = unsafex.PtrOf(p), p.Max
	if p.Size != nil {
		s.size = func(x unsafex.Ptr) int { return p.Size(unsafex.As[T](x)) }
	}
	if p.OffHeap != nil {
		s.discard = func(x unsafex.Ptr) { offheap.Delete(unsafex.As[T](x)) }
	}
}

// start makes the state at the first use.
func (p *Pool[T]) start() *state[T] {
	freehold.HeapMode() // Freezes the modes.
	s := new(state[T])
	p.configure(&s.store)
	tracked := sanitize.Race || checksObjects()
	if p.OffHeap != nil {
		mustLackPointers[T]("Pool")
		if p.New != nil {
			panic(fmt.Errorf("pool: a Pool of %s has New and OffHeap; objects off the Go heap begin as zero values", reflect.TypeFor[T]()))
		}
		s.direct = sanitize.Race || debugmode.On()
	} else if tracked {
		s.tracked = newTracker[T](p.Max)
	}
	if !p.state.CompareAndSwap(nil, s) {
		return p.state.Load()
	}
	switch {
	case s.tracked == nil && !s.direct:
		s.store.watch()
	case s.tracked != nil && s.tracked.copy: // Without copies there is nothing to check.
		debugmode.OnCheck(s.tracked.check)
	}
	return s
}

// Drain drops all idle objects. Those that other goroutines Put meanwhile may stay. It stops the
// world once, for some 20 µs.
func (p *Pool[T]) Drain() {
	s := p.open("Drain")
	if s.tracked != nil {
		s.drops.drained.Add(uint64(s.tracked.drain()))
		return
	}
	s.drain()
}

// Stats are the figures of a Pool, from its first use on. While goroutines use the Pool they are
// approximate, by up to 64 objects for each P.
type Stats struct {
	Gets uint64 // Calls of Get.
	Hits uint64 // Those that returned an idle object.

	// Objects that were dropped: larger than MaxSize, beyond Max, unused for eight collections, and by
	// Drain.
	TooLarge, TooMany, Unused, Drained uint64

	Idle int // Idle objects.
	// IdleBytes is the Size of the idle objects, but of those in the caches of the Ps, of up to 64
	// objects each. It is 0 without Size.
	IdleBytes int64
}

// Stats returns the figures. It takes a lock for a moment.
func (p *Pool[T]) Stats() Stats {
	s := p.open("Stats")
	idle, gets := s.count()
	if s.tracked != nil {
		idle = s.tracked.count()
	}
	gets += s.gets.Load()
	d := &s.drops
	return Stats{
		Gets: gets, Hits: gets - min(gets, s.misses.Load()),
		TooLarge: d.large.Load(), TooMany: d.full.Load(), Unused: d.collected.Load(), Drained: d.drained.Load(),
		Idle: idle, IdleBytes: s.bytes.Load(),
	}
}
