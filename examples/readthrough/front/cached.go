// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"errors"
	"time"

	"github.com/freehold-go/freehold/cache"
)

// Cached keeps values in a cache.Cache, off the Go heap.
type Cached struct {
	redis *Redis
	c     *cache.Cache
}

// NewCached is a Front that takes up to a number of bytes of memory, all included.
func NewCached(r *Redis, bytes int64) (*Cached, error) {
	c, err := cache.New(cache.Options{
		Name:  "front",
		Bytes: bytes,
		// A value may be old for an hour. The times differ by a tenth, so that values that were loaded
		// together are not loaded anew together.
		TTL:    time.Hour,
		Jitter: 0.1,
		// If Redis fails, older values are better than none.
		Stale: 24 * time.Hour,
		// Keys without a value are remembered, too, but for a short time.
		NegativeTTL: time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &Cached{redis: r, c: c}, nil
}

// Get is Front's. GetOrLoad alone would do, but it returns a value of its own. Get appends to the
// response, so a hit allocates nothing.
func (f *Cached) Get(ctx context.Context, dst, key []byte) ([]byte, error) {
	dst, ok := f.c.Get(dst, key)
	if ok {
		return dst, nil
	}
	// All goroutines that ask for this key now share one call of load.
	value, err := f.c.GetOrLoad(ctx, key, f.load)
	if errors.Is(err, cache.ErrNotFound) {
		err = ErrNil
	}
	return append(dst, value...), err
}

func (f *Cached) load(ctx context.Context, key []byte) ([]byte, error) {
	value, err := f.redis.Get(ctx, nil, key)
	if err == ErrNil {
		err = cache.ErrNotFound
	}
	return value, err
}

// Loads is Front's.
func (f *Cached) Loads() int64 { return f.c.Stats().Loads }

// Close returns the memory.
func (f *Cached) Close() { f.c.Close() }
