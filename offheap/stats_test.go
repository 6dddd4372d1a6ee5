// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// balanced wants the figures to add up while nothing goes on.
func balanced(t *testing.T, when string) Stats {
	t.Helper()
	s := ReadStats()
	if s.Reserved != s.InUse+s.Retained+s.Purged || min(s.InUse, s.Retained, s.Purged, s.Metadata) < 0 || s.Held < s.InUse {
		t.Errorf("%s: %+v does not add up", when, s)
	}
	return s
}

func TestStatsAddUp(t *testing.T) {
	quiet(t)
	start := balanced(t, "at the start")
	var live [][]byte
	asked := int64(0)
	for i := range 2000 {
		n := 1 + i*37
		live = append(live, AllocUninit(n))
		asked += int64(n)
	}
	full := balanced(t, "with blocks")
	if n := full.InUse - start.InUse; n < asked || n > asked+asked/8 {
		t.Errorf("%d bytes in use for blocks of %d bytes", n, asked)
	}
	for i, b := range live {
		if i%2 == 0 {
			Free(b)
		}
	}
	half := balanced(t, "with every second block freed")
	Purge()
	purged := balanced(t, "purged")
	if purged.InUse != half.InUse || purged.Reserved != half.Reserved {
		t.Errorf("a purge changed what is in use: %+v, then %+v", half, purged)
	}
	for i, b := range live {
		if i%2 == 1 {
			Free(b)
		}
	}
	balanced(t, "all freed")
	Purge()
	if end := balanced(t, "all freed and purged"); end.InUse != start.InUse {
		t.Errorf("%d bytes in use, %d at the start", end.InUse, start.InUse)
	}
}

// TestPurgeMovesRetained: freed memory is Retained, and Purged after a Purge.
func TestPurgeMovesRetained(t *testing.T) {
	needSlabs(t)
	needNoSamples(t)
	quiet(t)
	const size = 64 << 20
	Purge()
	b := AllocUninit(size)
	used := ReadStats()
	Free(b)
	freed := ReadStats()
	if freed.Retained-used.Retained < size {
		t.Errorf("after the free %d bytes are retained, %d before", freed.Retained, used.Retained)
	}
	Purge()
	purged := ReadStats()
	if purged.Retained > freed.Retained-size || purged.Purged < freed.Purged+size {
		t.Errorf("Purge: %+v, then %+v", freed, purged)
	}
	if b = Alloc(size); !allZero(b) {
		t.Error("purged memory is not zero")
	}
	Free(b)
}

func TestPurgeDelay(t *testing.T) {
	needSlabs(t)
	needNoSamples(t)
	old := setPurgeDelay(7 * time.Millisecond)
	defer setPurgeDelay(old)
	if got := setPurgeDelay(-1); got != 7*time.Millisecond {
		t.Errorf("the delay was %v", got)
	}
	settled(t)
	Purge()
	const size = 32 << 20
	before := ReadStats().Retained
	Free(AllocUninit(size))
	time.Sleep(50 * time.Millisecond) // Long enough for a purge with the delay before.
	if n := ReadStats().Retained; n < before+size {
		t.Errorf("with a negative delay %d bytes are retained, want %d", n, before+size)
	}
	setPurgeDelay(5 * time.Millisecond) // It is in force for what is free already.
	for range 6000 {
		if ReadStats().Retained < before+size {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("nothing is given back: %d bytes retained, %d before", ReadStats().Retained, before)
}

// TestRegions looks for live blocks in the list.
func TestRegions(t *testing.T) {
	needSlabs(t)
	needNoSamples(t)
	quiet(t)
	b, v := Alloc(100), New[flags]()
	places := map[string]uintptr{"blocks": addrOf(b), "typed blocks": unsafex.Addr(v)}
	for _, r := range Regions() {
		if r.Used < 0 || r.Used > r.Committed || r.Committed > r.Reserved || !strings.Contains(r.String(), r.Kind) {
			t.Errorf("%v: more used than committed than reserved", r)
		}
		if addr, ok := places[r.Kind]; ok && addr-r.Addr < uintptr(r.Used) {
			delete(places, r.Kind)
		}
	}
	if len(places) > 0 {
		t.Errorf("not in any region: %v of %v", places, Regions())
	}
	Free(b)
	Delete(v)
}

// TestStatsAreCopies: who changes a reading changes nothing else.
func TestStatsAreCopies(t *testing.T) {
	NewPurpose("copied")
	a := ReadStats()
	a.Purposes[0].InUse = -1
	if b := ReadStats(); b.Purposes[0].InUse == -1 || unsafe.SliceData(a.Purposes) == unsafe.SliceData(b.Purposes) {
		t.Error("two readings share their list of purposes")
	}
}
