// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"time"

	"github.com/freehold-go/freehold/internal/vmem"
)

// testHeap makes a heap of its own an allocator for the suite.
type testHeap struct{ *heap }

func newTestHeap(mem vmem.Memory) testHeap {
	h := newHeap(mem)
	h.start()
	h.purge.delay.Store(-1) // The suite purges by itself.
	return testHeap{h}
}

func (t testHeap) TryAlloc(n int) ([]byte, error) {
	return t.allocBytes("Alloc", n, t.request(8, true))
}
func (t testHeap) TryAllocUninit(n int) ([]byte, error) {
	return t.allocBytes("AllocUninit", n, t.request(8, false))
}
func (t testHeap) TryAllocAligned(n, align int) ([]byte, error) {
	if align <= 0 || align&(align-1) != 0 {
		panic(fmt.Errorf("alignment %d is not a power of two", align))
	}
	return t.allocBytes("AllocAligned", n, t.request(uintptr(align), true))
}
func (t testHeap) TryRealloc(b []byte, n int) ([]byte, error) {
	if n < 0 {
		panic(fmt.Errorf("negative length %d", n))
	}
	q := t.request(8, true)
	q.n = uintptr(n)
	return reallocate(t.heap, b, n, q)
}
func (t testHeap) Free(b []byte) {
	if cap(b) > 0 {
		t.freeSlow(addrOf(b), nil, "Free")
	}
}
func (t testHeap) InUse() int64                 { return t.stats().InUse }
func (t testHeap) Held() int64                  { return t.stats().Held }
func (t testHeap) Purge()                       { t.purge.run(true) }
func (t testHeap) SetLimit(n int64) (old int64) { return t.setLimit(&t.budget, n) }

// stdHeap makes the package's functions an allocator for the suite.
type stdHeap struct{}

func (stdHeap) TryAlloc(n int) ([]byte, error)             { return TryAlloc(n) }
func (stdHeap) TryAllocUninit(n int) ([]byte, error)       { return TryAllocUninit(n) }
func (stdHeap) TryAllocAligned(n, a int) ([]byte, error)   { return TryAllocAligned(n, a) }
func (stdHeap) TryRealloc(b []byte, n int) ([]byte, error) { return TryRealloc(b, n) }
func (stdHeap) Free(b []byte)                              { Free(b) }
func (stdHeap) InUse() int64                               { return ReadStats().InUse }
func (stdHeap) Held() int64                                { return ReadStats().Held }
func (stdHeap) Purge()                                     { Purge() }
func (stdHeap) SetLimit(n int64) int64                     { return SetLimit(n) }

// localHeap makes a Local one.
type localHeap struct{ l *Local }

func (t localHeap) TryAlloc(n int) ([]byte, error)             { return t.l.TryAlloc(n) }
func (t localHeap) TryAllocUninit(n int) ([]byte, error)       { return t.l.TryAllocUninit(n) }
func (t localHeap) TryAllocAligned(n, a int) ([]byte, error)   { return TryAllocAligned(n, a) }
func (t localHeap) TryRealloc(b []byte, n int) ([]byte, error) { return TryRealloc(b, n) }
func (t localHeap) Free(b []byte)                              { t.l.Free(b) }
func (t localHeap) InUse() int64                               { return ReadStats().InUse }

// deleteIn is Delete through a Local, for any value.
func deleteIn[T any](l *Local, p *T) { In[T](l).Delete(p) }

// setPurgeDelay sets the time that memory stays free before the purge in the background returns it; a
// negative time is for ever. It returns the old time, and arms a tick for memory that is free already.
func setPurgeDelay(d time.Duration) (old time.Duration) {
	std.start()
	p := &std.slabs().purge
	old = time.Duration(p.delay.Swap(int64(d)))
	p.arm()
	return old
}
