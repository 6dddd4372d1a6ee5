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

// Options are those of [NewPool]. The zero value is good.
type Options struct {
	// Purpose is the account that the buffers are on; nil is one that is called "grpc". Its limit bounds what the pool takes.
	Purpose *offheap.Purpose
	// Uninit leaves out clearing a buffer before it is handed out. gRPC overwrites what it then reads; a codec or compressor of
	// somebody else's that does not would see what an earlier message left there.
	Uninit bool
}

// A Pool is a [mem.BufferPool] on memory outside the Go heap. [NewPool] makes one.
type Pool struct {
	purpose *offheap.Purpose
	uninit  bool
	// leases are the buffers that are out, a *lease by the *byte that is their first.
	leases sync.Map

	dropped, refused atomic.Int64
}

var _ mem.BufferPool = (*Pool)(nil)

// A lease is one buffer that is out. Nothing in it leads to the header that the caller has, so that the collector can tell when
// nobody has it any more.
type lease struct {
	block   []byte
	offHeap bool
	pool    *Pool
	cleanup runtime.Cleanup
}

// NewPool makes a pool. It has no buffers of its own, and needs no end.
func NewPool(o Options) *Pool {
	p := &Pool{purpose: o.Purpose, uninit: o.Uninit}
	if p.purpose == nil {
		p.purpose = offheap.NewPurpose("grpc")
	}
	return p
}

// Get returns a buffer of n bytes, all zero unless the pool was asked not to clear them, whose capacity is n too. It is the
// caller's until Put, and is freed when the collector finds that nobody has the pointer any more. Get panics if n is negative.
func (p *Pool) Get(n int) *[]byte {
	if n < 0 {
		panic(fmt.Errorf("grpcmem: Get: negative length %d", n))
	}
	if mem.IsBelowBufferPoolingThreshold(n) {
		b := make([]byte, n)
		return &b
	}
	l := &lease{pool: p}
	l.block, l.offHeap = p.alloc(n)
	b := new([]byte)
	*b = l.block
	l.cleanup = runtime.AddCleanup(b, (*lease).drop, l)
	p.leases.Store(&l.block[0], l)
	return b
}

// alloc is a block, off the heap if there is room.
func (p *Pool) alloc(n int) (block []byte, offHeap bool) {
	alloc := p.purpose.TryAlloc
	if p.uninit {
		alloc = p.purpose.TryAllocUninit
	}
	b, err := alloc(n)
	if err == nil {
		return b, true
	}
	if !errors.Is(err, offheap.ErrLimit) && !errors.Is(err, offheap.ErrOutOfMemory) {
		panic(err)
	}
	p.refused.Add(1)
	return make([]byte, n), false
}

// spent is what a pointer leads to after Put: nothing to read, and a second Put is known, whoever has the block by then.
var spent = make([]byte, 1)

// Put frees a buffer that Get returned. b leads to it or to a prefix of it, and afterwards to an empty slice. A second Put of a
// pointer, and one of a buffer that Get did not return, panics with an [*offheap.MisuseError] and changes nothing. Buffers that
// are too small to be pooled are left to the collector.
func (p *Pool) Put(b *[]byte) {
	if cap(*b) == 0 {
		return
	}
	first := &(*b)[:1][0]
	if first == &spent[0] {
		panic(misuse(first, "double free", "it was put back before; keep one owner for each buffer"))
	}
	v, ok := p.leases.LoadAndDelete(first)
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

// drop frees a buffer that nobody has any more.
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

// Stats are counts since the pool was made. What its buffers take is in the account of its purpose.
type Stats struct {
	// Dropped is how many buffers came back through the collector, because nobody put them back.
	Dropped int64
	// Refused is how many came from the Go heap, because a limit or the machine allowed no more.
	Refused int64
}

// Stats reads the counts.
func (p *Pool) Stats() Stats { return Stats{Dropped: p.dropped.Load(), Refused: p.refused.Load()} }
