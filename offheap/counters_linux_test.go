// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/checks/testenv"
)

// resides is the memory that the system says blocks and the allocator's records take. The records
// count if the kernel names mappings.
func resides(t *testing.T) (blocks, records int64, named bool) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		if _, _, ok := parseMapping(line); ok {
			inside = strings.Contains(line, "offheap metadata") || strings.Contains(line, "offheap page map")
			named = named || inside
			continue
		}
		var kb int64
		if key, rest, _ := strings.Cut(line, ":"); inside && key == "Rss" {
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			records += kb << 10
		}
	}
	return resident(t), records, named
}

// wantCounted wants InUse and Retained to be what the system says, within 2 % and 4 MiB, and so the
// records.
func wantCounted(t *testing.T, when string) {
	t.Helper()
	s := ReadStats()
	blocks, records, named := resides(t)
	t.Logf("%s: blocks %d MiB of %d (in use %d, retained %d), records %d KiB of %d", when,
		(s.InUse+s.Retained)>>20, blocks>>20, s.InUse>>20, s.Retained>>20, s.Metadata>>10, records>>10)
	near := func(what string, have, want int64) {
		if d := max(have-want, want-have); d > want/50+4<<20 {
			t.Errorf("%s: counted are %d bytes of %s, and the system says %d", when, have, what, want)
		}
	}
	near("blocks", s.InUse+s.Retained, blocks)
	if named {
		near("records", s.Metadata, records)
	}
}

// phases is the work of a service: each phase has its own sizes, leaves one block in some behind,
// without a pattern, and the next allocates from what it freed.
func phases(t *testing.T, workers int) {
	kept := make([][][]byte, workers)
	sizes := [][]int{{96, 1000}, {48, 5000}, {200, 24 << 10}, {96, 2000}, {1000, 128 << 10}}
	for phase, of := range sizes {
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(phase), uint64(w)))
				var live [][]byte
				for _, size := range of {
					for range 32 << 20 / workers / size {
						b := AllocUninit(size)
						fill(b, w)
						live = append(live, b)
					}
				}
				for i, b := range live { // One in 40, and one in three of some stretches.
					if rng.IntN(40) == 7 || i/500%4 == 1 && i%3 == 0 {
						kept[w] = append(kept[w], b)
					} else {
						Free(b)
					}
				}
			})
		}
		wg.Wait()
		wantCounted(t, fmt.Sprintf("phase %d", phase))
		if phase%2 == 0 {
			Purge()
			wantCounted(t, fmt.Sprintf("phase %d, purged", phase))
		}
		if phase == 2 {
			for w := range kept {
				for _, b := range kept[w][:len(kept[w])/2] {
					Free(b)
				}
				kept[w] = kept[w][len(kept[w])/2:]
			}
			wantCounted(t, "half of what was left freed")
		}
	}
	for _, list := range kept {
		for _, b := range list {
			Free(b)
		}
	}
	Purge()
	wantCounted(t, "all freed")
}

// TestCountersAreTheSystems compares the counters with what the system says, over phases.
func TestCountersAreTheSystems(t *testing.T) {
	testenv.MisusesMemory(t)
	needSlabs(t)
	needNoSamples(t)
	counts := []int{1, 2, 64}
	if testing.Short() {
		counts = []int{2, 64}
	}
	for _, procs := range counts {
		t.Run(fmt.Sprint(procs), func(t *testing.T) {
			if !inChild(t) {
				return
			}
			runtime.GOMAXPROCS(procs)
			setPurgeDelay(-1)
			phases(t, procs)
		})
	}
}

// hugeRefused is how often the machine had no huge page where a program wanted one. It skips the test if
// the system never makes them.
func hugeRefused(t *testing.T) string {
	t.Helper()
	mode, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil || len(mode) == 0 || strings.Contains(string(mode), "[never]") {
		t.Skip("this system makes no huge pages")
	}
	_, rest, _ := strings.Cut(string(text), "\nthp_fault_fallback ")
	n, _, _ := strings.Cut(rest, "\n")
	return n
}

// TestAlignedBlocksAreCounted: alignment leaves free memory between blocks. Where that has pages of
// the machine, because huge pages reach into it, it is counted, and Purge gives it back.
func TestAlignedBlocksAreCounted(t *testing.T) {
	testenv.MisusesMemory(t)
	needSlabs(t)
	needNoSamples(t)
	if !is64 {
		t.Skip("here regions are small, and the rest of the last huge page of each is not counted")
	}
	for _, c := range []struct{ size, align int }{
		{8 << 10, 1 << 20}, {24 << 10, 2 << 20}, {72 << 10, 64 << 10}, {296 << 10, 512 << 10}, {1160 << 10, 2 << 20},
	} {
		t.Run(fmt.Sprintf("%dKiB_at_%dKiB", c.size>>10, c.align>>10), func(t *testing.T) {
			if !inChild(t) {
				return
			}
			setPurgeDelay(-1)
			refused := hugeRefused(t)
			var blocks [][]byte
			for range min(60<<20/c.size, 100) {
				b := AllocAligned(c.size, c.align)
				fill(b, 1)
				blocks = append(blocks, b)
			}
			if hugeRefused(t) != refused {
				t.Skip("the machine had no huge page for a program")
			}
			wantCounted(t, "allocated")
			Purge()
			wantCounted(t, "purged")
			if s := ReadStats(); s.Retained > 4<<20 {
				t.Errorf("after Purge %d bytes are retained", s.Retained)
			}
			for _, b := range blocks {
				Free(b)
			}
			wantCounted(t, "freed")
			Purge()
			wantCounted(t, "freed and purged")
		})
	}
}

// TestAlignedBlocksArePurged: the memory between aligned blocks goes back by itself, too.
func TestAlignedBlocksArePurged(t *testing.T) {
	testenv.MisusesMemory(t)
	needSlabs(t)
	needNoSamples(t)
	if !inChild(t) {
		return
	}
	setPurgeDelay(20 * time.Millisecond)
	for range 100 {
		fill(AllocAligned(8<<10, 1<<20), 1)
	}
	for ReadStats().Retained > 0 {
		time.Sleep(time.Millisecond)
	}
	wantCounted(t, "purged by itself")
}

// TestMemoryLimitComesBack: freed and purged memory is the Go heap's again at once, also without
// purges in the background.
func TestMemoryLimitComesBack(t *testing.T) {
	needSlabs(t)
	needNoSamples(t)
	if !inChild(t) {
		return
	}
	const limit = 1024 << 20
	debug.SetMemoryLimit(limit)
	setPurgeDelay(-1)
	b := Alloc(600 << 20)
	if got := debug.SetMemoryLimit(-1); got > limit-600<<20 {
		t.Fatalf("with 600 MiB in use GOMEMLIMIT is %d", got)
	}
	Free(b)
	Purge()
	if got, least := debug.SetMemoryLimit(-1), int64(limit-limit/64-4<<20); got < least {
		t.Errorf("after Free and Purge GOMEMLIMIT is %d MiB, want %d", got>>20, least>>20)
	}
}
