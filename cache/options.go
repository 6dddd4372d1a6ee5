// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"time"
)

// Options configure a cache. Only Bytes must be set.
type Options struct {
	// Bytes is the budget: all entries and the table that finds them. It is at least 1 MiB. Off the Go
	// heap a cache never holds more; on the Go heap lie about 300 bytes for each MiB, or up to 75 KB where that
	// is more.
	Bytes int64

	// Name names the cache in statistics and in offheap's accounts.
	Name string

	// TTL is how long an entry lives after it was set; 0 is for ever. SetTTL gives an entry another one.
	TTL time.Duration
	// Idle is how long an entry lives after it was last read or set; 0 is for ever. Milliseconds count.
	Idle time.Duration
	// Jitter shortens each TTL by a random part of itself, up to this share, so that entries that were
	// set together do not expire together. It is from 0 to 1.
	Jitter float64

	// Stale is how long after its expiry GetOrLoad may return an entry if the load fails.
	Stale time.Duration
	// NegativeTTL is how long GetOrLoad remembers that a load said ErrNotFound; 0 is not at all.
	NegativeTTL time.Duration
	// Refresh lets GetOrLoad load an entry anew, in the background, that it returns this long or less
	// before its expiry.
	Refresh time.Duration

	// OnRemove is called with each entry that leaves the cache, under no lock of it, by the goroutine
	// that caused it. The arguments are copies and valid during the call. It must not call the cache.
	// Clear and Close do not call it. A cache to which it refers is not collected without Close.
	OnRemove func(key, value []byte, why Reason)

	// Clock is the time, for tests; nil is time.Now. If it goes back, time stands still for the cache.
	Clock func() time.Time
}

// A Reason says why an entry left the cache.
type Reason uint8

// The reasons.
const (
	Evicted  Reason = iota // The memory was needed.
	Expired                // Its time was over. OnRemove is told when that is found.
	Deleted                // By Delete or Update.
	Replaced               // By another value of the key.
	reasons
)

// String is the reason in a word.
func (r Reason) String() string {
	if r < reasons {
		return [...]string{"evicted", "expired", "deleted", "replaced"}[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// An Op is what Update does with an entry.
type Op uint8

// The operations of Update.
const (
	Keep   Op = iota // Leave it as it is.
	Store            // Store the value.
	Remove           // Remove it.
)

var (
	// ErrSize says that a key has 0 or more than 64 KiB bytes, or that a value has more than an eighth of
	// the budget. The key has no value then.
	ErrSize = errors.New("cache: size not allowed")
	// ErrNaN says that a key has a NaN, which is not equal to itself.
	ErrNaN = errors.New("cache: NaN in a key")
	// ErrClosed says that the cache was closed.
	ErrClosed = errors.New("cache: closed")
	// ErrNotFound is what a loader returns for a key that has no value. GetOrLoad returns it, and
	// remembers it for NegativeTTL.
	ErrNotFound = errors.New("cache: not found")
	// ErrRecursive says that a loader has asked for the key that it loads.
	ErrRecursive = errors.New("cache: the loader asks for the key that it loads")
)

const (
	leastBytes = 1 << 20
	mostBytes  = 4 << 40 // A quarter of what a location can tell.
)

// check lists what is wrong in the options.
func (o *Options) check() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("cache: "+format, args...))
		}
	}
	wrong(o.Bytes < leastBytes, "Options.Bytes is %d; at least %d", o.Bytes, leastBytes)
	wrong(o.Bytes > mostBytes, "Options.Bytes is %d; at most %d", o.Bytes, int64(mostBytes))
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"TTL", o.TTL}, {"Idle", o.Idle}, {"Stale", o.Stale}, {"NegativeTTL", o.NegativeTTL}, {"Refresh", o.Refresh}} {
		wrong(d.d < 0, "Options.%s is %v; not below 0", d.name, d.d)
		wrong(d.d > 0 && d.d < time.Millisecond, "Options.%s is %v; at least 1ms, or 0", d.name, d.d)
	}
	wrong(!(o.Jitter >= 0 && o.Jitter <= 1), "Options.Jitter is %v; from 0 to 1", o.Jitter)
	return errors.Join(errs...)
}
