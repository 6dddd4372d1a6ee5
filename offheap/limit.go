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
	for _, g := range k.budgets {
		g.add(n)
	}
	if h.held-h.synced > syncStep {
		h.synced = h.held
		h.grown.Store(true)
	}
}

// near says whether the spans hold more bytes than a limit of b.
func (b *bin) near() bool {
	for _, g := range b.kind.budgets {
		if g.quota.left.Load() != 0 {
			return true
		}
	}
	return false
}

// take takes n bytes from the quotas of b, or reports false if one is not large enough. It takes no
// lock.
func (b *bin) take(n int64) bool {
	for _, g := range b.kind.budgets {
		if !g.quota.take(n) {
			return false
		}
	}
	return true
}

// admit says how many bytes of b's free blocks a holder may take from a slab: most if the limits
// leave room for so many, else least, else none and an error.
func (h *heap) admit(b *bin, most, least int64) (n int64, err error) {
	if b.take(most) {
		return most, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n = most
	budgets := b.kind.budgets
	var rooms [2]int64
	for i, g := range budgets {
		if rooms[i], err = h.room(g, least); err != nil {
			budgets, n = budgets[:i+1], 0 // The limit of the next is not asked.
			break
		}
		if rooms[i] < n {
			n = least
		}
	}
	for i, g := range budgets {
		g.quota.open(rooms[i], n)
	}
	return n, err
}

// room is the bytes that the limit of g leaves, math.MaxInt64 if the spans hold less than it, and an
// error if they are fewer than least. After a sum that may be too low it is least: a holder that got a
// slab for more would keep free blocks for which others are refused. The caller holds the lock, and
// opens the quota, which is closed if there is a number, afterwards.
func (h *heap) room(g *budget, least int64) (n int64, err error) {
	limit := g.limit.Load()
	if limit == 0 || g.held <= limit {
		return math.MaxInt64, nil
	}
	g.quota.close()
	used, sure := h.usedOf(g, nil, limit-least)
	switch n = limit - used; {
	case n < least:
		return n, &limitError{g, least, used, limit}
	case !sure:
		return least, nil
	}
	return n, nil
}

// usedOf is the bytes in use that count in g, and the spare ones of b unless that is nil. It is the
// least of up to four sums: the first that is at most enough, if there is one. A sum can be too high
// while goroutines allocate and free, and no request is refused for that; two sure and equal sums are
// not. A sum can be too low if it is not sure.
func (h *heap) usedOf(g *budget, b *bin, enough int64) (used int64, sure bool) {
	used = math.MaxInt64
	for range 4 {
		n, ok := h.server().inUseOf(g)
		if b != nil {
			n += h.spare(b)
		}
		same := sure && ok && n == used
		if n <= used {
			used, sure = n, ok
		}
		if used <= enough || same {
			break
		}
	}
	return used, sure
}

// fits says whether the limits leave room for n more bytes of b.
func (h *heap) fits(b *bin, n int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range b.kind.budgets {
		room, err := h.room(g, n)
		g.quota.open(room, 0)
		if err != nil {
			return false
		}
	}
	return true
}

// A limitError is a request that a limit refused. Its text is made by Error: a program at its limit
// is refused again and again, and seldom asks for the text.
type limitError struct {
	of             *budget // Whose limit. A string would make the error half as large again.
	n, held, limit int64
}

func (e *limitError) Error() string {
	return fmt.Sprintf("%v: %d more bytes for %s; %d of at most %d are taken: free blocks, or raise the limit with SetLimit", ErrLimit, e.n, e.of.who, e.held, e.limit)
}

func (e *limitError) Unwrap() error { return ErrLimit }

// checkLimit says whether a span of n bytes may be added for b. The caller holds the heap's lock.
// It scans the counters only if the bytes held would exceed the limit. Held bytes are more than
// those in use, because Ps keep slabs with free blocks. The quotas are closed while a span is made;
// a caller that makes none calls resetQuotas.
func (h *heap) checkLimit(b *bin, n int64) error {
	for _, g := range b.kind.budgets {
		limit := g.limit.Load()
		if limit == 0 || g.held+n <= limit {
			continue
		}
		g.quota.close()
		if used, _ := h.usedOf(g, b, limit-n); used+n > limit {
			return &limitError{g, n, used, limit}
		}
	}
	return nil
}

// resetQuotas opens the quotas of b that checkLimit has closed, where the spans hold at most the limit.
// The caller holds the heap's lock.
func (h *heap) resetQuotas(b *bin) {
	for _, g := range b.kind.budgets {
		g.quota.reset(g.held, g.limit.Load())
	}
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
