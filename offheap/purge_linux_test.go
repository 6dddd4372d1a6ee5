package offheap

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"
)

// resident is the memory that the process takes, in bytes.
func resident(t testing.TB) (n int64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	_, line, found := bytes.Cut(status, []byte("VmRSS:"))
	if _, err := fmt.Sscan(string(line), &n); !found || err != nil {
		t.Skipf("no VmRSS: %v", err)
	}
	return n << 10
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

// few is what may stay: slabs that Ps keep, the Go heap's growth, metadata.
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
	old := SetPurgeDelay(10 * time.Millisecond)
	defer SetPurgeDelay(old)
	Purge()
	before, peak := burden(t)
	for range 3000 {
		if resident(t) <= before+few {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("RSS stays at %d MiB; it was %d before 256 MiB and %d with them", resident(t)>>20, before>>20, peak>>20)
}
