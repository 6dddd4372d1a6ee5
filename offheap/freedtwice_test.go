// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/freehold-go/freehold/internal/allocsample"
	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// TestFreedTwiceAtOnce: the holder of a group and another goroutine free a block of it, and each reads before the other
// writes. The block is free once afterwards, in the counts, too.
func TestFreedTwiceAtOnce(t *testing.T) {
	needOwnMemory(t)
	for _, n := range []int{16, 1000, 16 << 10} {
		h := releasedHeap(t, &fakemem.Fake{})
		buf, err := h.allocBytes("Alloc", n, h.request(8, false))
		if err != nil {
			t.Fatal(err)
		}
		addr := addrOf(buf)
		sp := h.spanOf(addr)
		b := h.binByID(sp.bin)
		i, _ := sp.find(addr)
		w, bit := sp.word(i>>sp.shift), uint64(1)<<(i&(1<<sp.shift-1))
		if holderOf(unsafex.Load64(w)) == 0 {
			continue // The size has no slots of its own.
		}
		h.freeSlow(addr, nil, "Free") // By the holder, into its mask.
		v := unsafex.Load64(w)
		if v&bit != 0 || !unsafex.CAS64(w, v, v|bit) { // The other's last steps.
			t.Fatalf("the block of %d bytes is free in the group's word, not in the mask", n)
		}
		b.add(-1)
		h.flushPs()
		if used := inUseOf(h.heap, nil); used != 0 {
			t.Errorf("%d bytes are in use after the flush", used)
		}
		if sp.state.Load() != spanDead {
			t.Errorf("the slab of the block of %d bytes is in state %d, though all is free", n, sp.state.Load())
		}
	}
}

// TestFreesAndResizesAtOnce: two goroutines free a block at the same moment, or one resizes it. Either may get a
// MisuseError, and a block that a resize has moved to may be lost. Nothing worse happens.
func TestFreesAndResizesAtOnce(t *testing.T) {
	unpurged(t)
	needSlabs(t)
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("it takes two Ps")
	}
	const rounds = 4000
	for name, o := range map[string]PurposeOptions{"plain": {}, "wiped": {Wipe: true}} {
		p := NewPurposeWith("freed at once, "+name, o)
		for _, n := range []int{64, 4000, 16 << 10, 100 << 10} {
			var turn, done atomic.Int64
			var block []byte
			go func() {
				for i := int64(1); i <= rounds; i++ {
					for turn.Load() != i {
						runtime.Gosched()
					}
					misused(t, func() { Free(block) })
					done.Store(i)
				}
			}()
			for i := int64(1); i <= rounds; i++ {
				block = p.Alloc(n)
				own := block
				turn.Store(i)
				for range i % 64 { // So that the two meet at all places.
					done.Load()
				}
				if i%2 == 0 {
					misused(t, func() { Free(own) })
				} else {
					misused(t, func() { own = Realloc(own, n*3/4) })
				}
				for done.Load() != i {
					runtime.Gosched()
				}
				if i%2 != 0 {
					misused(t, func() { Free(own) })
				}
			}
		}
	}
	Purge()
}

// TestFreeOfNewLarge: a stale slice leads to where a large block is being made. Its free is a mistake until the block is
// complete.
func TestFreeOfNewLarge(t *testing.T) {
	sampling(t, 1<<30)
	const n = 1 << 20
	stale := Alloc(n)
	Free(stale)
	tried := false
	restore := allocsample.SetSource(func() float64 { // The block is drawn for before it is complete.
		if !tried {
			tried = true
			wantMisuse(t, "a free of a block that is being made", "double free", func() { Free(stale) })
		}
		return 100
	})
	b := Alloc(n)
	restore()
	if !tried || &b[0] != &stale[0] {
		t.Errorf("the block lies at %p, the stale one at %p; freed meanwhile: %v", b, stale, tried)
	}
	Free(b)
}
