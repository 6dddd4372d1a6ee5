// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"
	"sync/atomic"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A slabServer serves a heap's blocks from its slabs. Sampled blocks on guarded pages lie beside the
// slabs, and a tracked has their records. See beside.
type slabServer struct{ h *heap }

func (s slabServer) slabs() *heap { return s.h }

func (s slabServer) alloc(q request) (uintptr, error) {
	h := s.h
	class := classFor(q)
	if class == largeClass {
		if addr := h.guardLarge(q); addr != 0 {
			return addr, nil
		}
		return h.allocLarge(q.kind, q.n, q.align, q.zero)
	}
	addr, err := h.allocSlow(h.bin(q.kind, class), q, 0)
	if err != nil {
		return 0, err
	}
	if q.zero {
		unsafex.Clear(addr, q.n)
	}
	return addr, nil
}

// classFor is the class of the block for q.
func classFor(q request) uint32 {
	if q.align <= 8 && q.n <= sizeclass.Max {
		return sizeclass.Of(q.n)
	}
	if q.align <= slabAlign {
		if c, ok := sizeclass.OfAligned(q.n, q.align); ok {
			return c
		}
	}
	return largeClass
}

func (s slabServer) free(addr uintptr, l *Local, op string, d *typeDesc, one bool) {
	h := s.h
	sp := h.spanOf(addr)
	if sp == nil {
		if t := h.beside(addr); t != nil {
			t.checkType(op, addr, d, one)
		}
		if h.freeGuarded(addr, op) {
			return
		}
		h.misuse(op, addr)
	}
	invariants.Window()
	b := h.binByID(sp.bin)
	if b.kind.owned {
		panic(arenaMisuse(op, addr))
	}
	d.checkBin(op, addr, b)
	if sp.size == 0 {
		h.freeLarge(b, sp, addr, op)
		return
	}
	h.freeSmall(b, sp, addr, l, op)
}

// usable is the number of bytes in the block of the type at addr, its record and its bin. It panics as roomOf
// does.
func (h *heap) usable(op string, addr uintptr, typ reflect.Type) (have uintptr, sp *span, b *bin) {
	if sp = h.spanOf(addr); sp == nil {
		h.misuse(op, addr)
	}
	invariants.Window()
	b = h.binByID(sp.bin)
	if b.kind.owned {
		panic(arenaMisuse(op, addr))
	}
	if sp.size == 0 {
		h.lockLarge(op, sp, addr)
		have = sp.bytes()
		h.mu.Unlock()
	} else {
		have = uintptr(sp.size)
		if i, ok := sp.find(addr); !ok || h.isFree(sp, i) {
			h.misuse(op, addr)
		}
	}
	if b.kind.typ != typ {
		panic(fieldMisuse(op, addr, b.kind.typ))
	}
	return have, sp, b
}

func (s slabServer) resize(op string, addr, old, n uintptr, typ reflect.Type) (uintptr, *kind) {
	h := s.h
	if t := h.beside(addr); t != nil {
		return t.resize(op, addr, old, n, typ)
	}
	have, sp, b := h.usable(op, addr, typ)
	k := b.kind.self()
	invariants.Window()
	if sp.size == 0 {
		if n <= sizeclass.Max {
			return 0, k
		}
		return h.resizeLarge(op, b, sp, addr, old, n), k
	}
	if n > have || n < have/2 {
		return 0, k
	}
	if lo, hi := k.cleared(old, n, have); lo < hi {
		h.clearSmall(op, b, sp, addr, lo, hi)
	}
	return have, k
}

// clearSmall is clear for a block in a slab of b.
func (h *heap) clearSmall(op string, b *bin, sp *span, addr, lo, hi uintptr) {
	b.mu.Lock() // Keeps the slab from being taken apart, if the block was freed after the caller's look-up.
	i, ok := sp.find(addr)
	if ok = ok && h.spanOf(addr) == sp && !h.isFree(sp, i); ok {
		invariants.Window()
		unsafex.Clear(addr+lo, hi-lo)
	}
	b.mu.Unlock()
	if !ok {
		h.misuse(op, addr)
	}
}

func (s slabServer) clear(op string, addr, lo, hi uintptr) {
	h := s.h
	if t := h.beside(addr); t != nil {
		t.clear(op, addr, lo, hi)
		return
	}
	sp := h.spanOf(addr)
	if sp == nil {
		h.misuse(op, addr)
	}
	invariants.Window()
	switch b := h.binByID(sp.bin); {
	case b.kind.owned:
		panic(arenaMisuse(op, addr))
	case sp.size == 0:
		h.clearLarge(op, sp, addr, lo, hi)
	case hi > uintptr(sp.size): // Another block by now.
		h.misuse(op, addr)
	default:
		h.clearSmall(op, b, sp, addr, lo, hi)
	}
}

func (s slabServer) roomFor(addr uintptr, q request) uintptr {
	if s.h.regionOf(addr) == nil {
		return q.n // It lies beside the slabs.
	}
	if class := classFor(q); class != largeClass {
		return sizeclass.Size(class)
	}
	return roundUp(q.n, granule)
}

func (s slabServer) roomOf(op string, addr uintptr, typ reflect.Type) (uintptr, *kind) {
	if t := s.h.beside(addr); t != nil {
		return t.roomOf(op, addr, typ)
	}
	have, _, b := s.h.usable(op, addr, typ)
	return have, b.kind.self()
}

