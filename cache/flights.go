// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"sync"
	"sync/atomic"
)

// flights are the loads that are under way, one for each key.
type flights struct {
	n  atomic.Int32 // The length of by.
	mu sync.Mutex
	by map[string]*flight
}

// A flight is a load. waiting and kept belong to flights.mu; result and err may be read once done is closed.
type flight struct {
	key     string
	done    chan struct{}
	cancel  context.CancelFunc
	waiting int  // Goroutines that wait for it. The last one who leaves cancels it,
	kept    bool // unless it is a refresh, which goes on without anybody.
	result  record
	err     error

	// forget says that a Delete or a Set came meanwhile: the result is not stored. It is set and read under
	// the lock of the key's bucket, under which the load has looked for the key, too. So what changes the key
	// after that look finds the flight.
	forget atomic.Bool
}

// forget lets a load of the key that is under way not store its result. The caller holds the lock of the key's bucket;
// whoever holds mu takes no other lock.
func (f *flights) forget(key []byte) {
	if f.n.Load() == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if l := f.by[string(key)]; l != nil {
		l.forget.Store(true)
		f.remove(l)
	}
}

// forgetAll is forget for all keys, before all buckets are cleared.
func (f *flights) forgetAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.by {
		l.forget.Store(true)
		f.remove(l)
	}
}

// remove lets the next caller load anew. The caller holds mu.
func (f *flights) remove(l *flight) {
	if f.by[l.key] == l {
		delete(f.by, l.key)
		f.n.Add(-1)
	}
}
