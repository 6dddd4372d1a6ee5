// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// freeSlow frees the block at addr, whatever its bin, or panics and names the mistake.
func (h *heap) freeSlow(addr uintptr, l *Local, op string) { h.freeAs(addr, l, op, nil, false) }

// freeAs is freeSlow for values of d, nil for bytes; one says that it is for one value and not
// for a slice. It frees the block at addr, or panics and names the fault of the address.
//
//go:noinline
func (h *heap) freeAs(addr uintptr, l *Local, op string, d *typeDesc, one bool) {
	if t := h.serving(); t != nil {
		t.free(addr, op, d, one)
		return
	}
	sp := h.spanOf(addr)
	if sp == nil {
		if t := h.sampledGuard(addr); t != nil {
			t.checkType(op, addr, d, one)
		}
		if h.freeGuarded(addr, op) {
			return
		}
		h.misuse(op, addr)
	}
	invariants.Window()
	b := h.binByID(sp.bin)
	d.checkBin(op, addr, b)
	if sp.size == 0 {
		h.freeLarge(b, sp, addr, op)
		return
	}
	h.freeSmall(b, sp, addr, l, op)
}

// freeSmall frees the block at addr, which lies in a slab of b.
func (h *heap) freeSmall(b *bin, sp *span, addr uintptr, l *Local, op string) {
	remember := b.forget(addr)
	var f freeing
	wipes := b.kind.wipe && !b.kind.typed()
	if wipes {
		b.mu.Lock() // No slab is taken apart while a block is cleared that a second free has named.
	}
	pin, id, c := h.enter(l)
	how := f.free(h, addr, sp, b, id, c)
	fault := h.slotFault(b, c, id)
	leave(pin, l)
	if wipes {
		b.mu.Unlock()
	}
	checkSlot(b, fault)
	if f.left != 0 {
		h.afterFree(f.left)
	}
	if how != freedBlock {
		if how != freedTwice { // Then the record is that of another block by now.
			remember()
		}
		h.misuse(op, addr)
	}
	if f.freed != 0 {
		h.afterFree(f.freed)
	}
}

// freeing makes a block free. It leaves the slabs that the caller must return afterwards, or 0:
// that which the holder's slot has left and that in whose word the block is free now.
type freeing struct {
	left, freed uintptr
}

// free makes the block at addr free. The holder is pinned.
//
// The life cycle of a free:
//
//  1. Find the span, the block's number, its group and its bit, and read the group's word. Every
//     check is made anew against this one reading, because the slab may have changed since the
//     caller looked it up. If the slab has changed meanwhile, begin again.
//  2. If the bit is set in the word, the block is free: a double free.
//  3. If no holder has the group and another free into it is likely, check the group out in place
//     of the slot's own. The block is one of the slot's free blocks then, and the free is done.
//  4. If the caller's slot holds the group, set the bit in the slot's mask, and the free is done.
//  5. If another holder has the group, look for the bit in that holder's mask: a double free, too.
//     If mask and word cannot be read together, begin again.
//  6. Clear the block if its kind is wiped, and set the bit in the word by compare-and-swap. If the
//     word has changed since step 1, begin again. A second free may clear the block, too, before it
//     finds out. So the caller keeps the slab from being taken apart, and the block is one of the
//     kind.
func (f *freeing) free(h *heap, addr uintptr, sp *span, b *bin, id int, c *cache) freed {
	for ; ; sp = h.spanOf(addr) {
		if sp == nil || sp.bin != b.id {
			return freedGone
		}
		base := atomic.LoadUintptr(&sp.base)
		invariants.Window()
		i, ok := sp.findFrom(base, addr)
		if !ok && h.still(sp, base, addr) {
			return freedInterior
		} else if !ok {
			continue
		}
		g, bit := i>>sp.shift, uint32(1)<<(i&(1<<sp.shift-1))
		w := sp.word(g)
		v := unsafex.Load64(w)
		invariants.Window()
		if !h.still(sp, base, addr) {
			continue // The slab was taken apart meanwhile; v may belong to another, which has the same record.
		}
		invariants.Window()
		if freeBits(v)&bit != 0 {
			return freedTwice
		}
		s := c.warm(b)
		switch holder := holderOf(v); {
		case holder == 0 && s != nil && sp.shift >= 3 && s.worthCheckOut(w):
			if s.base-base < uintptr(b.granules)*granule { // The slot keeps that slab from being taken apart.
				s.checkIn(h, sp) // To a neighbour. It does not have to leave.
			} else if a := s.leave(h); a != 0 { // Not in a second round, when the slot is empty.
				f.left = a
			}
			s.miss = uint32(w)
			if s.checkOut(h, sp, g, v, bit, id+1) {
				if s.wipe {
					s.clear(addr)
				}
				return freedBlock
			}
			if s.uncounted { // The slot is empty now.
				s.countFull(sp)
				f.left = sp.addr()
			}
			continue
		case holder == id+1 && s != nil:
			return s.freeOwn(addr)
		case holder != 0 && holder != purger:
			m, ok := h.heldMask(holder-1, b, w)
			if !ok || unsafex.Load64(w) != v {
				continue // The holder changes this moment; the mask may be another group's.
			}
			if m&bit != 0 {
				return freedTwice
			}
		}
		if b.kind.wipe {
			unsafex.Clear(addr, uintptr(b.size))
		}
		invariants.Window()
		if unsafex.CAS64(w, v, v|uint64(bit)) {
			f.freed = sp.addr()
			noteFree(b, s, sp, g, v|uint64(bit))
			return freedBlock
		}
	}
}

