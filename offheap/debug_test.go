// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// debugHeapFor is a heap of a test's own in the modes, without guarded pages, which are the
// process's.
func debugHeapFor(modes debugmode.Config) testHeap {
	h := newTestHeap(vmem.System())
	h.recorder.Store(newRecorder(h.heap))
	h.serving().unpaged = true
	h.serving().debug(modes)
	return h
}

// TestTrackedOnGoHeap: guard without guarded pages works on the Go heap, where the slabs do not serve.
func TestTrackedOnGoHeap(t *testing.T) {
	h := debugHeapFor(debugmode.Config{Guard: true, GuardBytes: 1 << 20})
	b, err := h.TryAllocUninit(61)
	if err != nil {
		t.Fatal(err)
	}
	if _, whole := unpainted(addrOf(b), 61, debugmode.PoisonFresh); !whole {
		t.Errorf("fresh memory: % x", b)
	}
	wide := unsafex.Bytes(addrOf(b), 62)
	wide[61]++
	wantMisuse(t, "overflow", "damaged canary", func() { h.Free(b) })
	wide[61]--
	h.Free(b)
	b[7] = 0
	if err := h.serving().check(); err == nil || !strings.Contains(err.Error(), "write after Free: byte 7 of a block of 61 bytes") {
		t.Errorf("a write after the free: %v", err)
	}
	wantMisuse(t, "again", "double free", func() { h.Free(b) })
}

// TestMovesLoseNoBlock: Realloc that reports a damaged block has allocated none, and one that moves a
// slice reports no damage of another block, for its caller would lose the slice.
func TestMovesLoseNoBlock(t *testing.T) {
	h := debugHeapFor(debugmode.Config{Guard: true, GuardBytes: 1 << 20})
	b, err := h.TryAlloc(61)
	if err != nil {
		t.Fatal(err)
	}
	unsafex.Bytes(addrOf(b), 62)[61]++
	wantMisuse(t, "a damaged slice", "damaged canary", func() { _, _ = h.TryRealloc(b, 200) })
	if n := h.InUse(); n != 61 {
		t.Errorf("%d bytes are in use, want 61", n)
	}
	unsafex.Bytes(addrOf(b), 62)[61]--

	other, err := h.TryAlloc(10)
	if err != nil {
		t.Fatal(err)
	}
	h.Free(other)
	other[7] = 0
	b, err = h.TryRealloc(b, 200)
	if err != nil || len(b) != 200 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	wantMisuse(t, "the next free", "write after Free", func() { h.Free(b) })
	if n := h.InUse(); n != 0 {
		t.Errorf("%d bytes are in use, want none", n)
	}
}

// TestQuarantineBounds: at least eight blocks stay, and no more than the bounds allow beyond them.
func TestQuarantineBounds(t *testing.T) {
	q := quarantine{most: 20, bytesMost: 1000}
	stay := func(n int, size uintptr) int {
		for i := range n {
			q.put(block{addr: uintptr(i+1) << 20, size: size, room: size})
			for {
				if _, ok := q.pop(false); !ok {
					break
				}
			}
		}
		return len(q.blocks)
	}
	for _, c := range []struct {
		n    int
		size uintptr
		want int
	}{{5, 10, 5}, {100, 10, 20}, {100, 100, 10}, {100, 5000, 8}} {
		if got := stay(c.n, c.size); got != c.want {
			t.Errorf("%d blocks of %d bytes: %d stay, want %d", c.n, c.size, got, c.want)
		}
	}
	if !q.has(100<<20+4999) || q.has(100<<20+5000) {
		t.Error("the last block is not found by its last byte, or by the one behind it")
	}
	for range 8 {
		if _, ok := q.pop(true); !ok {
			t.Fatal("memory was needed, but a block stayed")
		}
	}
	if _, ok := q.pop(true); ok || q.bytes != 0 {
		t.Errorf("an empty quarantine holds %d bytes", q.bytes)
	}
}

func TestMergeRanges(t *testing.T) {
	got := mergeRanges([]addrRange{{50, 60}, {10, 20}, {20, 30}, {55, 58}, {58, 70}, {90, 95}})
	if want := []addrRange{{10, 30}, {50, 70}, {90, 95}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestGoRanges: the heap, its stacks and no other memory.
func TestGoRanges(t *testing.T) {
	if !vmem.Supported {
		t.Skip("nothing lies off the heap here, so nothing is searched")
	}
	var g goRanges
	g.refresh()
	look := g.lookup()
	var here int
	own := map[string]uintptr{"an object": unsafex.SliceAddr(make([]byte, 1000)), "the stack": unsafex.Addr(&here)}
	if is64 { // Elsewhere it may lie in an unknown unit.
		own["a large one"] = unsafex.SliceAddr(make([]byte, 1<<20))
	}
	for what, addr := range own {
		if !look.has(addr) {
			t.Errorf("%s at %#x is not on the Go heap, which is %x", what, addr, look.list)
		}
	}
	others := map[string]uintptr{"a variable": unsafex.Addr(&std), "text": unsafex.PtrAddr(unsafex.StringData("text")), "a small number": 4096, "-1": ^uintptr(0)}
	h := newTestHeap(vmem.System())
	b, err := h.TryAlloc(100)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Free(b)
	if is64 {
		others["an off-heap block"] = addrOf(b)
	}
	for what, addr := range others {
		if look.has(addr) {
			t.Errorf("%s at %#x is on the Go heap, which is %x", what, addr, look.list)
		}
	}
}

func TestFieldAt(t *testing.T) {
	type inner struct {
		A uint32
		B uint64
	}
	type outer struct {
		_    [0]int
		X    int64
		In   [2]inner
		Last uintptr
	}
	typ := reflect.TypeFor[outer]()
	in := typ.Field(2).Type.Elem()
	at := func(parts ...uintptr) (sum uintptr) {
		for _, p := range parts {
			sum += p
		}
		return sum
	}
	for want, off := range map[string]uintptr{
		".X":       0,
		".In[0].A": typ.Field(2).Offset,
		".In[1].B": at(typ.Field(2).Offset, in.Size(), in.Field(1).Offset),
		".Last":    typ.Field(3).Offset,
	} {
		if got := fieldAt(typ, off); got != want {
			t.Errorf("at %d lies %s, want %s", off, got, want)
		}
	}
	b := block{size: 3 * typ.Size(), desc: &typeDesc{typ: typ, size: typ.Size()}}
	if got, want := b.field(2*typ.Size()), "[]offheap.outer[2].X"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// fakeTB is a TB that keeps what it is told.
type fakeTB struct {
	cleanups []func()
	errors   []string
}

func (f *fakeTB) Helper() {}
func (f *fakeTB) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fakeTB) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) end() string {
	for _, c := range f.cleanups {
		c()
	}
	return strings.Join(f.errors, "\n")
}

// TestCheckLeaks: a leak fails a test in every mode, and without one.
func TestCheckLeaks(t *testing.T) {
	quiet(t)
	var f fakeTB
	CheckLeaks(&f)
	if s := f.end(); s != "" {
		t.Errorf("nothing was allocated: %s", s)
	}
	f = fakeTB{}
	CheckLeaks(&f)
	b := Alloc(1000)
	s := f.end()
	if !strings.Contains(s, "freehold: leak: ") || !strings.Contains(s, "FREEHOLD=leaks") && !strings.Contains(s, "TestCheckLeaks") {
		t.Errorf("a block was not freed: %q", s)
	}
	Free(b)
}
