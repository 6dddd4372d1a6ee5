// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// allocate serves any request. The result is the address of at least q.n bytes.
func (h *heap) allocate(q request) (uintptr, error) {
	h.start()
	if t := h.records(); t != nil {
		return t.alloc(q)
	}
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

// freeAs is freeSlow for values of d, nil for bytes; one says that it is for one value and not
// for a slice. It frees the block at addr, or panics and names the fault of the address.
//
//go:noinline
func (h *heap) freeAs(addr uintptr, l *Local, op string, d *typeDesc, one bool) {
	if t := h.records(); t != nil {
		t.free(addr, op, d, one)
		return
	}
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

// resize makes the block at addr hold n bytes where it is. Bytes from old on are zero afterwards. The
// result is what roomOf says of the block then, or 0 bytes if that is impossible or a waste.
func (h *heap) resize(op string, addr, old, n uintptr, typ reflect.Type) (room uintptr, k *kind) {
	if t := h.recordsOf(addr); t != nil {
		return t.resize(op, addr, old, n, typ)
	}
	have, sp, b := h.usable(op, addr, typ)
	k = b.kind.self()
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

// clear clears the bytes from lo on and below hi of the block at addr, as a part of op. It panics if the
// block was freed meanwhile.
func (h *heap) clear(op string, addr, lo, hi uintptr) {
	if t := h.recordsOf(addr); t != nil {
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

// roomFor is the number of bytes, at least, that the block at addr can hold, which allocate has made for
// q. It looks up nothing that a free of a stale slice may have changed.
func (h *heap) roomFor(addr uintptr, q request) uintptr {
	if h.records() != nil || h.regionOf(addr) == nil {
		return q.n // It lies beside the slabs.
	}
	if class := classFor(q); class != largeClass {
		return sizeclass.Size(class)
	}
	return roundUp(q.n, granule)
}

// roomOf is the number of bytes that the block at addr can hold, and its kind. It panics if addr begins
// no block that the program may resize, or one that is not of the type, nil for plain memory: a slice of
// the first field of a value has the block's address, but more elements would lie over the other
// fields, and those may be bools.
func (h *heap) roomOf(op string, addr uintptr, typ reflect.Type) (room uintptr, k *kind) {
	if t := h.recordsOf(addr); t != nil {
		return t.roomOf(op, addr, typ)
	}
	have, _, b := h.usable(op, addr, typ)
	return have, b.kind.self()
}

// kindOf is the kind of the block at addr, or nil.
func (h *heap) kindOf(addr uintptr) *kind {
	if t := h.recordsOf(addr); t != nil {
		return t.kindOf(addr)
	}
	if sp := h.spanOf(addr); sp != nil {
		return h.binByID(sp.bin).kind.self()
	}
	return nil
}

// beginOf is the first byte of the block that addr lies in, whether that is in use or not, or 0. If
// the slab is taken apart meanwhile, the result is any number: the caller must look it up.
func (h *heap) beginOf(addr uintptr) uintptr {
	sp := h.spanOf(addr)
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

// covers says whether addr lies in a block that is in use.
func (h *heap) covers(addr uintptr) bool {
	if t := h.recordsOf(addr); t != nil {
		return t.covers(addr)
	}
	sp := h.spanOf(addr)
	if sp == nil {
		return false
	}
	if sp.state.Load() == spanDead {
		return false
	}
	if sp.size == 0 {
		return true
	}
	invariants.Window()
	i := uint32((addr - sp.base) / uintptr(sp.size))
	return i < uint32(sp.blocks) && !h.isFree(sp, i)
}

// refTo is RefOf for an address that is not in the first region. It panics if addr lies in no block.
//
//go:noinline
func (h *heap) refTo(addr uintptr) uint64 {
	if t := h.records(); t != nil {
		return t.refTo(addr)
	}
	r := h.regionOf(addr)
	if r != nil && addr-r.base < r.used.Load() {
		return uint64(addr-r.base) + r.refStart
	}
	if addr == zeroSizeAddr() {
		return refZeroSize
	}
	if t := h.beside(addr); t != nil {
		return t.refTo(addr) | guardedRef
	}
	h.misuse("RefOf", addr)
	return 0
}

// locate is the address of the value of d that a Ref with this offset leads to, or, if n is not 0, of n
// values in one block, to which a SliceRef does. It panics if there are none.
func (h *heap) locate(off uint64, d *typeDesc, n uintptr) uintptr {
	if t := h.records(); t != nil {
		return t.resolve(off, d, n)
	}
	if addr, ok := h.resolveGuarded(off, d, n); ok {
		return addr
	}
	for i := range int(h.nregions.Load()) {
		r := &h.regions[i]
		if off < r.refStart || off-r.refStart >= uint64(r.used.Load()) {
			continue
		}
		in := uintptr(off - r.refStart)
		if r.typed != d.typed || d.size > r.used.Load()-in || in&(d.align-1) != 0 ||
			(d.typed || n > 0) && !h.holds(r.base+in, d, max(n, 1)) {
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

func (h *heap) stats() Stats {
	if t := h.records(); t != nil {
		return t.stats()
	}
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
