// SPDX-License-Identifier: Apache-2.0

package freehold

import (
	"runtime/debug"
	"sync"
	"testing"
)

const mib = 1 << 20

// near reports whether got is want or the odd number under it.
func near(got, want int64) bool { return got == want || got == want-1 }

// TestSyncMemoryLimit runs the real thing in this process.
func TestSyncMemoryLimit(t *testing.T) {
	if Modes().Heap || Modes().NoMemLimit {
		t.Skip("the modes in force leave the limit alone")
	}
	before := debug.SetMemoryLimit(8192 * mib)
	defer debug.SetMemoryLimit(before)
	held := Totals{InUse: 1500 * mib, Retained: 500 * mib, Reserved: 1 << 40, Purged: 300 * mib}
	var mu sync.Mutex
	Register(unique(t), func() Totals {
		mu.Lock()
		defer mu.Unlock()
		return held
	})
	SyncMemoryLimit()
	if got := debug.SetMemoryLimit(-1); !near(got, 6192*mib) {
		t.Errorf("limit %d, want 6192 MiB", got)
	}
	if got := MemoryLimit(); got != 8192*mib {
		t.Errorf("MemoryLimit() = %d, want 8192 MiB", got)
	}
	if n := testing.AllocsPerRun(100, SyncMemoryLimit); n != 0 {
		t.Errorf("SyncMemoryLimit allocates %v times", n)
	}
	mu.Lock()
	held = Totals{}
	mu.Unlock()
	SyncMemoryLimit()
	if got := debug.SetMemoryLimit(-1); got != 8192*mib {
		t.Errorf("limit %d after everything was given back, want 8192 MiB", got)
	}
}

func TestSyncMemoryLimitConcurrently(t *testing.T) {
	if Modes().Heap || Modes().NoMemLimit {
		t.Skip("the modes in force leave the limit alone")
	}
	before := debug.SetMemoryLimit(8192 * mib)
	defer debug.SetMemoryLimit(before)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				SyncMemoryLimit()
				MemoryLimit()
			}
		})
	}
	wg.Wait()
	if got := MemoryLimit(); got != 8192*mib {
		t.Errorf("the user's limit became %d", got)
	}
}

func BenchmarkSyncMemoryLimitUnchanged(b *testing.B) {
	before := debug.SetMemoryLimit(8192 * mib)
	defer debug.SetMemoryLimit(before)
	held := int64(1024 * mib)
	Register(unique(b), func() Totals { return Totals{InUse: held} })
	for b.Loop() {
		SyncMemoryLimit()
	}
	held = 0
}
