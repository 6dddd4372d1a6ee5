// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/internal/vmem"
)

// std is the allocator behind the package's functions. It starts with the first allocation.
var std heap

func (h *heap) start() {
	h.startOnce.Do(func() {
		if h.mem == nil { // Else newHeap has made it.
			startStd()
		}
	})
}

// startStd starts std. It is setStd; debug.go, which knows the modes, comes after this file.
var startStd func()

func init() { startStd = setStd }

func setStd() {
	h := &std
	h.mem = vmem.System()
	h.init()
	t := chooseTracked(h)
	if t != nil {
		h.tracker.Store(t)
	} else {
		h.growthHook = freehold.SyncMemoryLimit
	}
	freehold.Register("offheap", func() freehold.Totals { return h.totals() })
	if every := debugmode.Current().Sample; every > 0 && t == nil {
		h.startSampling(every)
	}
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
