// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/percpu"
)

// counts are what the engine counts. Reads, and values that replace others, are counted by goroutines that
// share no cache line while they run on different Ps.
type counts struct {
	reads   []readCounts // By percpu's ID, and the last one for those beyond.
	removed [reasons]atomic.Int64
	loads   atomic.Int64
	failed  atomic.Int64
}

type readCounts struct {
	hits, misses, replaced atomic.Int64
	_                      [40]byte
}

// read counts a read.
func (c *counts) read(hit bool) {
	pin := percpu.Acquire()
	r, shared := c.of(pin.ID())
	n := &r.misses
	if hit {
		n = &r.hits
	}
	add(n, shared)
	pin.Release()
}

// replace counts a value that took the place of another.
func (c *counts) replace() {
	pin := percpu.Acquire()
	r, shared := c.of(pin.ID())
	add(&r.replaced, shared)
	pin.Release()
}

// of is the counters for percpu's ID, and says whether others may use them.
func (c *counts) of(id int) (r *readCounts, shared bool) {
	last := len(c.reads) - 1
	return &c.reads[min(id, last)], id >= last
}

func add(n *atomic.Int64, shared bool) {
	if shared {
		n.Add(1)
	} else {
		n.Store(n.Load() + 1) // Nobody else is pinned to this P.
	}
}

// Stats are the figures of a cache.
type Stats struct {
	Name    string
	Entries int64 // Entries in the cache, those included that have expired and were not found yet.
	Hits    int64 // Reads that found a value.
	Misses  int64 // Reads that found none.

	Evicted  int64 // Entries that left for lack of memory.
	Expired  int64 // Entries that left because their time was over.
	Deleted  int64
	Replaced int64

	EvictionAge time.Duration // How long ago entries that were evicted lately had been written, about, on average.

	Loads       int64 // Calls of loaders.
	LoadsFailed int64 // Those with an error other than ErrNotFound.

	Bytes        int64 // The budget.
	Weight       int64 // Of the objects of Objects, which Bytes bounds in place of BytesHeld.
	BytesHeld    int64 // Bytes of memory that are held, of the budget.
	BytesEntries int64 // Bytes of the entries, with about 4 bytes for each beside key and value.
	BytesTable   int64 // Bytes of the table that finds them.
	BytesViewed  int64 // Bytes that stay because View's functions have not returned.
}

// HitRatio is the share of reads that found a value.
func (s Stats) HitRatio() float64 {
	if s.Hits+s.Misses == 0 {
		return 0
	}
	return float64(s.Hits) / float64(s.Hits+s.Misses)
}
