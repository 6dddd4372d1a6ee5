// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"

	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Blocks of arenas.
//
// An arena cuts its values from blocks of offheap, and frees the blocks by internal/owner. Its first value
// does not lie at the beginning of the block, so all functions that free, resize or move a block take a
// pointer to a value for an interior pointer, and refuse it. In the debug modes a value is a block of its
// own; there they ask internal/owner whether it is an arena's.

func init() {
	owner.Make, owner.Free, owner.TellLate = makeOwned, freeOwned, tellLate
	owner.Beside = std.besideRegions
}

// makeOwned is owner.Make.
func makeOwned(purpose any, t reflect.Type, n int) (uintptr, error) {
	s := purpose.(*Purpose).state("For")
	q := request{kind: s.plain, n: uintptr(n), align: 8}
	if t != nil {
		d := describeOf(t)
		if uintptr(n) > largestAlloc/d.size {
			return 0, tooMany(uintptr(n), d)
		}
		q = d.request(s, uintptr(n), nil, true)
	}
	if q.n <= sizeclass.Max {
		if addr := std.pop(q.kind, sizeclass.Of(q.n)); addr != 0 {
			if q.zero {
				unsafex.Clear(addr, q.n)
			}
			return addr, nil
		}
	}
	return std.allocate(q)
}

// freeOwned is owner.Free.
func freeOwned(addr uintptr, t reflect.Type) {
	op := "Free"
	if t != nil {
		op = "FreeSlice"
	}
	r := std.records()
	if r == nil {
		std.freeOwned(addr, op)
		return
	}
	if t != nil {
		r.checkType(op, addr, describeOf(t), false)
	}
	r.freeOnly(addr, op, true)
}

// freeOwned frees the block of an arena at addr.
func (h *heap) freeOwned(addr uintptr, op string) {
	sp := h.spanOf(addr)
	if sp == nil {
		h.freeOwnedBeside(addr, op)
		return
	}
	invariants.Window()
	b := h.binByID(sp.bin)
	p := percpu.Acquire()
	s := h.pslots(p.ID()).slot(b)
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

// freeOwnedBeside is freeOwned for a block that lies beside the slabs.
func (h *heap) freeOwnedBeside(addr uintptr, op string) {
	t := h.beside(addr)
	if t == nil {
		h.misuse(op, addr)
	}
	allocsample.Remove(addr)
	t.freeOnly(addr, op, true)
}

// tellLate panics with what a free of freeOwned has found in another block.
func tellLate() {
	if r := std.records(); r != nil {
		r.tellLate()
	}
}

// besideRegions is owner.Beside.
func (h *heap) besideRegions(addr uintptr) (begin uintptr, ok bool) {
	t := h.records()
	if t == nil {
		return 0, false
	}
	b, ok := t.blocks.containing(addr)
	return b.addr, ok
}

func describeOf(t reflect.Type) *typeDesc { return types.Find(typeinfo.KeyOf(t), t) }
