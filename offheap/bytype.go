// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"

	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

func init() {
	owner.MakeSlice, owner.FreeSlice, owner.Free, owner.TellLate = makeSliceOf, freeSliceOf, freeBytesOf, tellLate
	owner.Beside = std.besideRegions
}

// makeSliceOf is For[T](p).TryMakeSlice(n, n) for a T that is known at run time. The purpose is a
// *Purpose, nil for none.
func makeSliceOf(purpose any, t reflect.Type, n int) (uintptr, error) {
	var o origin
	if p := purpose.(*Purpose); p != nil {
		o.purpose = p.state("For")
	}
	return describeOf(t).makeSlice(o, n, n)
}

// freeSliceOf is FreeSlice of all n elements.
func freeSliceOf(addr uintptr, t reflect.Type, n int) {
	d, r := describeOf(t), std.records()
	switch {
	case d.size == 0 || n == 0:
	case r != nil:
		r.checkType("FreeSlice", addr, d, false)
		r.freeOnly(addr, "FreeSlice")
	default:
		std.freeAs(addr, nil, "FreeSlice", d, false)
	}
}

// freeBytesOf is Free of n bytes.
func freeBytesOf(addr uintptr, n int) {
	if r := std.records(); r != nil {
		r.freeOnly(addr, "Free")
		return
	}
	Free(unsafex.Bytes(addr, uintptr(n)))
}

// tellLate panics with what a free of freeSliceOf or freeBytesOf has found in another block.
func tellLate() {
	if r := std.records(); r != nil {
		r.tellLate()
	}
}

// besideRegions is owner.Beside.
func (h *heap) besideRegions(addr uintptr) (begin uintptr, ok bool) {
	t := h.records()
	if t == nil {
		t = h.secrets.Load()
	}
	if t == nil {
		return 0, false
	}
	if b, ok := t.blocks.containing(addr); ok {
		return b.addr, true
	}
	return 0, h.vault.owns(addr)
}

func describeOf(t reflect.Type) *typeDesc { return types.Find(typeinfo.KeyOf(t), t) }