// still says whether addr lies in sp, and sp has the base that the caller has read.
func (h *heap) still(sp *span, base, addr uintptr) bool {
	return h.spanOf(addr) == sp && atomic.LoadUintptr(&sp.base) == base
}

// noteFree does the accounts after a free went into the word of group g, now v.
func noteFree(b *bin, s *slot, sp *span, g uint32, v uint64) {
	invariants.Window()
	if n := holderOf(v); (n == 0 || n == purger) && freeBits(v) == sp.mask(g) {
		sp.full.Add(1)
	}
	if s == nil {
		b.out.Add(-1)
		return
	}
	s.count(b, -1)
	s.miss = uint32(sp.word(g))
}

// freeOwned frees the block of an arena at addr.
func (h *heap) freeOwned(addr uintptr, op string) {
	sp := h.spanOf(addr)
	if sp == nil {
		h.freeOwnedGuarded(addr, op)
		return
	}
	invariants.Window()
	b := h.binByID(sp.bin)
	p := percpu.Acquire()
	s := h.pcache(p.ID()).slot(b)
	done := s != nil && s.push(addr)
	if done && s.wipe {
		s.clear(addr)
	}
	p.Release()
	switch {
	case done:
	case sp.size == 0:
		h.freeLarge(b, sp, addr, op)
	default:
		h.freeSmall(b, sp, addr, nil, op)
	}
}

// freeOwnedGuarded is freeOwned for a sampled block on guarded pages.
func (h *heap) freeOwnedGuarded(addr uintptr, op string) {
	t := h.sampledGuard(addr)
	if t == nil {
		h.misuse(op, addr)
	}
	allocsample.Remove(addr)
	t.freeOnly(addr, op, true)
}

// misuse panics with the mistake of op at addr.
func (h *heap) misuse(op string, addr uintptr) {
	if e := ownedMisuse(op, addr); e != nil {
		panic(e)
	}
	for {
		sp, base := h.spanOf(addr), uintptr(0)
		if sp != nil {
			base = atomic.LoadUintptr(&sp.base)
		}
		e := h.diagnose(op, addr, sp, base)
		if sp == nil && h.spanOf(addr) == nil || sp != nil && h.still(sp, base, addr) {
			panic(e) // Else its slab was taken apart meanwhile, and the record serves another.
		}
	}
}

// diagnose names the mistake of passing addr, at which no block begins that is in use, to op. sp is
// the span of addr with its base, or nil.
func (h *heap) diagnose(op string, addr uintptr, sp *span, base uintptr) *MisuseError {
	e := &MisuseError{Op: op, Addr: addr}
	r := h.regionOf(addr)
	switch {
	case r == nil || addr-r.base >= r.used.Load():
		e.Kind, e.Detail = "foreign pointer", foreignDetail(op)
	case sp == nil || sp.state.Load() == spanDead:
		e.Kind, e.Detail = "double free", "the block was freed before, and all of its slab is free; keep one owner for each block"
	case sp.size == 0:
		e.Kind, e.Detail = "interior pointer", fmt.Sprintf("it lies %d bytes into the block of %d bytes at %#x; free the slice that Alloc returned, or a prefix of it", addr-base, sp.bytes(), base)
		if addr == base && sp.state.Load() == spanBusy {
			e.Kind, e.Detail = "double free", "another goroutine allocates or resizes the block at this moment; keep one owner for each block"
		} else if addr == base {
			e.Kind, e.Detail = "double free", "the block was freed before; keep one owner for each block"
		}
	default:
		h.diagnoseSlab(e, sp, base)
	}
	return e
}

func (h *heap) diagnoseSlab(e *MisuseError, sp *span, base uintptr) {
	i, ok := sp.findFrom(base, e.Addr)
	block := base + uintptr(i)*uintptr(sp.size)
	if block > e.Addr { // The division rounds up for some offsets that are no multiples.
		i, block = i-1, block-uintptr(sp.size)
	}
	switch {
	case i >= uint32(sp.blocks):
		e.Kind, e.Detail = "foreign pointer", "it lies behind the last block of a slab, where nothing was ever allocated"
	case !ok && h.isFree(sp, i):
		e.Kind, e.Detail = "interior pointer", fmt.Sprintf("it lies %d bytes into the block of %d bytes at %#x, which is free", e.Addr-block, sp.size, block)
	case !ok:
		e.Kind, e.Detail = "interior pointer", fmt.Sprintf("it lies %d bytes into the block of %d bytes at %#x; free the slice that Alloc returned, or a prefix of it", e.Addr-block, sp.size, block)
	default:
		e.Kind, e.Detail = "double free", fmt.Sprintf("the block of %d bytes was freed before; keep one owner for each block", sp.size)
	}
}

