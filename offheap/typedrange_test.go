// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// flagged has 12 bytes: no multiple of a granule is one of a value.
type flagged struct {
	N  [2]uint32
	On bool
}

// A typedHeap makes slices of T from one kind of a heap of its own.
type typedHeap[T any] struct {
	testHeap
	t testing.TB
	d *typeDesc
	k *kind
}

func newTypedHeap[T any](t testing.TB) typedHeap[T] {
	needOwnMemory(t)
	h, d := releasedHeap(t, &fakemem.Fake{}), describe[T]()
	return typedHeap[T]{h, t, d, h.newKind(nil, d)}
}

func (h typedHeap[T]) request(n int) request {
	return request{kind: h.k, desc: h.d, n: uintptr(n) * h.d.size, align: h.d.align, zero: true}
}

func (h typedHeap[T]) make(n int) []T {
	h.t.Helper()
	addr, err := h.allocate(h.request(n))
	if err != nil {
		h.t.Fatal(err)
	}
	return unsafex.Slice[T](addr, n, n)
}

func (h typedHeap[T]) realloc(s []T, n int) []T {
	h.t.Helper()
	s, err := reallocate(h.heap, s, n, h.request(n))
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

func (h typedHeap[T]) free(s []T) { h.freeSlow(unsafex.SliceAddr(s), nil, "FreeSlice") }

// pages checks the heap against the page map, if the checks are compiled in.
func (h typedHeap[T]) pages() {
	h.purge.mu.Lock()
	defer h.purge.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checkPages()
}

// TestTypedAddressSpaceServesAgain: a program that has one large block at a time, each longer than the
// last, does not take fresh address space for each.
func TestTypedAddressSpaceServesAgain(t *testing.T) {
	h := newTypedHeap[flagged](t)
	most := 0
	for n := 72 << 10; n < 16<<20; n += granule {
		rows := n / int(h.d.size)
		s := h.make(rows)
		if st := h.stats(); st.InUse != int64(roundUp(uintptr(rows)*h.d.size, granule)) || st.Held != st.InUse || st.Retained != 0 || st.InUse+st.Purged != st.Reserved {
			t.Fatalf("with a block of %d bytes: %+v", n, st)
		}
		h.free(s)
		most = n
	}
	// The lengths of the ranges are 4 to an octave, so that their sum is below 1+1+7/8+6/8+5/8, twice that
	// for all octaves below.
	if st := h.stats(); st.Reserved > 7*int64(most) || st.InUse != 0 || st.Held != 0 {
		t.Errorf("after blocks of up to %d bytes, one at a time: %+v", most, st)
	}
	h.pages()
}

// TestTypedReallocInPlace: a large block of a type with bools grows over the spare part of its range, and
// shrinks to half of the range, where it is. What it gains is zero.
func TestTypedReallocInPlace(t *testing.T) {
	h := newTypedHeap[flagged](t)
	s := h.make(6 << 10)
	moved := 0
	check := func(what string, s []flagged, kept int) {
		t.Helper()
		for i, v := range s {
			want := flagged{}
			if i < kept {
				want = flagged{[2]uint32{uint32(i), ^uint32(0)}, true}
			}
			if v != want {
				t.Fatalf("%s: row %d of %d is %v, want %v", what, i, len(s), v, want)
			}
			s[i] = flagged{[2]uint32{uint32(i), ^uint32(0)}, true}
		}
		if st := h.stats(); st.InUse != int64(roundUp(uintptr(len(s))*h.d.size, granule)) {
			t.Fatalf("%s: %d rows, and %d bytes are in use", what, len(s), st.InUse)
		}
	}
	check("new", s, 0)
	for len(s) < 400<<10 {
		kept, was := len(s), unsafex.SliceAddr(s)
		if s = h.realloc(s, len(s)+512); unsafex.SliceAddr(s) != was {
			moved++
		}
		check("grown", s, kept)
		h.pages()
	}
	if st := h.stats(); moved > 4*7 || st.Reserved > 7*st.InUse {
		t.Errorf("it moved %d times, %d bytes are in use and %d reserved", moved, st.InUse, st.Reserved)
	}
	was, room := unsafex.SliceAddr(s), h.spanOf(unsafex.SliceAddr(s)).rangeGranules()
	for _, n := range []int{len(s) - 700, len(s) * 5 / 8, len(s), len(s) * 5 / 8, len(s)} {
		kept := min(len(s), n)
		if s = h.realloc(s, n); unsafex.SliceAddr(s) != was {
			t.Errorf("at %d rows it moved out of a range of %d granules", n, room)
			was = unsafex.SliceAddr(s)
		}
		check("resized", s, kept)
		h.pages()
	}
	if s = h.realloc(s, len(s)/8); unsafex.SliceAddr(s) == was {
		t.Errorf("%d rows keep a range of %d granules", len(s), room)
	}
	check("short", s, len(s))
	h.free(s)
	h.pages()
}

// TestTypedGrowsWithinLimits: no spare part of a range is beyond a limit.
func TestTypedGrowsWithinLimits(t *testing.T) {
	h := newTypedHeap[bool](t)
	s := h.make(9 * granule)
	if n := h.spanOf(unsafex.SliceAddr(s)).rangeGranules(); n != 10 {
		t.Fatalf("a block of 9 granules has a range of %d", n)
	}
	h.SetLimit(9 * granule)
	if _, err := reallocate(h.heap, s, 10*granule, h.request(10*granule)); !errors.Is(err, ErrLimit) {
		t.Errorf("a granule beyond the limit: %v", err)
	}
	h.SetLimit(10 * granule)
	if g := h.realloc(s, 10*granule); unsafex.SliceAddr(g) != unsafex.SliceAddr(s) {
		t.Error("the block moved")
	}
	h.free(s)
}

// TestTypedRangesStayTheirs: large blocks of a type begin only where its ranges begin, so that a stale
// value lies where values lie (C1), and ranges do not overlap. Freed ranges are found by their length.
func TestTypedRangesStayTheirs(t *testing.T) {
	h := newTypedHeap[flagged](t)
	rng := rand.New(rand.NewPCG(32, 1))
	ranges := map[uintptr]int{} // Granules, by address.
	var live [][]flagged
	row := func() int { return 6<<10 + rng.IntN(1<<(10+rng.IntN(8))) }
	for range 3000 {
		switch i := rng.IntN(40); {
		case i >= len(live):
			live = append(live, h.make(row()))
		case rng.IntN(3) == 0:
			h.free(live[i])
			live = slices.Delete(live, i, i+1)
			continue
		default:
			live[i] = h.realloc(live[i], row())
			live[i], live[len(live)-1] = live[len(live)-1], live[i]
		}
		s := live[len(live)-1]
		addr := unsafex.SliceAddr(s)
		sp := h.spanOf(addr)
		if was, known := ranges[addr]; known && was != sp.rangeGranules() || sp.base != addr {
			t.Fatalf("at %#x lies a range of %d granules, and a block in one of %d", addr, was, sp.rangeGranules())
		}
		ranges[addr] = sp.rangeGranules()
	}
	for _, s := range live {
		h.free(s)
	}
	h.pages()
	free, end := 0, uintptr(0)
	for length, list := range h.k.ranges {
		for _, g := range list {
			if ranges[g.addr()] != g.n || g.n != length {
				t.Errorf("a free range of %d granules, where one of %d was, counts as one of %d", g.n, ranges[g.addr()], length)
			}
			free++
		}
	}
	addrs := make([]uintptr, 0, len(ranges))
	for a := range ranges {
		addrs = append(addrs, a)
	}
	slices.Sort(addrs)
	for _, a := range addrs {
		if a < end {
			t.Errorf("the range at %#x begins before %#x, where another ends", a, end)
		}
		end = a + uintptr(ranges[a])*granule
	}
	if free != len(ranges) {
		t.Errorf("of %d ranges %d are free in the end", len(ranges), free)
	}
}

// narrow lets no more than so many bytes of blocks be committed, and no more be reserved at once.
type narrow struct {
	vmem.Memory
	left, reserve uintptr
}

func (m *narrow) Commit(addr, size uintptr) error {
	if size >= 256<<10 { // Not the page map.
		if size > m.left {
			return errors.New("no memory left")
		}
		m.left -= size
	}
	return m.Memory.Commit(addr, size)
}

func (m *narrow) Reserve(size, align uintptr, name string) (uintptr, error) {
	if size > m.reserve {
		return 0, errors.New("no address space left")
	}
	return m.Memory.Reserve(size, align, name)
}

// TestTypedRangeThatFits: a freed range of the length of a block serves it if there is no room for a new one.
func TestTypedRangeThatFits(t *testing.T) {
	needOwnMemory(t)
	const unit = 8 << 20
	m := &narrow{vmem.System(), 17*unit + 3*unit/4, ^uintptr(0)}
	h, d := newTestHeap(m), describe[bool]()
	k := h.newKind(nil, d)
	get := func(units uintptr) uintptr {
		t.Helper()
		addr, err := h.allocate(request{kind: k, desc: d, n: units * unit, align: 1, zero: true})
		if err != nil {
			t.Fatal(err)
		}
		return addr
	}
	eight, nine := get(8), get(9) // There is no room for a range of ten units.
	if n := h.spanOf(nine).rangeGranules(); n != 9*unit/granule {
		t.Fatalf("nine units have a range of %d granules", n)
	}
	h.freeSlow(nine, nil, "Free")
	h.freeSlow(eight, nil, "Free")
	if again := get(9); again != nine {
		t.Errorf("nine units lie at %#x, and not at %#x", again, nine)
	}
}

// TestRegionOfWhatThereIs: if a region of the size that is wished is refused, smaller ones are tried, down to what the request needs.
func TestRegionOfWhatThereIs(t *testing.T) {
	needOwnMemory(t)
	for _, part := range []uintptr{4, 3, 2, 1} { // Quarters.
		m := &narrow{vmem.System(), ^uintptr(0), ^uintptr(0)}
		h := newTestHeap(m)
		h.mu.Lock()
		need := roundUp(max(h.wishedRegion(0, false)/4*part, smallRegion), commitUnit)
		m.reserve = need
		r, err := h.addRegion(need, false)
		h.mu.Unlock()
		if err != nil {
			t.Errorf("%d quarters: %v", part, err)
			continue
		}
		if r.size != need {
			t.Errorf("%d quarters: %d bytes, want %d", part, r.size, need)
		}
		_ = m.Release(r.base, r.size)
	}
}