func (s slabServer) kindOf(addr uintptr) *kind {
	if t := s.h.beside(addr); t != nil {
		return t.kindOf(addr)
	}
	if sp := s.h.spanOf(addr); sp != nil {
		return s.h.binByID(sp.bin).kind.self()
	}
	return nil
}

// beginOf is the first byte of the block that addr lies in, whether that is in use or not, or 0. If
// the slab is taken apart meanwhile, the result is any number: the caller must look it up.
func (s slabServer) beginOf(addr uintptr) uintptr {
	sp := s.h.spanOf(addr)
	if sp == nil {
		return 0
	}
	begin := sp.base
	invariants.Window()
	if sp.size != 0 {
		i, _ := sp.find(addr)
		begin += uintptr(i) * uintptr(sp.size)
		if begin > addr {
			begin -= uintptr(sp.size) // The quotient is exact for multiples alone.
		}
	}
	return begin
}

func (s slabServer) covers(addr uintptr) bool {
	sp := s.h.spanOf(addr)
	if sp == nil {
		t := s.h.beside(addr)
		return t != nil && t.covers(addr)
	}
	if sp.state.Load() == spanDead {
		return false
	}
	if sp.size == 0 {
		return true
	}
	invariants.Window()
	i := uint32((addr - sp.base) / uintptr(sp.size))
	return i < uint32(sp.blocks) && !s.h.isFree(sp, i)
}

func (s slabServer) refTo(addr uintptr) uint64 {
	r := s.h.regionOf(addr)
	if r != nil && addr-r.base < r.used.Load() {
		return uint64(addr-r.base) + r.refStart
	}
	if addr == zeroSizeAddr() {
		return refZeroSize
	}
	if t := s.h.beside(addr); t != nil {
		return t.refTo(addr) | guardedRef
	}
	s.h.misuse("RefOf", addr)
	return 0
}

func (s slabServer) resolve(off uint64, d *typeDesc, n uintptr) uintptr {
	if addr, ok := s.h.resolveGuarded(off, d, n); ok {
		return addr
	}
	for i := range int(s.h.nregions.Load()) {
		r := &s.h.regions[i]
		if off < r.refStart || off-r.refStart >= uint64(r.used.Load()) {
			continue
		}
		in := uintptr(off - r.refStart)
		if r.typed != d.typed || d.size > r.used.Load()-in || in&(d.align-1) != 0 ||
			(d.typed || n > 0) && !s.h.holds(r.base+in, d, max(n, 1)) {
			break
		}
		return r.base + in
	}
	panic(badRef(off, d, uint64(n)))
}

// holds says whether n values of d, whose size is not 0, lie at addr in one block of their kind. Of a
// typed type an element of a block must begin there.
//
// If the block is freed meanwhile, the record may serve another span of its bin between two reads. So holds
// reads once what changes, and begins again if it has changed.
func (h *heap) holds(addr uintptr, d *typeDesc, n uintptr) bool {
	for {
		sp := h.spanOf(addr)
		if sp == nil || sp.state.Load() == spanDead {
			return false
		}
		base, granules := atomic.LoadUintptr(&sp.base), atomic.LoadUint32(&sp.granules)
		invariants.Window()
		b := h.binByID(sp.bin)
		in, size := addr-base, uintptr(granules)*granule
		ok := b.kind.typ == d.kind.typ && in < size
		if ok && b.size != 0 {
			ok = in/uintptr(b.size) < uintptr(b.blocks)
			in, size = in%uintptr(b.size), uintptr(b.size)
		}
		invariants.Window()
		if h.still(sp, base, addr) && atomic.LoadUint32(&sp.granules) == granules {
			return ok && (!d.typed || in%d.size == 0) && n <= (size-in)/d.size
		}
	}
}

func (s slabServer) stats() Stats {
	h := s.h
	byPurpose := map[*purposeState]int64{}
	var st Stats
	h.mu.Lock()
	for _, b := range *h.bins.Load() {
		n := h.inUse(b)
		byPurpose[b.kind.purpose] += n
		st.InUse += n
	}
	st.Limit, st.LocalsDropped = h.limit.Load(), h.localsDropped.Load()
	var used int64
	for i := range int(h.nregions.Load()) {
		used += int64(h.regions[i].used.Load())
	}
	dirty := h.purge.freshBytes + h.purge.staleBytes - h.purge.halfBytes
	st.Held, st.Reserved, st.Metadata = h.held.Load(), used, h.meta.bytes+h.mapBytes
	st.Retained = max(0, st.Held-st.InUse-h.purge.idle.Load()+dirty)
	st.Purged = max(0, used-(st.InUse-h.besideBytes)-st.Retained)
	st.Reserved += h.besideBytes
	for _, p := range h.purposesLocked() {
		st.Purposes = append(st.Purposes, PurposeStats{Name: p.name, InUse: byPurpose[p], Held: p.held.Load(), Limit: p.limit.Load()})
	}
	h.mu.Unlock()
	return st
}

func (s slabServer) totals() freehold.Totals { return s.stats().totals() }

func (s slabServer) check() error {
	if s.h.guards == nil {
		return nil
	}
	return s.h.guards.check()
}

func (s slabServer) purge() { s.h.purge.run(true) }
