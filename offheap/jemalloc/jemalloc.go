// SPDX-License-Identifier: Apache-2.0

//go:build jemalloc && cgo

package jemalloc

import (
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/offheap"
)

// Alloc returns n zero bytes; the slice's capacity is n too. The memory is yours until [Free].
// Alloc panics with a value that errors.Is offheap.ErrOutOfMemory if there is none, and with a plain
// error if n is negative. Alloc(0) is an empty slice that needs no Free.
func Alloc(n int) []byte { return must(TryAlloc(n)) }

// TryAlloc is Alloc with an error instead of a panic for what the system refuses.
func TryAlloc(n int) ([]byte, error) { return allocBytes("Alloc", n, 0, true) }

// AllocUninit is Alloc without the zeroing: the bytes may be what an earlier block left there.
func AllocUninit(n int) []byte { return must(TryAllocUninit(n)) }

// TryAllocUninit is AllocUninit with an error.
func TryAllocUninit(n int) ([]byte, error) { return allocBytes("AllocUninit", n, 0, false) }

// AllocAligned is Alloc at an address that is a multiple of align, in bytes. It panics if align is
// not a power of two.
func AllocAligned(n, align int) []byte { return must(TryAllocAligned(n, align)) }

// TryAllocAligned is AllocAligned with an error for what the system refuses.
func TryAllocAligned(n, align int) ([]byte, error) {
	if align <= 0 || align&(align-1) != 0 {
		panic(fmt.Errorf("jemalloc: AllocAligned: alignment %d is not a power of two", align))
	}
	return allocBytes("AllocAligned", n, bits.TrailingZeros(uint(align)), true)
}

// Free gives the block of b back. b is what Alloc, AllocUninit, AllocAligned or Realloc returned, or
// a prefix b[:k] of it. A slice of capacity 0 is ignored. Anything else is undefined behaviour,
// which is not found; so is any use of the block afterwards.
func Free(b []byte) {
	if cap(b) != 0 {
		// SAFETY: the caller vouches for b.
		release(unsafe.Pointer(unsafe.SliceData(b)), cap(b))
	}
}

// Realloc makes the block of b, which Free would take, hold n bytes, where it is or elsewhere, and
// returns it; b must not be used any more. The first min(len(b), n) bytes are b's, the rest are
// zero. An alignment asked for with AllocAligned is not kept. Realloc of a slice of capacity 0 is
// Alloc(n); Realloc to 0 frees the block. On a panic, as Alloc's, b is untouched.
func Realloc(b []byte, n int) []byte { return must(TryRealloc(b, n)) }

// TryRealloc is Realloc with an error for what the system refuses.
func TryRealloc(b []byte, n int) ([]byte, error) {
	switch {
	case cap(b) == 0:
		return allocBytes("Realloc", n, 0, true)
	case n < 0:
		panic(fmt.Errorf("jemalloc: Realloc: negative length %d", n))
	case n == 0:
		Free(b)
		return []byte{}, nil
	case heapMode():
		r := heapAlloc(uintptr(n), 0)
		if r == nil {
			return nil, outOfMemory("Realloc", n)
		}
		// SAFETY: heapAlloc returned n bytes.
		c := unsafe.Slice((*byte)(r), n)
		copy(c, b)
		Free(b)
		return c, nil
	}
	// SAFETY: the caller vouches for b; cRealloc leaves it alone if it returns nil.
	p, size, old := cRealloc(unsafe.Pointer(unsafe.SliceData(b)), uintptr(n))
	if p == nil {
		return nil, outOfMemory("Realloc", n)
	}
	count(size - old)
	// SAFETY: jemalloc returned n bytes.
	r := unsafe.Slice((*byte)(p), n)
	if len(b) < n {
		clear(r[len(b):min(int64(n), max(old, int64(len(b))))])
	}
	return r, nil
}

// must turns an error into a panic.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// outOfMemory returns the error for n bytes that there are not.
func outOfMemory(op string, n int) error {
	return fmt.Errorf("%w: jemalloc: %s of %d bytes refused; free blocks, or ask for less", offheap.ErrOutOfMemory, op, n)
}

// allocBytes is every way to allocate a block.
func allocBytes(op string, n, lgAlign int, zero bool) ([]byte, error) {
	if n <= 0 {
		if n < 0 {
			panic(fmt.Errorf("jemalloc: %s: negative length %d", op, n))
		}
		return []byte{}, nil
	}
	p := allocate(uintptr(n), lgAlign, zero)
	if p == nil {
		return nil, outOfMemory(op, n)
	}
	// SAFETY: allocate returned n bytes.
	return unsafe.Slice((*byte)(p), n), nil
}

// allocate returns n bytes, n > 0, or nil.
func allocate(n uintptr, lgAlign int, zero bool) unsafe.Pointer {
	if heapMode() {
		return heapAlloc(n, lgAlign)
	}
	p, size := cAlloc(n, lgAlign, zero)
	if p != nil {
		count(size)
	}
	return p
}

// release frees p, a block of at least n bytes.
func release(p unsafe.Pointer, n int) {
	if heapMode() {
		inUse.Add(-int64(n))
		return
	}
	count(-cFree(p))
}

// inUse is what blocks take, in bytes, their rounding included.
var inUse atomic.Int64

// syncStep is how far inUse moves before the memory limit is brought up to date, in bytes. Each time
// costs as much as reading the statistics.
const syncStep = 64 << 20

// count adds to inUse and brings the memory limit up to date now and then.
func count(n int64) {
	now := inUse.Add(n)
	if now/syncStep != (now-n)/syncStep {
		freehold.SyncMemoryLimit()
	}
}

// state says what serves allocations.
var state atomic.Uint32

const (
	stateUnknown uint32 = iota
	stateJemalloc
	stateHeap
)

// heapMode reports whether everything comes from the Go heap. The first call decides.
func heapMode() bool {
	s := state.Load()
	if s == stateUnknown {
		s = startSlow()
	}
	return s == stateHeap
}

// startSlow reads the modes of the process and jemalloc's options.
//
//go:noinline
func startSlow() uint32 {
	s := stateJemalloc
	if freehold.HeapMode() {
		s = stateHeap
	} else if retain, err := cOption("opt.retain"); err != nil || !retain {
		panic(fmt.Errorf("jemalloc: the option retain is off (error %v): address space could become Go heap "+
			"while stale slices point to it; set retain:true in MALLOC_CONF or malloc_conf", err))
	}
	state.Store(s)
	return s
}

// heapMax is the largest block in heap mode, in bytes: for more than the machine has the Go runtime
// ends the process, for more than the address space it panics.
const heapMax = min(1<<40, math.MaxInt/2)

// heapAlloc returns n zero bytes of the Go heap, or nil.
func heapAlloc(n uintptr, lgAlign int) unsafe.Pointer {
	if lgAlign > 30 || n > heapMax {
		return nil
	}
	align := uintptr(1) << lgAlign
	b := make([]byte, n+align-1+8) // At least 9 bytes, which the runtime aligns to 8.
	inUse.Add(int64(n))
	// SAFETY: the offset is less than align, and the block has align-1 bytes more than n.
	base := unsafe.Pointer(unsafe.SliceData(b))
	// SAFETY: as above.
	return unsafe.Add(base, (align-uintptr(base)%align)%align)
}
