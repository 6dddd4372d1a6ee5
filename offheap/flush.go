package offheap

import (
	"runtime"

	"github.com/freehold-go/freehold/internal/percpu"
)

// flushPs takes back what the Ps have checked out. It is for the rare moments when free blocks
// must be found wherever they are: Purge, and a limit or the end of memory.
//
// The fast paths have no lock that could keep them out. But each asks first for its
// P's slots. So noSlots are put in their place, and then the world is stopped for a moment: a
// goroutine that asked before is pinned, which keeps the world from stopping until it has finished
// (GC-3), or, with the fallback of percpu, says that it is busy, and is passed over. Whoever asks
// afterwards takes the slow way and waits in makeCache for this to end.
func (h *heap) flushPs() {
	h.flushMu.Lock()
	defer h.flushMu.Unlock()
	h.closePs(h.nps)
	runtime.ReadMemStats(&h.memStats)
	for id := range h.nps {
		if !percpu.Busy(id) {
			h.emptyCache(h.cache(id))
		}
		h.open[id].Store(h.caches[id].Load())
	}
}

// emptyCache checks in everything of a holder. The caller has the right to its slots and is not pinned.
func (h *heap) emptyCache(c *slots) {
	for _, b := range *h.bins.Load() {
		if b.id < nullBin && c.bins[b.id].size != 0 {
			h.emptySlot(b, &c.bins[b.id])
		}
	}
}

// worthFlushing says whether free blocks that Ps hold could help b get n more bytes.
func (h *heap) worthFlushing(b *bin, n int64) bool {
	if h.free(b) > 0 {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held-h.inUseOf(nil) >= n
}
