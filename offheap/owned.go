// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"reflect"

	"github.com/freehold-go/freehold/internal/owner"
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
	owner.Make, owner.Free, owner.TellLate = makeOwned, freeOwned, panicLate
	owner.Beside = std.blockAround
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
	r := std.serving()
	if r == nil {
		std.freeOwned(addr, op)
		return
	}
	if t != nil {
		r.checkType(op, addr, describeOf(t), false)
	}
	r.freeOnly(addr, op, true)
}

// panicLate panics with what a free of freeOwned has found in another block.
func panicLate() {
	if r := std.serving(); r != nil {
		r.panicLate()
	}
}

// blockAround is owner.Beside.
func (h *heap) blockAround(addr uintptr) (begin uintptr, ok bool) {
	t := h.serving()
	if t == nil {
		return 0, false
	}
	b, ok := t.blocks.containing(addr)
	return b.addr, ok
}

func describeOf(t reflect.Type) *typeDesc { return types.Find(typeinfo.KeyOf(t), t) }
