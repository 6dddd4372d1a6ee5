// SPDX-License-Identifier: Apache-2.0

package grpcmem

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/mem"

	"github.com/freehold-go/freehold/offheap"
)

// Options configure [NewPool]. The zero value is a good choice.
type Options struct {
	// Purpose is the account of the buffers; nil means one called "grpc". Its limit bounds the
	// pool's memory.
	Purpose *offheap.Purpose
	// Uninit omits clearing a buffer before Get returns it. gRPC overwrites the bytes that it
	// reads. A foreign codec or compressor that reads bytes before it writes them would see those
	// of an earlier message.
	Uninit bool
}

// A Pool is a [mem.BufferPool] on memory outside the Go heap. [NewPool] makes one. A Pool must not
// be copied: every call of a copy panics with an [*offheap.MisuseError], and so does every call of a
// zero Pool.
type Pool struct {
	_      noCopy
	*state // Its pool is the Pool itself. A copy is another, and a zero Pool has no state.
}

// noCopy makes go vet report copies of a struct that has a field of this type.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// A state is all that a Pool has. It is not in the Pool, so that nothing that is written over a Pool
// loses a lease.
type state struct {
	pool    Pool
	purpose *offheap.Purpose
	uninit  bool
	// leases are the buffers between Get and Put: a *lease by the address of the buffer's first
	// byte.
	leases sync.Map

	dropped, refused atomic.Int64
}

var _ mem.BufferPool = (*Pool)(nil)

// A lease is one buffer between Get and Put. It has no pointer to the slice header that the caller
// holds, so the collector can find that header unreachable.
type lease struct {
	block   []byte
	offHeap bool
	pool    *state
	cleanup runtime.Cleanup
}

// NewPool makes a pool. The pool holds no buffers of its own and needs no Close.
func NewPool(o Options) *Pool {
	s := &state{purpose: o.Purpose, uninit: o.Uninit}
	if s.purpose == nil {
		s.purpose = offheap.NewPurpose("grpc")
	}
	s.pool.state = s
	return &s.pool
}

// open is the state of p. It panics if op must not use p.
func (p *Pool) open(op string) *state {
	switch s := p.state; {
	case s == nil:
		panic(&offheap.MisuseError{Op: "grpcmem.Pool." + op, Kind: "use of a Pool that NewPool did not make", Detail: "call NewPool and use the pointer that it returns"})
	case &s.pool != p:
		panic(&offheap.MisuseError{Op: "grpcmem.Pool." + op, Kind: "use of a copied Pool", Detail: "use the pointer that NewPool returned everywhere"})
	default:
		return s
	}
}

// Get returns a buffer of n bytes, whose capacity is n, too. The bytes are zero unless
// Options.Uninit is set. The buffer belongs to the caller until Put. If the caller drops the
// pointer, the pool frees the buffer when the collector finds that no pointer is left. Get panics
// if n is negative.
func (p *Pool) Get(n int) *[]byte {
	s := p.open("Get")
	if n < 0 {
		panic(fmt.Errorf("grpcmem: Get: negative length %d", n))
	}
	if mem.IsBelowBufferPoolingThreshold(n) {
		b := make([]byte, n)
		return &b
	}
	l := &lease{pool: s}
	l.block, l.offHeap = s.alloc(n)
	b := new([]byte)
	*b = l.block
	l.cleanup = runtime.AddCleanup(b, (*lease).drop, l)
	s.leases.Store(&l.block[0], l)
	return b
}

// alloc is a block, off the heap if there is room.
func (s *state) alloc(n int) (block []byte, offHeap bool) {
	alloc := s.purpose.TryAlloc
	if s.uninit {
		alloc = s.purpose.TryAllocUninit
	}
	b, err := alloc(n)
	if err == nil {
		return b, true
	}
	if !errors.Is(err, offheap.ErrLimit) && !errors.Is(err, offheap.ErrOutOfMemory) {
		panic(err)
	}
	s.refused.Add(1)
	return make([]byte, n), false
}

// spent is the slice that a pointer leads to after Put. It has no bytes to read, and Put recognises
// it, so a second Put is found even if the block has a new owner.
var spent = make([]byte, 1)

// Put frees a buffer that Get returned. b points to the buffer or to a prefix of it, and afterwards
// to an empty slice. A second Put of a pointer, and a Put of a buffer that Get did not return,
// panic with an [*offheap.MisuseError] and change nothing. Put leaves buffers that are too small
// for the pool to the collector.
func (p *Pool) Put(b *[]byte) {
	s := p.open("Put")
	if cap(*b) == 0 {
		return
	}
	first := &(*b)[:1][0]
	if first == &spent[0] {
		panic(misuse(first, "double free", "it was put back before; keep one owner for each buffer"))
	}
	v, ok := s.leases.LoadAndDelete(first)
	if !ok {
		if mem.IsBelowBufferPoolingThreshold(cap(*b)) {
			return
		}
		panic(misuse(first, "foreign pointer", "Get of this pool did not return it, or it was put back before through another pointer"))
	}
	// Written after the lease is gone, so that the collector cannot take b for forgotten before.
	*b = spent[:0]
	l := v.(*lease)
	l.cleanup.Stop()
	l.free()
}

// drop frees a buffer whose pointer the collector found unreachable.
func (l *lease) drop() {
	// The block can be out again by now, under a lease of its own.
	if l.pool.leases.CompareAndDelete(&l.block[0], l) {
		l.free()
		l.pool.dropped.Add(1)
	}
}

func (l *lease) free() {
	if l.offHeap {
		offheap.Free(l.block)
	}
}

func misuse(at *byte, kind, detail string) *offheap.MisuseError {
	return &offheap.MisuseError{Op: "grpcmem.Pool.Put", Addr: reflect.ValueOf(at).Pointer(), Kind: kind, Detail: detail}
}

// Stats are counts since the pool was made. The memory of its buffers is in the account of its
// purpose.
type Stats struct {
	// Dropped counts the buffers that the collector returned, because they were dropped without
	// Put.
	Dropped int64
	// Refused counts the buffers that came from the Go heap, because a limit or the machine refused
	// off-heap memory.
	Refused int64
}

// Stats reads the counts.
func (p *Pool) Stats() Stats {
	s := p.open("Stats")
	return Stats{Dropped: s.dropped.Load(), Refused: s.refused.Load()}
}
