// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"math"
	"sync"

	"github.com/freehold-go/freehold/internal/vmem"
)

// A tomb has a window of inaccessible addresses to itself, so that an access at an offset from it
// is known, too.
const (
	tombWindow = 1 << (12 + 4*(math.MaxUint>>63))
	tombFront  = 1 << 10                          // of it lie before the tomb
	tombCount  = 1 << (10 + 8*(math.MaxUint>>63)) // windows that are reserved
)

// TombReach is how many bytes behind a tomb stand for it. What lies farther behind stands for another
// tomb or, behind the last one, is other memory.
const TombReach = tombWindow - tombFront

// tombRange is an inaccessible range. When all of it is used, the oldest windows stand for
// something new.
type tombRange struct {
	mem    vmem.Memory
	wanted uintptr // windows

	mu     sync.Mutex
	base   uintptr
	count  uintptr // windows that could be had
	next   uintptr
	failed bool
}

// tombs is that of this process.
var tombs = tombRange{mem: vmem.System(), wanted: tombCount}

// NewTomb returns an address at which every access faults, and which stands for the free of b:
// FreeOp, Free and FreeBy say how, and Type, Size, Owner, Arena and Alloc of what; Addr is set to
// the result. The address is aligned to 1 KiB. Up to 63 KiB behind it (3 KiB on 32-bit systems) an
// access is still known to be this one. There are 262144 tombs (1024 on 32-bit systems, fewer where
// the address space is limited); later ones take the place of the oldest. Where the system has no
// inaccessible memory to give, the result is 0, a nil pointer, which faults as well but names
// nothing.
func NewTomb(b Block) uintptr {
	addr := tombs.take()
	if addr == 0 {
		return 0
	}
	b.Addr, b.Leak, b.tomb = addr, false, true
	if b.Free == 0 {
		b.Free = Callers(1)
	}
	if b.FreeBy == 0 && wantGoroutines() {
		b.FreeBy = Goroutine()
	}
	blocks.add(b)
	return addr
}

// leastTombs is where asking for fewer ends.
const leastTombs = 256

// take returns the next address, 0 if there is no range.
func (t *tombRange) take() uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.base == 0 && !t.failed {
		t.reserve()
	}
	if t.base == 0 {
		return 0
	}
	addr := t.base + t.next%t.count*tombWindow + tombFront
	t.next++
	return addr
}

func (t *tombRange) reserve() {
	var err error
	for t.count = affordable(t.wanted*tombWindow, leastTombs*tombWindow) / tombWindow; ; t.count /= 8 {
		if t.base, err = t.mem.Reserve(t.count*tombWindow, tombWindow, "tombs"); err == nil {
			return
		}
		if t.count/8 < leastTombs {
			t.failed = true
			say("no address space for what pointers in freed values become; they become nil: %v", err)
			return
		}
	}
}