// What follows finds frees that name the right address and the wrong type: Delete(&p.first), which
// has the address of p, and Delete of a pointer that unsafe code converted.
//
// The slabs know the type of a block only if the type has memory of its own, as types with bools
// have, and only on the slow path of a free. The debug modes and the race detector know the type of
// every block. With the kill switch alone there is no check that the slabs do not make: a
// program that works must keep working.

// differs says whether a pointer to a value of one type must not free a value of the other. Types
// with the same underlying type pass, because Go converts pointers to them.
func differs(a, b reflect.Type) bool {
	return a != b && !reflect.PointerTo(a).ConvertibleTo(reflect.PointerTo(b))
}

// checkBin panics if a free of values of d, nil for bytes, is of a block of another type's bin.
func (d *typeDesc) checkBin(op string, addr uintptr, b *bin) {
	if d == nil || b.kind == d.kind || b.kind.typ == d.kind.typ {
		return
	}
	has := b.kind.typ
	if has != nil && d.kind.typ != nil && !differs(has, d.kind.typ) {
		return
	}
	refuseOwned(op, addr)
	name := "other values"
	if has != nil {
		name = has.String()
	}
	panic(&MisuseError{Op: op, Addr: addr, Kind: "wrong type", Detail: fmt.Sprintf(
		"a block for %s begins there, and not one for %s; if the pointer leads to the first field of a value, free the value", name, d.typ)})
}

// checkType panics if a free of values of d, nil for bytes, is of a block that holds something
// else. one says that it is of one value and not of a slice.
func (t *recorder) checkType(op string, addr uintptr, d *typeDesc, one bool) {
	b, wrong := t.holdsOther(addr, d, one)
	if !wrong {
		return
	}
	refuseOwned(op, addr)
	what := d.names.one
	if !one {
		what = d.names.slice
	}
	e := &MisuseError{Op: op, Addr: addr, Kind: "wrong type", Detail: fmt.Sprintf(
		"a block for %s begins there, and not one for %s; if the pointer leads to the first field of a value, free the value", b.holds(), what)}
	if t.marked() {
		r := misuseReport(e.Kind, fmt.Sprintf("%s of a %s in a %s", op, what, b.known()), op, addr, b.known())
		r.Advice = "Free a value by the pointer that New returned, not by one to its first field, and a slice by FreeSlice."
		e = newMisuse(op, r)
	}
	panic(e)
}

// holdsOther says whether the block at addr is known to hold something else than values of d, nil
// for bytes, or than one value of d, and returns the block.
func (t *recorder) holdsOther(addr uintptr, d *typeDesc, one bool) (b block, other bool) {
	if d == nil || !t.modes.Asked() && !sanitize.Enabled && !sanitize.Race {
		return b, false
	}
	b, ok := t.blocks.find(addr)
	if !ok || d.size == 0 {
		return b, false // The free itself reports the mistake.
	}
	return b, differs(b.elem(), d.typ) || one && b.size != d.size
}

// elem is the type of the values in b.
func (b *block) elem() reflect.Type {
	if b.desc == nil {
		return reflect.TypeFor[byte]()
	}
	return b.desc.typ
}

// checkMoved panics if a slice of values of d, nil for bytes, is to be moved, and its block holds
// something else: the move would free the block.
func (h *heap) checkMoved(op string, addr uintptr, d *typeDesc) {
	t := h.serving()
	if t == nil {
		return
	}
	if b, other := t.holdsOther(addr, d, false); other {
		refuseOwned(op, addr)
		panic(fieldMisuse(op, addr, b.elem()))
	}
}

// checkConsumed panics if a free is of a slice of capacity 0 that was cut to the end of a block in
// use: the caller means that block, which would stay allocated.
func (h *heap) checkConsumed(op string, addr uintptr) {
	if addr == 0 || addr == zeroSizeAddr() || !h.covers(addr) {
		return
	}
	refuseOwned(op, addr)
	e := &MisuseError{Op: op, Addr: addr, Kind: "consumed slice",
		Detail: "its capacity is 0, because it was cut to the end of its block, which is still allocated; free the slice that Alloc, MakeSlice or Append returned"}
	if t := h.serving(); t.marked() {
		b, _ := t.blocks.containing(addr)
		r := misuseReport(e.Kind, fmt.Sprintf("%s of a slice of capacity 0, cut from a %s", op, b.known()), op, addr, b.known())
		r.Advice = "Free the slice that Alloc, MakeSlice or Append returned, and cut a copy of it."
		e = newMisuse(op, r)
	}
	panic(e)
}

// covers says whether addr lies in a block that is in use.
func (h *heap) covers(addr uintptr) bool {
	if t := h.recorderOf(addr); t != nil {
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
