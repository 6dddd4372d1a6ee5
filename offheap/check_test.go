// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"strings"
	"testing"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/checks/testenv"
	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// TestChecks breaks each invariant of a heap of its own and expects the check that stands for it to
// say so.
func TestChecks(t *testing.T) {
	needChecks(t)
	for _, c := range []struct {
		name, want string
		harm       func(h testHeap, block []byte, sp *span)
		then       func(h testHeap, block []byte, sp *span)
	}{
		{"page map", "does not lead from granule", func(h testHeap, _ []byte, sp *span) {
			*h.regionOf(sp.base).pages.entryAt(0, (sp.base-h.regionOf(sp.base).base)/granule+1) = 0
		}, purgeAll},
		{"span of another bin", "and not like bin", func(_ testHeap, _ []byte, sp *span) { sp.blocks-- }, purgeAll},
		{"bytes held", "counted were", func(h testHeap, _ []byte, _ *span) { h.held.Add(1) }, purgeAll},
		{"negative count", "negative", func(h testHeap, _ []byte, _ *span) { h.held.Store(-1 << 40) }, purgeAll},
		{"spans of a bin", "spans; counted were", func(h testHeap, _ []byte, sp *span) { h.binByID(sp.bin).slabs.Add(1) }, purgeAll},
		{"free granule of a span", "count as free", func(h testHeap, _ []byte, sp *span) {
			r := h.regionOf(sp.base)
			r.runs.set(int((sp.base-r.base)/granule), 1, true)
		}, purgeAll},
		{"tree", "of its free granules", func(h testHeap, _ []byte, sp *span) { h.regionOf(sp.base).runs.tree[1].max-- }, purgeAll},
		{"lost granule", "neither free nor", func(h testHeap, _ []byte, sp *span) {
			r := h.regionOf(sp.base)
			b, _ := h.TryAlloc(1 << 20)
			at := addrOf(b)
			h.Free(b)
			h.purge.run(true)
			r.runs.set(int((at-r.base)/granule), 1, false)
		}, purgeAll},
		{"bytes to purge", "freed lately", func(h testHeap, _ []byte, _ *span) { h.purge.freshBytes += granule }, func(h testHeap, _ []byte, _ *span) { h.purge.run(false) }},
		{"beyond what was handed out", "lies outside", func(h testHeap, _ []byte, sp *span) {
			sp.granules += 1 << 20
		}, func(h testHeap, _ []byte, sp *span) { h.freeSpan(h.binByID(sp.bin), sp) }},
		{"block in use in a freed slab", "is taken apart", func(testHeap, []byte, *span) {}, func(h testHeap, _ []byte, sp *span) { h.freeSpan(h.binByID(sp.bin), sp) }},
		// Holders share the slab, so it is in the list.
		{"list", "is in the list", func(_ testHeap, _ []byte, sp *span) { sp.state.Store(spanCurrent) }, func(h testHeap, _ []byte, sp *span) { h.binByID(sp.bin).remove(sp) }},
		{"neighbours", "do not lead to it", func(h testHeap, _ []byte, sp *span) { h.binByID(sp.bin).list = 0 }, func(h testHeap, _ []byte, sp *span) { h.binByID(sp.bin).remove(sp) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := releasedHeap(t, &fakemem.Fake{})
			block, err := h.TryAlloc(100)
			if err != nil {
				t.Fatal(err)
			}
			sp := h.spanOf(addrOf(block))
			c.harm(h, block, sp)
			testenv.ExpectBroken(t, c.want, func() { c.then(h, block, sp) })
		})
	}
}

func purgeAll(h testHeap, _ []byte, _ *span) { h.purge.run(true) }

// TestSlotChecks does the same to the slot of a Local.
func TestSlotChecks(t *testing.T) {
	needChecks(t)
	for _, c := range []struct {
		want string
		harm func(h *heap, s *slot, sp *span)
	}{
		{"blocks of its bin", func(_ *heap, s *slot, _ *span) { s.magic++ }},
		{"another bin's", func(_ *heap, s *slot, sp *span) { sp.state.Store(spanUnlisted) }},
		{"has no group", func(_ *heap, s *slot, _ *span) { s.base = 0 }},
		{"lies in no slab", func(_ *heap, s *slot, _ *span) { s.base = 4096 }},
		{"not those of one group", func(_ *heap, s *slot, _ *span) { s.last++ }},
		{"that the group has not", func(_ *heap, s *slot, _ *span) { s.setMask(1 << 31) }},
		{"another holder's", func(_ *heap, s *slot, _ *span) {
			v := unsafex.Load64(s.word)
			unsafex.CAS64(s.word, v, v+1<<holderShift)
		}},
	} {
		h := releasedHeap(t, &fakemem.Fake{})
		l := openLocal(t, h)
		q := h.request(8, false)
		q.local = l
		l.cache.slot(h.bin(h.plain, sizeclass.Of(1000))).asks = rareAsks // It gets a slab.
		block, err := h.allocBytes("AllocUninit", 1000, q)
		if err != nil {
			t.Fatal(err)
		}
		sp := h.spanOf(addrOf(block))
		b := h.binByID(sp.bin)
		if fault := h.slotFault(b, l.cache, l.id); fault != "" {
			t.Fatalf("a slot in order: %s", fault)
		}
		c.harm(h.heap, &l.cache.bins[b.id], sp)
		fault := h.slotFault(b, l.cache, l.id)
		if !strings.Contains(fault, c.want) {
			t.Errorf("the check says %q, want %q", fault, c.want)
		}
		testenv.ExpectBroken(t, c.want, func() { checkSlot(b, fault) })
	}
}

func needChecks(t *testing.T) {
	t.Helper()
	needOwnMemory(t)
	if !invariants.Enabled {
		t.Skip("the checks are not compiled in; see the build tag invariants")
	}
}
