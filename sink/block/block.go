// SPDX-License-Identifier: Apache-2.0

// Package block has the memory of the sink: blocks of bytes outside the Go heap that count against one budget, and chains of
// them that hold the content of an object until it is stored.
package block

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/offheap"
)

// A Budget counts the bytes of records and objects that are in flight: fetched, being encoded, compressed, waiting to be stored. Taking
// memory never waits, so that whoever has begun an object can finish it. Fetching waits instead (Wait), and so memory stays near the limit: above
// it by what one fetch brings, and by what is made of it. Its methods may be called by several goroutines at once.
type Budget struct {
	purpose *offheap.Purpose
	limit   int64
	used    atomic.Int64
	peak    atomic.Int64

	mu      sync.Mutex
	waiting atomic.Int32  // goroutines that wait or are about to
	free    chan struct{} // closed when memory was freed while someone waited
}

// NewBudget makes a budget of limit bytes. The name is the account of offheap in which the blocks are counted.
func NewBudget(name string, limit int64) *Budget {
	return &Budget{purpose: offheap.NewPurpose(name), limit: limit, free: make(chan struct{})}
}

// Limit is the number of bytes that NewBudget was told.
func (b *Budget) Limit() int64 { return b.limit }

// Used is the number of bytes in flight.
func (b *Budget) Used() int64 { return b.used.Load() }

// Peak is the largest number of bytes that were in flight at once.
func (b *Budget) Peak() int64 { return b.peak.Load() }

// Count adds n bytes that others hold, on the Go heap or off it, or takes them away if n is negative.
func (b *Budget) Count(n int64) {
	used := b.used.Add(n)
	if n <= 0 {
		b.wake()
		return
	}
	for peak := b.peak.Load(); used > peak && !b.peak.CompareAndSwap(peak, used); peak = b.peak.Load() {
	}
}

// Alloc returns n bytes outside the Go heap, whose content is arbitrary. The error is offheap.ErrOutOfMemory or ErrLimit.
func (b *Budget) Alloc(n int) ([]byte, error) {
	p, err := b.purpose.TryAllocUninit(n)
	if err != nil {
		return nil, err
	}
	b.Count(int64(n))
	return p[:n:n], nil
}

// Free gives back what Alloc returned: a slice with the same first byte and capacity. Free(nil) does nothing.
func (b *Budget) Free(p []byte) {
	if cap(p) == 0 {
		return
	}
	offheap.Free(p)
	b.Count(-int64(cap(p)))
}

// Over reports whether more than the limit is in flight.
func (b *Budget) Over() bool { return b.used.Load() > b.limit }

// Wait waits until no more than the limit is in flight; then the error is nil. It returns ctx's error when ctx is done, and ErrWoken
// when something comes from wake, which may be nil.
func (b *Budget) Wait(ctx context.Context, wake <-chan struct{}) error {
	if !b.Over() {
		return ctx.Err()
	}
	b.waiting.Add(1)
	defer b.waiting.Add(-1)
	for {
		b.mu.Lock()
		free := b.free
		b.mu.Unlock()
		if !b.Over() { // Looked at after the channel: what is freed from now on closes it.
			return ctx.Err()
		}
		select {
		case <-free:
		case <-wake:
			return ErrWoken
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ErrWoken says that Wait was woken before enough memory was free.
var ErrWoken = errors.New("woken while waiting for memory")

// wake wakes those that wait.
func (b *Budget) wake() {
	if b.waiting.Load() == 0 || b.Over() {
		return
	}
	b.mu.Lock()
	close(b.free)
	b.free = make(chan struct{})
	b.mu.Unlock()
}
