// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

func TestSliceRefRoundTrip(t *testing.T) {
	quiet(t)
	if n := unsafe.Sizeof(SliceRef[int]{}); n != 16 {
		t.Errorf("a SliceRef is %d bytes, want 16", n)
	}
	sliceRoundTrip[byte](t)
	sliceRoundTrip[point](t)
	sliceRoundTrip[flags](t)
	sliceRoundTrip[link](t)
	sliceRoundTrip[[9000]byte](t)
	sliceRoundTrip[struct{}](t)
}

func sliceRoundTrip[T any](t *testing.T) {
	t.Helper()
	if none := SliceRefOf[T](nil); !none.IsNil() || none.Slice() != nil || none.Len() != 0 || none != SliceRefOf(make([]T, 0)) {
		t.Errorf("%v: a SliceRef to nothing is not nil", none)
	}
	for _, n := range []int{1, 2, 17, 300} {
		s := MakeSlice[T](n, n)
		for from := range min(n, 3) {
			part := s[from:]
			r := SliceRefOf(part)
			got := r.Slice()
			if r.IsNil() || r.Len() != len(part) || len(got) != len(part) || cap(got) != len(part) || unsafex.Size[T]() > 0 && &got[0] != &part[0] {
				t.Fatalf("%v to %d elements from %d on leads to %d of %d", r, len(part), from, len(got), cap(got))
			}
		}
		FreeSlice(SliceRefOf(s).Slice())
		s = MakeSlice[T](n, n)
		FreeSlice(SliceRefOf(s[:1]).Slice()) // A prefix names the block.
	}
}

func TestSliceRefOfForeignMemory(t *testing.T) {
	var onStack [4]point
	wantMisuse(t, "the Go heap", "foreign pointer", func() { SliceRefOf(make([]point, 3)) })
	wantMisuse(t, "the stack", "foreign pointer", func() { SliceRefOf(onStack[:]) })
	alloctest.MustPanic(t, func() { SliceRefOf([]string{"a"}) }, "SliceRefOf of string", "Go pointer", "SliceRef[byte]")
	alloctest.MustPanic(t, func() { SliceRef[*int]{Ref[*int]{off: 1 << 20}, 1}.Slice() }, "*int itself")
}

// noSlice wants a forged or damaged SliceRef to panic.
func noSlice[T any](t *testing.T, off, n uint64) {
	t.Helper()
	r := SliceRef[T]{Ref[T]{off: off}, n}
	if m, ok := caught(func() { r.Slice() }).(*MisuseError); ok && strings.HasPrefix(m.Kind, "use after ") {
		return // A debug mode knows the block.
	}
	alloctest.MustPanic(t, func() { r.Slice() }, "Ref", fmt.Sprintf("%#x", off), "does not lead to")
	if r.Len() < 0 || r.IsNil() || r.String() == "" {
		t.Errorf("%v: length %d", r, r.Len())
	}
}

// TestSliceRefStaysInBlock forges lengths and offsets: no slice reaches beyond the block that it
// begins in.
func TestSliceRefStaysInBlock(t *testing.T) {
	quiet(t)
	small, large := MakeSlice[point](3, 3), MakeSlice[point](100_000, 100_000)
	for _, s := range [][]point{small, large} {
		r := SliceRefOf(s)
		bytes, _ := std.roomOf("Append", unsafex.SliceAddr(s), describe[point]().kind.typ)
		room := uint64(bytes / unsafe.Sizeof(point{}))
		for _, n := range []uint64{room + 1, room * 2, 1 << 31, 1 << 32, 1 << 60, math.MaxInt64, 1 << 63, math.MaxUint64} {
			noSlice[point](t, r.first.off, n)
		}
		noSlice[point](t, r.first.off+16, room) // One element on.
		for _, step := range []uint64{1, 2, 3} {
			noSlice[point](t, r.first.off+step, 1) // Misaligned.
		}
	}
	for _, off := range badOffsets(1 << 50) {
		noSlice[point](t, off, 1)
		noSlice[flags](t, off, 2)
		noSlice[byte](t, off, 1)
	}
	FreeSlice(small)
	FreeSlice(large)
}

