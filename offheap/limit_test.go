package offheap

import (
	"errors"
	"testing"

	"github.com/freehold-go/freehold/internal/vmem"
)

// TestLimitMeanwhile: a request at a limit is refused while another one, which fills the limit, is
// still being served: large blocks, growth in place, and secret blocks.
func TestLimitMeanwhile(t *testing.T) {
	needOwnMemory(t)
	const block, limit = 60 << 20, 100 << 20
	for _, c := range []struct {
		name string
		fill func(h *heap) error
	}{
		{"Alloc", func(h *heap) error {
			_, err := h.allocLarge(h.plain, block, 8, false)
			return err
		}},
		{"Realloc", func(h *heap) error {
			addr, err := h.allocLarge(h.plain, block, 8, false)
			if err == nil && !(h.server().resize("Realloc", addr, block, 1<<20, nil) && h.server().resize("Realloc", addr, 1<<20, block, nil)) {
				err = errors.New("the block cannot grow")
			}
			return err
		}},
		{"a secret block", func(h *heap) error {
			h.secrets.Store(newTracked(h))
			_, err := h.secrets.Load().alloc(request{kind: h.newKind(&purposeState{options: PurposeOptions{Secret: true}}, nil), n: block, align: 8})
			return err
		}},
	} {
		var h *heap
		var meanwhile []error
		again := func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.held >= block {
				meanwhile = append(meanwhile, h.checkLimit(h.bin(h.plain, largeClass), block))
			}
		}
		fake := &vmem.Fake{}
		h = releasedHeap(t, fake).heap
		h.mem = hookedMemory{h.mem, again}
		h.limit.Store(limit)
		h.growthHook = again
		if err := c.fill(h); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if len(meanwhile) == 0 {
			t.Errorf("%s: nothing was asked for meanwhile", c.name)
		}
		for _, err := range meanwhile {
			if !errors.Is(err, ErrLimit) {
				t.Errorf("%s: of a limit of %d bytes, of which %d are being allocated, %d more are granted", c.name, limit, block, block)
			}
		}
		if n := h.stats().InUse; n != block {
			t.Errorf("%s: %d bytes are in use, want %d", c.name, n, block)
		}
	}
}

// hookedMemory calls a function while a secret block is made, and locks nothing.
type hookedMemory struct {
	vmem.Memory
	secure func()
}

func (m hookedMemory) Secure(_, _ uintptr) (vmem.Secrecy, error) {
	m.secure()
	return vmem.Secrecy{}, nil
}
