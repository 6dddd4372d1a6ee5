// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold/internal/sanitize"
)

// This file finds frees that name the right address and the wrong type: Delete(&p.first), which has
// the address of p, and Delete of a pointer that unsafe code converted.
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
func (t *tracked) checkType(op string, addr uintptr, d *typeDesc, one bool) {
	b, wrong := t.holdsOther(addr, d, one)
	if !wrong {
		return
	}
	if b.kind.owned {
		panic(arenaMisuse(op, addr))
	}
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

// holdsOther says whether the block at addr is known to hold something else than values of d, nil for
// bytes, or than one value of d, and returns the block.
func (t *tracked) holdsOther(addr uintptr, d *typeDesc, one bool) (b block, other bool) {
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
	t := h.records()
	if t == nil {
		return
	}
	if b, other := t.holdsOther(addr, d, false); other {
		if b.kind.owned {
			panic(arenaMisuse(op, addr))
		}
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
	if k := h.kindOf(addr); k != nil && k.owned {
		panic(arenaMisuse(op, addr))
	}
	e := &MisuseError{Op: op, Addr: addr, Kind: "consumed slice",
		Detail: "its capacity is 0, because it was cut to the end of its block, which is still allocated; free the slice that Alloc, MakeSlice or Append returned"}
	if t := h.records(); t.marked() {
		b, _ := t.blocks.containing(addr)
		r := misuseReport(e.Kind, fmt.Sprintf("%s of a slice of capacity 0, cut from a %s", op, b.known()), op, addr, b.known())
		r.Advice = "Free the slice that Alloc, MakeSlice or Append returned, and cut a copy of it."
		e = newMisuse(op, r)
	}
	panic(e)
}
