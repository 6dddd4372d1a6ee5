// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"sync"
	"testing"
	"time"

	"github.com/freehold-go/freehold/internal/checks/fakemem"
	"github.com/freehold-go/freehold/internal/vmem"
)

// slowPurge holds the first purge until it is told to go on.
type slowPurge struct {
	vmem.Memory
	once        sync.Once
	begun, goOn chan bool
}

func (m *slowPurge) Purge(addr, size uintptr) error {
	m.once.Do(func() {
		close(m.begun)
		<-m.goOn
	})
	return m.Memory.Purge(addr, size)
}

// TestAllocWaitsForPurge: no request can get memory that a purge has in hand, but it is free, and a request
// that finds nothing else waits for it.
func TestAllocWaitsForPurge(t *testing.T) {
	needOwnMemory(t)
	slow := &slowPurge{Memory: vmem.System(), begun: make(chan bool), goOn: make(chan bool)}
	fake := fakemem.New(slow)
	h := releasedHeap(t, fake)
	const size = 1 << 20
	b, err := h.TryAlloc(size)
	if err != nil {
		t.Fatal(err)
	}
	h.Free(b)
	fake.FailFrom(1, vmem.OpReserve, vmem.OpCommit)
	var wg sync.WaitGroup
	wg.Go(h.Purge)
	<-slow.begun
	wg.Go(func() {
		b, err := h.TryAlloc(size)
		if err != nil {
			t.Error(err)
			return
		}
		h.Free(b)
	})
	for end := time.Now().Add(time.Minute); fake.Injected() == 0 && time.Now().Before(end); { // It has asked the machine, in vain.
		time.Sleep(time.Millisecond)
	}
	if fake.Injected() == 0 {
		t.Error("the request did not ask the machine")
	}
	close(slow.goOn)
	wg.Wait()
}

// TestLimitFollowsRealloc: Go's memory limit follows a block that grows where it is.
func TestLimitFollowsRealloc(t *testing.T) {
	needOwnMemory(t)
	h := releasedHeap(t, &fakemem.Fake{})
	h.purge.delay.Store(-1)
	b, err := h.TryAlloc(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	h.Free(b)
	h.purge.run(true)
	if b, err = h.TryAlloc(1 << 20); err != nil {
		t.Fatal(err)
	}
	held := int64(0) // As of the last call.
	h.onGrowth = func() { held = h.stats().Held }
	to, err := h.TryRealloc(b, 60<<20)
	if err != nil || addrOf(to) != addrOf(b) {
		t.Fatalf("the block moved, or error %v", err)
	}
	if held != 60<<20 {
		t.Errorf("after a block grew to %d bytes the limit reckons with %d", 60<<20, held)
	}
}
