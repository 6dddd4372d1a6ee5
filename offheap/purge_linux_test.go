// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// resident is the memory that the blocks' regions take, in bytes. The whole process's would not do:
// Go's heap grows besides, and with many CPUs the kernel's count of it is off by as much as we look
// for.
func resident(t testing.TB) (n int64) {
	t.Helper()
	list := Regions()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		if r, _, ok := parseMapping(line); ok {
			inside = slices.ContainsFunc(list, func(of Region) bool {
				return r.lo < of.Addr+uintptr(of.Reserved) && of.Addr < r.hi
			})
			continue
		}
		var kb int64
		if key, rest, _ := strings.Cut(line, ":"); inside && (key == "Rss" || key == "Swap") {
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			n += kb << 10
		}
	}
	return n
}

// burden writes 256 MiB of blocks of several sizes and frees them in another order.
func burden(t *testing.T) (before, peak int64) {
	t.Helper()
	before = resident(t)
	var live [][]byte
	for _, size := range []int{1000, 65_536, 1 << 20, 30 << 20} {
		for range 64 << 20 / size {
			b := AllocUninit(size)
			fill(b, size)
			live = append(live, b)
		}
	}
	peak = resident(t)
	if peak-before < 200<<20 {
		t.Skipf("256 MiB written and RSS rose from %d to %d only: are we emulated?", before, peak)
	}
	for i := range live {
		Free(live[i*7919%len(live)])
	}
	return before, peak
}

// few is what may stay: slabs that Ps keep, and huge pages that are in use in part.
const few = 32 << 20

func TestPurgeReturnsMemory(t *testing.T) {
	needSlabs(t)
	quiet(t)
	Purge()
	before, peak := burden(t)
	Purge()
	if now := resident(t); now > before+few {
		t.Errorf("RSS is %d MiB after Purge; it was %d before 256 MiB and %d with them", now>>20, before>>20, peak>>20)
	}
}

func TestBackgroundPurgeReturnsMemory(t *testing.T) {
	needSlabs(t)
	old := setPurgeDelay(10 * time.Millisecond)
	defer setPurgeDelay(old)
	Purge()
	before, peak := burden(t)
	for range 6000 {
		if resident(t) <= before+few {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("RSS stays at %d MiB; it was %d before 256 MiB and %d with them", resident(t)>>20, before>>20, peak>>20)
}
