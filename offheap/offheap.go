// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Alloc returns n zero bytes outside the Go heap; the slice's capacity is n, too. The memory
// belongs to the caller until [Free]. If there is no memory, Alloc panics with a value that
// errors.Is [ErrOutOfMemory] or [ErrLimit]. If n is negative, it panics with a plain error.
// Alloc(0) is an empty slice that needs no Free.
//
// The bytes are zero unless the program writes to memory that it has freed: pages from the machine,
// or pages that went back to it, count as zero and are not cleared again. So a write through a
// stale slice may appear in a later block.
func Alloc(n int) []byte {
	if uint(n-1) < sizeclass.Max {
		if addr := alloc(sizeclass.Of(uintptr(n))); addr != 0 {
			b := unsafex.Bytes(addr, uintptr(n))
			clear(b)
			return b
		}
	}
	return mustBytes(TryAlloc(n))
}

// TryAlloc is [Alloc] that returns an error if there is no memory, instead of panicking.
func TryAlloc(n int) ([]byte, error) {
	return std.allocBytes("Alloc", n, std.request(8, true))
}

// AllocUninit is [Alloc] without the zeroing: the bytes may be those of an earlier block, which the
// reader of this block perhaps should not see. For buffers of more than about a kilobyte the
// zeroing is most of the cost of Alloc.
func AllocUninit(n int) []byte {
	if uint(n-1) < sizeclass.Max {
		if addr := alloc(sizeclass.Of(uintptr(n))); addr != 0 {
			return unsafex.Bytes(addr, uintptr(n))
		}
	}
	return mustBytes(TryAllocUninit(n))
}

// TryAllocUninit is AllocUninit with an error.
func TryAllocUninit(n int) ([]byte, error) {
	return std.allocBytes("AllocUninit", n, std.request(8, false))
}

// AllocAligned returns n zero bytes whose address is a multiple of align, a power of two up to 2
// MiB. It panics if align is any other number, and otherwise as [Alloc] does. For a Purpose, a
// Local or values, see [Typed.Aligned].
func AllocAligned(n, align int) []byte { return mustBytes(TryAllocAligned(n, align)) }

// TryAllocAligned is AllocAligned with an error for what the world may refuse.
func TryAllocAligned(n, align int) ([]byte, error) {
	checkAlign("AllocAligned", align)
	return std.allocBytes("AllocAligned", n, std.request(uintptr(align), true))
}

func checkAlign(op string, align int) {
	if align <= 0 || align&(align-1) != 0 || align > maxAlign {
		panic(fmt.Errorf("offheap: %s: alignment %d; it must be a power of two up to %d", op, align, maxAlign))
	}
}

// Free frees the block of b. b is a slice that [Alloc], [AllocUninit], [AllocAligned], [Realloc] or
// [Append] returned, or a prefix b[:k] of it. Free may be called from any goroutine. It ignores
// nil, Alloc(0) and other slices of capacity 0 that are no part of a block. Any other slice panics
// with a [*MisuseError] and changes nothing: b[k:] with 0 < k < cap(b), b[cap(b):], which has no
// capacity left, memory of the Go heap, and a block that is free.
//
// To free a block by the pointer p to its first byte, call Free(unsafe.Slice(p, 1)): the address
// names the block, and any capacity from 1 up to the block's length will do.
//
// The program must not use the block afterwards. A later use reads and writes data of a later
// block.
func Free(b []byte) {
	n := uintptr(cap(b))
	addr := unsafex.SliceAddr(b)
	if n == 0 {
		std.checkConsumed("Free", addr)
		return
	}
	if n <= sizeclass.Max && free(sizeclass.Of(n), addr) {
		return
	}
	std.freeSlow(addr, nil, "Free")
}

func mustBytes(b []byte, err error) []byte {
	must(err)
	return b
}

// request is one for plain memory without a purpose.
func (h *heap) request(align uintptr, zero bool) request {
	h.start()
	return request{kind: h.plain, align: align, zero: zero}
}

// The fast paths of the thread-safe functions, for std alone: with its address a constant a
// pair costs about a fifth less than through methods of heap. Those of New and Delete stand in
// typed.go.

// alloc is a block of the bin from the P's slot, or 0 if the caller must ask allocSlow. bin is
// below fastBins.
//
//go:nosplit
func alloc(bin uint32) uintptr {
	p := percpu.Acquire()
	addr := std.pcache(p.ID()).bins[bin&(fastBins-1)].pop()
	p.Release()
	return addr
}

// free gives a block to the P's cache, to the slot of the bin if it does not belong to the hot one.
// It reports false, and has done nothing, if the caller must ask freeSlow. bin is below fastBins.
func free(bin uint32, addr uintptr) bool {
	p := percpu.Acquire()
	c := std.pcache(p.ID())
	s := c.hottest()
	done := true
	if s.push(addr) {
		if s.wipe {
			s.clear(addr)
		}
	} else {
		done = c.push(bin, addr)
	}
	p.Release()
	return done
}

// freeColder is free for a block that the hot slot has refused.
func freeColder(bin uint32, addr uintptr) bool {
	p := percpu.Acquire()
	done := std.pcache(p.ID()).push(bin, addr)
	p.Release()
	return done
}
