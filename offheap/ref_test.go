// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/unsafex"
)

func TestRefRoundTrip(t *testing.T) {
	quiet(t)
	roundTrip[byte](t)
	roundTrip[point](t)
	roundTrip[flags](t)
	roundTrip[link](t)
	roundTrip[wideLink](t)
	roundTrip[[9000]byte](t)
	roundTrip[[70_000]int16](t)
	roundTrip[manyFlags](t)
}

func roundTrip[T any](t *testing.T) {
	t.Helper()
	var none Ref[T]
	if !none.IsNil() || none.Ptr() != nil || RefOf[T](nil) != none {
		t.Errorf("%v: the zero Ref is not nil", none)
	}
	DeleteRef(none)
	seen := map[Ref[T]]*T{}
	for range 50 {
		r := RefOf(New[T]())
		p := r.Ptr()
		if r.IsNil() || p == nil || RefOf(p) != r || seen[r] != nil {
			t.Fatalf("%v: does not lead back, or comes twice", r)
		}
		seen[r] = p
	}
	s := MakeSlice[T](11, 11)
	for i := range s {
		r := RefOf(&s[i])
		if r.Ptr() != &s[i] || r != RefOf(&s[i]) || seen[r] != nil {
			t.Fatalf("%v to element %d: does not lead back", r, i)
		}
	}
	FreeSlice(s)
	for r, p := range seen {
		if r.Ptr() != p {
			t.Fatalf("%v leads elsewhere after a while", r)
		}
		DeleteRef(r)
	}
}

// TestRefList links values by Refs, the way that pointers are replaced.
func TestRefList(t *testing.T) {
	quiet(t)
	type node struct {
		next Ref[node]
		n    int
	}
	var head Ref[node]
	for i := range 10_000 {
		r := RefOf(New[node]())
		*r.Ptr() = node{head, i}
		head = r
	}
	for want := 9_999; !head.IsNil(); want-- {
		v := head.Ptr()
		if v.n != want {
			t.Fatalf("value %d, want %d", v.n, want)
		}
		next := v.next
		DeleteRef(head)
		head = next
	}
}

var globalPoint point

func TestRefOfForeignPointers(t *testing.T) {
	onHeap, b := new(point), Alloc(64)
	defer Free(b)
	var onStack point
	wantMisuse(t, "the Go heap", "foreign pointer", func() { RefOf(onHeap) })
	wantMisuse(t, "the stack", "foreign pointer", func() { RefOf(&onStack) })
	wantMisuse(t, "a global", "foreign pointer", func() { RefOf(&globalPoint) })
}

// badOffsets are those that never lead to a T. The live blocks lie below end.
func badOffsets(end uint64) []uint64 {
	return []uint64{1, 2, 4, 7, 8, 9, 4095, 4096, refBias - 8, refBias - 1, end, end + 8, end + 1<<20, 1 << 31, 1 << 33, 1 << 47, 1 << 48,
		1 << 62, 1 << 63, math.MaxUint64, math.MaxUint64 - 7, math.MaxUint64 - refBias, math.MaxUint64 - refBias + 1}
}

func TestDamagedRefs(t *testing.T) {
	quiet(t)
	p := New[point]()
	defer Delete(p)
	f := New[flags]()
	defer Delete(f)
	end := uint64(1) << 62
	if n := int(std.nregions.Load()); n > 0 {
		r := &std.regions[n-1]
		end = r.refStart + uint64(r.size)
	}
	for _, off := range badOffsets(end) {
		damaged[point](t, off)
		damaged[flags](t, off)
		damaged[link](t, off)
		damaged[[64]uint64](t, off)
	}
	good := RefOf(p).off
	for _, step := range []uint64{1, 2, 3} { // Misaligned even where an int64 needs only 4.
		damaged[point](t, good+step)
		damaged[point](t, good-step)
	}
	if used := std.regions[0].used.Load(); used > 0 && !std.regions[0].typed {
		// The last bytes handed out are too few for a larger value.
		damaged[[100]uint64](t, refBias+uint64(used)-8)
	}
}

func damaged[T any](t *testing.T, off uint64) {
	t.Helper()
	r := Ref[T]{off: off}
	if m, ok := caught(func() { r.Ptr() }).(*MisuseError); !ok || !strings.HasPrefix(m.Kind, "use after ") { // In a debug mode, if a block lay there.
		alloctest.MustPanic(t, func() { r.Ptr() }, "offheap: Ref", fmt.Sprintf("%#x", off), "does not lead to a")
	}
	if r.IsNil() || r.String() == "" {
		t.Errorf("a damaged Ref %#x is nil, or has no String", off)
	}
}

// TestRefsToOtherTypes: bits that are not a valid bool must never be read as one.
func TestRefsToOtherTypes(t *testing.T) {
	quiet(t)
	p, l := New[point](), New[link]()
	defer Delete(p)
	defer Delete(l)
	a, b := MakeSlice[flags](9, 9), MakeSlice[flags2](9, 9)
	big, big2 := MakeSlice[flags](10_000, 10_000), MakeSlice[flags2](10_000, 10_000)
	raw := AllocUninit(1 << 20)
	plain := []uint64{RefOf(p).off, RefOf(&raw[0]).off, RefOf(&raw[1<<19]).off}
	for _, off := range plain {
		damaged[flags](t, off)
		damaged[bool](t, off)
		damaged[link](t, off)
	}
	for _, off := range []uint64{RefOf(&a[0]).off, RefOf(&a[8]).off, RefOf(&big[0]).off, RefOf(&big[9_999]).off} {
		damaged[flags2](t, off)
		damaged[bool](t, off)
		damaged[point](t, off) // Writing foreign bits there would be as bad.
		damaged[byte](t, off)
		damaged[link](t, off)
		for _, step := range []uint64{1, 4, 8} { // Inside a value.
			damaged[flags](t, off+step)
		}
	}
	damaged[flags](t, RefOf(&b[3]).off)
	damaged[flags](t, RefOf(&big2[3]).off)
	damaged[flags](t, RefOf(l).off)
	damaged[point](t, RefOf(l).off)
	gone := RefOf(&big[500])
	FreeSlice(big)
	if std.serving() != nil && std.serving().marked() {
		wantMisuse(t, "a Ref to a freed slice", "use after FreeSlice", func() { gone.Ptr() })
	} else {
		damaged[flags](t, gone.off)
	}
	FreeSlice(a)
	FreeSlice(b)
	FreeSlice(big2)
	Free(raw)
}

// TestRefToUnalignedBlock: a block of bytes may begin at any address, as guarded blocks do. A number
// of a Ref into it never leads to a value at an address that is no multiple of its alignment.
func TestRefToUnalignedBlock(t *testing.T) {
	quiet(t)
	for range 4 {
		s := MakeSlice[[11]byte](3, 3)
		for i := range s[0] {
			addr := unsafex.Addr(&s[0][i])
			p, ok := caughtPtr(RefFromUint64[atomic.Uint64](RefOf(&s[0][i]).Uint64()))
			if ok != (addr%8 == 0) || ok && unsafex.Addr(p) != addr {
				t.Errorf("the Ref to a word at %#x leads to %p", addr, p)
			}
		}
		FreeSlice(s)
	}
}

// caughtPtr is r.Ptr, or false if that panics.
func caughtPtr[T any](r Ref[T]) (p *T, ok bool) {
	ok = caught(func() { p = r.Ptr() }) == nil
	return p, ok
}
