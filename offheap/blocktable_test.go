// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"testing"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// trackedAlone is the kill switch's allocator beside whatever serves the package.
func trackedAlone() (*recorder, *kind) {
	h := &heap{}
	t := newRecorder(h)
	h.recorder.Store(t)
	return t, &kind{}
}

// TestBlockTable compares the tables with a list of blocks, for addresses in all parts of them.
func TestBlockTable(t *testing.T) {
	g, k := trackedAlone()
	rng := rand.New(rand.NewPCG(21, 22))
	type block struct{ addr, size uintptr }
	var live []block
	inside := func(addr uintptr) block {
		for _, b := range live {
			if addr-b.addr < b.size {
				return b
			}
		}
		return block{}
	}
	steps := 3000
	if testing.Short() {
		steps = 600 // Each looks at all blocks: a minute under the race detector on a slow machine.
	}
	for step := range steps {
		if len(live) > 0 && (len(live) > 60 || rng.IntN(3) == 0) {
			i := rng.IntN(len(live))
			g.freeBlock(live[i].addr, "Free")
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		} else {
			n := uintptr(1 + rng.IntN(1<<rng.IntN(20)))
			if rng.IntN(4) == 0 {
				n = uintptr(1<<rng.IntN(20) + rng.IntN(3)) // At most a page, a power of two, and a little more.
			}
			addr, err := g.alloc(request{kind: k, n: n, align: 8})
			if err != nil {
				t.Fatal(err)
			}
			live = append(live, block{addr, n})
		}
		for _, b := range live {
			for _, addr := range []uintptr{b.addr, b.addr + b.size - 1, b.addr + uintptr(rng.Uint64N(uint64(b.size))), b.addr + b.size, b.addr - 1} {
				got, ok := g.blocks.containing(addr)
				if begin, size, _ := g.around(addr); begin != got.addr || size != got.size {
					t.Fatalf("step %d: around %#x are %d bytes at %#x, want %d at %#x", step, addr, size, begin, got.size, got.addr)
				}
				if want := inside(addr); ok != (want.size != 0) || got.addr != want.addr || got.size != want.size {
					t.Fatalf("step %d: %#x lies in %d bytes at %#x, want %d at %#x", step, addr, got.size, got.addr, want.size, want.addr)
				}
			}
			if got, ok := g.blocks.find(b.addr); !ok || got.size != b.size {
				t.Fatalf("step %d: no block of %d bytes at %#x", step, b.size, b.addr)
			}
		}
	}
}

// TestBlockTableLooksInFewPlaces: a large block that there was once does not make each diagnosis
// slow.
func TestBlockTableLooksInFewPlaces(t *testing.T) {
	g, k := trackedAlone()
	addr, err := g.alloc(request{kind: k, n: 64 << 20, align: 8})
	if err != nil {
		t.Fatal(err)
	}
	if b, ok := g.blocks.containing(addr + 63<<20); !ok || b.addr != addr {
		t.Error("the end of a large block is not found")
	}
	g.freeBlock(addr, "Free")
	n := 0
	for range g.blocks.places(unsafex.Addr(new(int))) {
		n++
	}
	if n > 2+2*int(tablePowers) {
		t.Errorf("%d places to look for the block around an address", n)
	}
}
