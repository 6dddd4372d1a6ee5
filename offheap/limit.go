// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"fmt"
	"math"
)

// This file keeps the bytes in use within the limits, that of the heap and those of purposes.
//
// A limit is asked for in two places: checkLimit asks it before a span is made, and admit before a
// holder takes free blocks of a slab that exists. Both add up the counters of all slots, but only
// while spans hold more bytes than the limit allows in use. In between, a quota counts down.
//
// No limit is asked for the free blocks that a holder has already: its group and its slab. So the
// bytes in use may exceed a limit by these blocks.

// syncStep is how many more bytes may be held before the memory limit follows; ticks of the purge
// follow the returned memory.
const syncStep = 4 << 20

// hold adds n bytes, of kind k, to the bytes held. The caller holds the lock.
func (h *heap) hold(k *kind, n int64) {
	h.held += n
	if h.held-h.synced > syncStep {
		h.synced = h.held
		h.grown.Store(true)
	}
	h.quota.follow(n, h.held, h.limit.Load())
	if p := k.purpose; p != nil {
		p.held += n
		p.quota.follow(n, p.held, p.limit)
	}
}

// near says whether the spans hold more bytes than a limit of b.
func (h *heap) near(b *bin) bool {
	p := b.kind.purpose
	return h.quota.left.Load() != 0 || p != nil && p.quota.left.Load() != 0
}

// take takes n bytes from the quotas of b, or reports false if they are not large enough. It takes
// no lock.
func (h *heap) take(b *bin, n int64) bool {
	p := b.kind.purpose
	return h.quota.take(n) && (p == nil || p.quota.take(n))
}

// admit says how many bytes of b's free blocks a holder may take from a slab: most if the limits
// leave room for so many, else least, else none and an error.
func (h *heap) admit(b *bin, most, least int64) (int64, error) {
	if h.take(b, most) {
		return most, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	room, err := h.room(&h.quota, nil, h.held, h.limit.Load(), least)
	own, p := int64(math.MaxInt64), b.kind.purpose
	asked := p != nil && err == nil
	if asked {
		own, err = h.room(&p.quota, p, p.held, p.limit, least)
	}
	n := most
	if err != nil {
		n = 0
	} else if min(room, own) < most {
		n = least
	}
	h.quota.open(room, n)
	if asked {
		p.quota.open(own, n)
	}
	return n, err
}

// room is the bytes that a limit leaves, math.MaxInt64 if the spans hold less than it, and an error
// if they are fewer than least. The limit is that of p, or with nil that of the heap. The caller
// holds the lock, and opens the quota, which is closed if there is a number, afterwards.
func (h *heap) room(q *quota, p *purposeState, held, limit, least int64) (n int64, err error) {
	if limit == 0 || held <= limit {
		return math.MaxInt64, nil
	}
	q.close()
	used := leastOf(limit-least, func() int64 { return h.server().inUseOf(p) })
	if n = limit - used; n < least {
		err = &limitError{p, least, used, limit}
	}
	return n, err
}

// leastOf is the least of up to four sums: the first that is at most enough, if there is one. A sum can
// be too high while goroutines allocate and free, and no request is refused for that.
func leastOf(enough int64, sum func() int64) int64 {
	least := sum()
	for try := 1; try < 4 && least > enough; try++ {
		least = min(least, sum())
	}
	return least
}

// fits says whether the limits leave room for n more bytes of b.
func (h *heap) fits(b *bin, n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	room, err := h.room(&h.quota, nil, h.held, h.limit.Load(), n)
	h.quota.open(room, 0)
	if p := b.kind.purpose; p != nil && err == nil {
		room, err = h.room(&p.quota, p, p.held, p.limit, n)
		p.quota.open(room, 0)
	}
	return err == nil
}

// A limitError is a request that a limit refused. Its text is made by Error: a program at its limit
// is refused again and again, and seldom asks for the text.
type limitError struct {
	of             *purposeState // Whose limit, or nil for the heap's.
	n, held, limit int64
}

func (e *limitError) Error() string {
	who := "offheap"
	if e.of != nil {
		who = fmt.Sprintf("purpose %q", e.of.name)
	}
	return fmt.Sprintf("%v: %d more bytes for %s; %d of at most %d are taken: free blocks, or raise the limit with SetLimit", ErrLimit, e.n, who, e.held, e.limit)
}

func (e *limitError) Unwrap() error { return ErrLimit }

// checkLimit says whether a span of n bytes may be added for b. The caller holds the heap's lock.
// It scans the counters only if the bytes held would exceed the limit. Held bytes are more than
// those in use, because Ps keep slabs with free blocks. The quotas are closed while a span is made.
func (h *heap) checkLimit(b *bin, n int64) error {
	err := h.checkOne(&h.quota, nil, b, n, h.held, h.limit.Load())
	if p := b.kind.purpose; p != nil && err == nil {
		err = h.checkOne(&p.quota, p, b, n, p.held, p.limit)
	}
	return err
}

// checkOne is checkLimit for the limit of p, or with nil that of the heap.
func (h *heap) checkOne(q *quota, p *purposeState, b *bin, n, held, limit int64) error {
	if limit == 0 || held+n <= limit {
		return nil
	}
	q.close()
	if used := leastOf(limit-n, func() int64 { return h.server().inUseOf(p) + h.spare(b) }); used+n > limit {
		q.reset(held, limit)
		return &limitError{p, n, used, limit}
	}
	return nil
}

// spare is the bytes of the free blocks in the slabs of b's size, for sampled blocks and for
// others. Each may be allocated later without another check of the limit.
func (h *heap) spare(b *bin) int64 {
	n := h.free(b)
	if other := b.partner(); other != nil {
		n += h.free(other)
	}
	return n
}

// free is the bytes of the free blocks in b's slabs.
func (h *heap) free(b *bin) int64 {
	return b.slabs.Load()*int64(b.blocks)*int64(b.size) - h.inUse(b)*int64(min(b.size, 1))
}