// TestSliceRefWhileRecordMoves: a block is freed while a SliceRef to it is resolved, and its record
// becomes that of a block elsewhere. No slice reaches beyond both.
func TestSliceRefWhileRecordMoves(t *testing.T) {
	if !vmem.Supported {
		t.Skip("no memory outside the Go heap here")
	}
	h := newTestHeap(vmem.System())
	for _, n := range []int{100_000, 1000} {
		b, err := h.TryAlloc(n)
		if err != nil {
			t.Fatal(err)
		}
		d, addr := describe[byte](), addrOf(b)
		sp := h.spanOf(addr)
		if !h.holds(addr, d, uintptr(n)) {
			t.Errorf("a block of %d bytes does not hold them", n)
		}
		base := sp.base
		for _, sp.base = range []uintptr{base + 1<<20, base - 1<<20} {
			if h.holds(addr, d, 1) || h.holds(addr, d, 1<<30) {
				t.Errorf("a span at %#x holds bytes at %#x", sp.base, addr)
			}
		}
		sp.base = base
		h.Free(b)
	}
}

// TestSliceRefsToOtherTypes: bits that are not a valid bool must never be read as one, and no
// element may begin where none of its type begins.
func TestSliceRefsToOtherTypes(t *testing.T) {
	quiet(t)
	plain, a, b, odds := Alloc(4096), MakeSlice[flags](9, 9), MakeSlice[flags2](9, 9), MakeSlice[odd](9, 9)
	atPlain, atA, atOdd := SliceRefOf(plain).first.off, SliceRefOf(a).first.off, SliceRefOf(odds).first.off
	noSlice[flags](t, atPlain, 2)
	noSlice[bool](t, atPlain, 2)
	noSlice[link](t, atPlain, 2)
	noSlice[flags2](t, atA, 2)
	noSlice[bool](t, atA, 2)
	noSlice[byte](t, atA, 2)
	noSlice[point](t, atA, 1)
	for step := uint64(1); step < uint64(unsafe.Sizeof(odd{})); step++ {
		noSlice[odd](t, atOdd+step, 1)
	}
	FreeSlice(a)
	FreeSlice(b)
	FreeSlice(odds)
	Free(plain)
}

// TestSliceRefForged resolves numbers near live blocks and anywhere: each panics, or gives elements
// of a block.
func TestSliceRefForged(t *testing.T) {
	quiet(t)
	rng := rand.New(rand.NewPCG(15, 1))
	var blocks [][]odd
	for range 50 {
		n := 1 + rng.IntN(400)
		blocks = append(blocks, MakeSlice[odd](n, n))
	}
	size := uintptr(unsafe.Sizeof(odd{}))
	for range 5000 {
		at := SliceRefOf(blocks[rng.IntN(len(blocks))])
		r := SliceRef[odd]{RefFromUint64[odd](at.first.Uint64() + uint64(rng.IntN(20_000)) - 10_000), uint64(rng.IntN(500))}
		var s []odd
		if caught(func() { s = r.Slice() }) != nil || s == nil {
			continue
		}
		lo := unsafex.SliceAddr(s)
		if std.guards != nil {
			continue // Some blocks lie beside the slabs.
		}
		if std.serving() == nil {
			sp := std.spanOf(lo)
			if sp == nil || (lo-sp.base)%max(uintptr(sp.size), 1)%size != 0 || std.spanOf(lo+uintptr(len(s))*size-1) != sp {
				t.Fatalf("%v leads to %d elements at %#x, which lie in no block", r, len(s), lo)
			}
			continue
		}
		if !slices.ContainsFunc(blocks, func(b []odd) bool {
			in := lo - unsafex.SliceAddr(b)
			return in%size == 0 && in/size+uintptr(len(s)) <= uintptr(len(b))
		}) {
			t.Fatalf("%v leads to %d elements at %#x, which are in no slice", r, len(s), lo)
		}
	}
	for _, b := range blocks {
		FreeSlice(b)
	}
}

// TestSliceRefStale follows SliceRefs to blocks that are free.
func TestSliceRefStale(t *testing.T) {
	quiet(t)
	large, typed := MakeSlice[point](100_000, 100_000), MakeSlice[flags](100_000, 100_000)
	gone, goneTyped := SliceRefOf(large), SliceRefOf(typed)
	FreeSlice(large)
	FreeSlice(typed)
	if std.serving().marked() {
		m := wantMisuse(t, "a freed slice", "use after FreeSlice", func() { gone.Slice() })
		if m.Op != "SliceRef.Slice" {
			t.Errorf("the mistake is one of %s", m.Op)
		}
		return
	}
	noSlice[point](t, gone.first.off, gone.n)
	noSlice[flags](t, goneTyped.first.off, goneTyped.n)
}
