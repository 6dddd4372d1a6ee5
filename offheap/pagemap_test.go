// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/vmem"
)

// mapModel is a page map and the entries noted in it.
type mapModel struct {
	t     *testing.T
	m     pageMap
	fake  *fakemem.Fake
	spans []noted // In order.
}

type noted struct{ i, end, rec uintptr }

const modelGranules = 1 << (16 + 3*is64Int) // Of a region of 4 GiB, or 512 MiB.

func newMapModel(t *testing.T) *mapModel {
	fake := &fakemem.Fake{}
	releasedHeap(t, fake)
	m, err := newPageMap(fake, modelGranules*granule)
	if err == nil {
		err = m.commit(fake, 0, modelGranules*granule)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &mapModel{t: t, m: m, fake: fake}
}

// want is what granule i must lead to.
func (m *mapModel) want(i uintptr) uintptr {
	for _, s := range m.spans {
		if s.i <= i && i < s.end {
			return s.rec
		}
	}
	return 0
}

// check compares look-ups at and beside the multiples of all units' lengths, and next.
func (m *mapModel) check(rnd *rand.Rand) {
	m.t.Helper()
	var at []uintptr
	for _, s := range m.spans {
		at = append(at, s.i-1, s.i, s.i+1, (s.i+s.end)/2, s.end-1, s.end, roundUp(s.i, mapFan), s.end&^(mapFan-1))
	}
	for range 20 {
		at = append(at, uintptr(rnd.IntN(modelGranules)))
	}
	for _, i := range at {
		if i < modelGranules && m.m.lookUp(i) != m.want(i) {
			m.t.Fatalf("granule %d leads to %#x, want %#x; spans %v", i, m.m.lookUp(i), m.want(i), m.spans)
		}
	}
	i := uintptr(0)
	for _, s := range m.spans {
		if at, rec := m.m.next(i, modelGranules); at != s.i || rec != s.rec {
			m.t.Fatalf("the next span from granule %d on is %#x at %d, want %v", i, rec, at, s)
		}
		i = s.end
	}
	if at, rec := m.m.next(i, modelGranules); at != modelGranules || rec != 0 {
		m.t.Fatalf("behind the last span, at granule %d, is %#x", at, rec)
	}
}

// TestPageMapModel notes spans of all lengths, resizes and clears them, and
// compares with a list.
func TestPageMapModel(t *testing.T) {
	needOwnMemory(t)
	m := newMapModel(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	for step := range 600 {
		k := rnd.IntN(len(m.spans) + 1)
		lo, hi := uintptr(0), uintptr(modelGranules) // The gap before span k.
		if k > 0 {
			lo = m.spans[k-1].end
		}
		if k < len(m.spans) {
			hi = m.spans[k].i
		}
		length := uintptr(1 + rnd.IntN(1<<rnd.IntN(17+3*int(is64Int))))
		switch op := rnd.IntN(4); {
		case op == 0 && k < len(m.spans):
			s := m.spans[k]
			m.m.note(s.i, s.end, 0)
			m.spans = slices.Delete(m.spans, k, k+1)
		case op == 1 && k > 0:
			s := &m.spans[k-1]
			end := min(s.i+length, hi)
			m.m.renote(s.i, s.end, end, s.rec)
			s.end = end
		case lo < hi:
			i := lo + uintptr(rnd.IntN(int(hi-lo)))
			if rnd.IntN(3) == 0 && i&^(mapFan-1) >= lo {
				i &^= mapFan - 1
			}
			s := noted{i, min(i+length, hi), uintptr(64 * (step + 1))}
			m.m.note(s.i, s.end, s.rec)
			m.spans = slices.Insert(m.spans, k, s)
		}
		m.check(rnd)
	}
	for _, s := range m.spans {
		m.m.note(s.i, s.end, 0)
	}
	m.spans = nil
	m.check(rnd)
}

// TestPageMapTakesMemoryByBlocks: a large block takes some pages of the map at its ends, and not
// one for each 4 MiB. Its parts are still known as such.
func TestPageMapTakesMemoryByBlocks(t *testing.T) {
	needOwnMemory(t)
	if !is64 {
		t.Skip("it takes address space")
	}
	h := releasedHeap(t, &fakemem.Fake{})
	if _, err := h.TryAlloc(100); err != nil {
		t.Fatal(err)
	}
	before := h.mapBytes
	gib := 1 << (30 * int(is64Int))
	size := 5*gib + 12345
	if vmem.MachineMemory() < uint64(size) {
		t.Skip("the machine is too small")
	}
	b, err := h.TryAlloc(size)
	if err != nil {
		t.Fatal(err)
	}
	if n, most := h.mapBytes-before, int64(4*vmem.PageSize()); n > most {
		t.Errorf("one block of %d bytes takes %d bytes of page map, want %d at most", size, n, most)
	}
	for _, in := range []uintptr{1, granule, 4<<20 - 1, 4 << 20, uintptr(2*gib + 5), uintptr(3 * gib), uintptr(size - 1)} {
		sp := h.spanOf(addrOf(b) + in)
		if sp == nil || sp.base != addrOf(b) {
			t.Fatalf("%d bytes into the block is %v", in, sp)
		}
		func() {
			defer func() {
				e, _ := recover().(*MisuseError)
				if e == nil || e.Kind != "interior pointer" {
					t.Errorf("a free %d bytes into the block: %v", in, e)
				}
			}()
			h.freeSlow(addrOf(b)+in, nil, "Free")
		}()
	}
	for _, n := range []int{3 * gib, 4 * gib, 10 << 20, 2 * gib} { // In place: what follows is free.
		if b, err = h.TryRealloc(b, n); err != nil {
			t.Fatal(err)
		}
		for in := 0; in < n; in += n / 7 {
			if sp := h.spanOf(addrOf(b) + uintptr(in)); sp == nil || sp.base != addrOf(b) {
				t.Fatalf("%d bytes into the block of %d is %v", in, n, sp)
			}
		}
		if sp := h.spanOf(addrOf(b) + roundUp(uintptr(n), granule)); sp != nil {
			t.Fatalf("behind the block of %d bytes is %v", n, sp)
		}
		h.Purge() // Else the next round would clear what this one gave up.
	}
	h.Free(b)
	h.Purge()
	if n := h.mapBytes - before; n > int64(16*vmem.PageSize()) { // Of the ends at five lengths.
		t.Errorf("%d bytes of page map are left", n)
	}
}

// TestGrowingTypedSlice: a slice of bools that grows by 8 KiB a step has address space of its own
// at each step, which keeps its type. It must not take a page map for all of it.
func TestGrowingTypedSlice(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	k := h.newKind(nil, describe[bool]())
	steps := uintptr(200 + 1000*is64Int) // 5.6 GiB of address space, 5.6 MiB of entries.
	last := uintptr(0)
	for n := uintptr(9); n < steps; n++ {
		addr, err := h.allocLarge(k, n*granule, 8, true)
		if err != nil {
			t.Fatal(err)
		}
		if last != 0 {
			h.freeSlow(last, nil, "Free")
		}
		last = addr
	}
	if s, most := h.stats(), int64(metaChunk+32*vmem.PageSize()); s.Metadata > most+int64(vmem.PageSize()) {
		t.Errorf("%+v: %d bytes of records for one block, want %d at most", s, s.Metadata, most)
	}
}

// TestAbsurdSizes: what no machine has is refused, at once and without traces.
func TestAbsurdSizes(t *testing.T) {
	needOwnMemory(t)
	if !is64 || vmem.MachineMemory() > 1<<39 {
		t.Skip("the system promises any size")
	}
	fake := &fakemem.Fake{}
	h := releasedHeap(t, fake)
	if _, err := h.TryAlloc(100 << 10); err != nil {
		t.Fatal(err)
	}
	before, calls := h.stats(), fake.Calls()
	for shift := 40; shift < 63; shift++ {
		for _, n := range []int{1 << shift, 1<<shift - 1, 1<<shift + 12345} {
			b, err := h.TryAlloc(n)
			if !errors.Is(err, ErrOutOfMemory) || errors.Is(err, ErrLimit) {
				t.Fatalf("%d bytes: %d bytes and %v", n, len(b), err)
			}
			if !strings.Contains(err.Error(), "the machine has") && !strings.Contains(err.Error(), errTooLarge.Error()) {
				t.Errorf("%d bytes: %v does not say why", n, err)
			}
		}
	}
	if now := h.stats(); now.Metadata != before.Metadata || now.Reserved != before.Reserved || fake.Calls() != calls {
		t.Errorf("%d calls to the system; before %+v, after %+v", fake.Calls()-calls, before, now)
	}
}
