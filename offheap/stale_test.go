// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/freehold-go/freehold/alloctest"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// garbage writes a pattern over a block that the caller has freed.
func garbage(stale []byte, pattern int, rng *rand.Rand) {
	switch pattern % 5 {
	case 0:
		clear(stale)
	case 1:
		for i := range stale {
			stale[i] = 0xff
		}
	case 2:
		for i := range stale {
			stale[i] = byte(rng.Uint32())
		}
	case 3: // Addresses of blocks, such as a free list in them would hold.
		for i := 0; i+8 <= len(stale); i += 8 {
			addr := uint64(unsafex.SliceAddr(stale)) + 8*uint64(rng.IntN(100))
			for k := range 8 {
				stale[i+k] = byte(addr >> (8 * k))
			}
		}
	case 4: // The first and the last byte alone.
		stale[0], stale[len(stale)-1] = 1, 1
	}
}

// spoiler allocates and frees at random and writes to what it has freed. It returns when steps are
// done.
func spoiler(t *testing.T, seed uint64, steps int) {
	rng := rand.New(rand.NewPCG(seed, 17))
	l := NewLocal()
	defer l.Close()
	var live, stale [][]byte
	for step := range steps {
		switch {
		case len(live) < 200 && rng.IntN(2) == 0:
			n := 1 + rng.IntN(1<<rng.IntN(17))
			if rng.IntN(2) == 0 {
				live = append(live, l.AllocUninit(n))
			} else {
				live = append(live, AllocUninit(n))
			}
			if b := live[len(live)-1]; len(b) != n || cap(b) != n {
				t.Errorf("step %d: %d of %d bytes, want %d", step, len(b), cap(b), n)
				return
			}
		case len(live) > 0:
			i := rng.IntN(len(live))
			b := live[i]
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
			if rng.IntN(2) == 0 {
				l.Free(b)
			} else {
				Free(b)
			}
			garbage(b, step, rng)
			if len(stale) < 500 {
				stale = append(stale, b)
			} else {
				stale[rng.IntN(len(stale))] = b
			}
		}
		if len(stale) > 0 {
			garbage(stale[rng.IntN(len(stale))], step, rng)
		}
		if step%5000 == 0 {
			Purge()
			runtime.GC()
		}
	}
	for _, b := range live {
		Free(b)
		garbage(b, 2, rng)
	}
}

// clearingHeap clears what it hands out. A stale write into memory that was given back to the
// machine is data there that the allocator takes for zeros; like a stale write into a live block,
// that spoils data and no more.
type clearingHeap struct{ stdHeap }

func (clearingHeap) TryAlloc(n int) ([]byte, error) {
	b, err := TryAlloc(n)
	clear(b)
	return b, err
}

func (clearingHeap) TryAllocAligned(n, align int) ([]byte, error) {
	b, err := TryAllocAligned(n, align)
	clear(b)
	return b, err
}

func (clearingHeap) TryRealloc(b []byte, n int) ([]byte, error) {
	g, err := TryRealloc(b, n)
	if err == nil && n > len(b) {
		clear(g[len(b):])
	}
	return g, err
}

// allowStale is for tests that use what they have freed on purpose: the debug modes and the race
// detector are there to tell that.
func allowStale(t *testing.T) {
	if std.start(); std.guards != nil || std.serving() != nil && (raceEnabled || std.serving().modes.On()) {
		t.Skip("stale accesses are told here")
	}
}

// TestStaleWritesHarmNoBookkeeping is the heart of C1: programs that write to what they have freed
// spoil each other's bytes, but the allocator never hands out a block twice, loses none, and works
// on as if nothing had been.
func TestStaleWritesHarmNoBookkeeping(t *testing.T) {
	allowStale(t)
	quiet(t)
	alloctest.StressGC(t)
	before := ReadStats().InUse
	steps := 20_000
	if testing.Short() {
		steps = 4000
	}
	var goroutines sync.WaitGroup
	for g := range 4 {
		goroutines.Go(func() { spoiler(t, uint64(g), steps) })
	}
	goroutines.Wait()
	if now := ReadStats().InUse; now != before {
		t.Errorf("%d bytes in use, %d before", now, before)
	}
	seeds := alloctest.Seeds()
	if testing.Short() {
		seeds = seeds[:len(seeds)-3] // The longest.
	}
	for _, ops := range seeds {
		alloctest.Ops(t, clearingHeap{}, ops, config())
	}
	Purge()
	balanced(t, "after stale writes")
	runtime.GC()
}

// TestStaleBlocksAreDisjoint: no two blocks that are allocated after stale writes overlap.
func TestStaleBlocksAreDisjoint(t *testing.T) {
	allowStale(t)
	quiet(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		size := 1 + rng.IntN(1<<rng.IntN(15))
		var blocks [][]byte
		for range 500 {
			blocks = append(blocks, AllocUninit(size))
		}
		for _, b := range blocks {
			Free(b)
			garbage(b, round, rng)
		}
		for i := range blocks {
			blocks[i] = AllocUninit(size)
			fill(blocks[i], i)
		}
		for i, b := range blocks {
			if !filled(b, i) {
				t.Fatalf("round %d: block %d of %d bytes overlaps another", round, i, size)
			}
			Free(b)
		}
	}
}
