package offheap

import (
	"fmt"
	"reflect"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/sizeclass"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// std is the allocator behind the package's functions. It starts with the first allocation.
var std heap

const (
	// maxAlign is the largest alignment that AllocAligned takes: a huge page.
	maxAlign = 2 << 20
	// slabAlign is the largest alignment that slabs give.
	slabAlign = 4096
)

func (h *heap) start() {
	h.startOnce.Do(func() {
		if h.mem != nil {
			return // Made by newHeap.
		}
		h.mem = vmem.System()
		h.init()
		h.other = chooseTracked(h)
		h.slabs().randomize()
		freehold.Register("offheap", func() freehold.Totals {
			if h.other != nil {
				return h.other.totals()
			}
			return h.stats().totals()
		})
		if every := debugmode.Current().Sample; every > 0 && h.other == nil {
			h.startSampling(every)
		}
		if h.other == nil {
			h.growthHook = freehold.SyncMemoryLimit
		}
	})
}

// A request is one allocation: n bytes of a kind.
type request struct {
	kind  *kind
	desc  *typeDesc // Of the values that it is for, nil for bytes.
	n     uintptr
	align uintptr
	zero  bool
	local *Local
}

// allocate serves any request. The result is the address of at least n bytes.
func (h *heap) allocate(q request) (uintptr, error) {
	h.start()
	if q.kind.verify {
		q.kind.purpose.tellLate()
	}
	if h.other != nil {
		return h.other.alloc(q)
	}
	if q.kind.secret {
		return h.secrets.Load().alloc(q)
	}
	class := uint32(largeClass)
	if q.align <= 8 && q.n <= sizeclass.Max {
		class = sizeclass.Of(q.n)
	} else if q.align <= slabAlign {
		if c, ok := sizeclass.OfAligned(q.n, q.align); ok {
			class = c
		}
	}
	if class == largeClass {
		if addr := h.guardLarge(q); addr != 0 {
			return addr, nil
		}
		return h.allocLarge(q.kind, q.n, q.align, q.zero)
	}
	b := h.bin(q.kind, class)
	addr, err := h.allocSlow(b, q, 0)
	if err != nil {
		return 0, err
	}
	if q.kind.verify {
		h.checkAllocated(addr)
	}
	if q.zero {
		unsafex.Clear(addr, q.n)
	}
	return addr, nil
}

// allocBytes is allocate for a slice of bytes.
func (h *heap) allocBytes(op string, n int, q request) ([]byte, error) {
	if n < 0 {
		panic(fmt.Errorf("offheap: %s: negative length %d", op, n))
	}
	if n == 0 {
		return unsafex.Bytes(zeroSizeAddr(), 0), nil
	}
	q.n = uintptr(n)
	addr, err := h.allocate(q)
	if err != nil {
		return nil, err
	}
	return unsafex.Bytes(addr, q.n), nil
}

// realloc is TryRealloc.
func (h *heap) realloc(b []byte, n int) ([]byte, error) {
	if n < 0 {
		panic(fmt.Errorf("offheap: Realloc: negative length %d", n))
	}
	if cap(b) == 0 {
		return h.allocBytes("Realloc", n, h.request(8, true))
	}
	addr := unsafex.SliceAddr(b)
	if n == 0 {
		h.freeSlow(addr, nil, "Realloc")
		return h.allocBytes("Realloc", 0, request{})
	}
	if h.resize("Realloc", addr, uintptr(len(b)), uintptr(n), nil) {
		return unsafex.Bytes(addr, uintptr(n)), nil
	}
	q := h.requestLike(addr)
	q.zero = n >= sparseFrom // Most of it is fresh from the machine, and so zero without a write.
	to, err := h.allocBytes("Realloc", n, q)
	if err != nil {
		return nil, err
	}
	allowCopy(b)
	if k := copy(to, b); !q.zero {
		clearRest(to, k)
	}
	h.freeSlow(addr, nil, "Realloc")
	return to, nil
}

// usable is the number of bytes in the block at addr, which must begin one that is in use.
func (h *heap) usable(op string, addr uintptr) (uintptr, *span) {
	sp := h.spanOf(addr)
	if sp == nil {
		h.misuse(op, addr, nil)
	}
	if sp.size == 0 {
		refuseOwned(op, addr)
		if addr != sp.base {
			h.misuse(op, addr, sp)
		}
		return sp.bytes(), sp
	}
	if i, ok := sp.find(addr); !ok || h.isFree(sp, i) {
		h.misuse(op, addr, sp)
	}
	return uintptr(sp.size), sp
}

// resize makes the block at addr hold n bytes where it is, if that is possible and not a waste.
// Bytes from old on are zero afterwards. It panics if the block is not of the type, nil for plain
// memory: a slice of the first field of a value has the block's address, but more elements would
// lie over the other fields, and those may be bools.
func (h *heap) resize(op string, addr, old, n uintptr, typ reflect.Type) bool {
	if h.other != nil {
		return h.other.resize(op, addr, old, n, typ)
	}
	if t := h.sampledPages(addr); t != nil {
		return t.resize(op, addr, old, n, typ)
	}
	have, sp := h.usable(op, addr)
	b := h.binByID(sp.bin)
	if b.kind.typ != typ {
		panic(fieldMisuse(op, addr, b.kind.typ))
	}
	if sp.size == 0 {
		return n > sizeclass.Max && h.resizeLarge(op, b, sp, addr, old, n)
	}
	if n > have || n < have/2 {
		return false
	}
	switch {
	case old < n:
		unsafex.Clear(addr+old, n-old)
	case n < old && b.kind.wipe:
		unsafex.Clear(addr+n, have-n)
	}
	return true
}
