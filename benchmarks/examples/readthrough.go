package examples

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/allegro/bigcache/v3"
	"github.com/golang/groupcache/lru"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/examples/readthrough/front"
	"github.com/freehold-go/freehold/gctune"
)

// readThroughMemory is the budget of each cache, a quarter of the values.
func readThroughMemory(keys int) int64 { return int64(keys) * front.ValueSize / 4 }

func readThroughWorkloads() []bench.Workload {
	contestants := twins("a map with a list, under one lock", readThrough(func(r *front.Redis, bytes int64) (front.Front, error) {
		return front.NewPlain(r, bytes), nil
	}), "a cache.Cache, with gctune", tuned(readThrough(newCachedFront)))
	return []bench.Workload{{
		Name:  "examples/readthrough",
		Doc:   "Answer requests for keys of which few are popular, from a warm cache that holds a quarter of them, before a server that speaks Redis's protocol.",
		Op:    "request",
		Size:  "keys",
		Quick: []int{10_000},
		Full:  []int{500_000, 2_000_000},
		Ops:   func(n int) int { return n },
		Contestants: append(contestants,
			bench.Contestant{Name: Name + ", no gctune", Note: "the Go heap is small, so the collector runs often", Prepare: readThrough(newCachedFront), Own: true},
			bench.Contestant{Name: "bigcache", Prepare: readThrough(newBigFront)},
			bench.Contestant{Name: "groupcache's lru", Note: "under one lock", Prepare: readThrough(newGroupFront)}),
	}}
}

func newCachedFront(r *front.Redis, bytes int64) (front.Front, error) {
	return front.NewCached(r, bytes)
}

// tuned runs a tuner beside a contestant, as the example does.
func tuned(p prepare) prepare {
	return func(r *bench.Run) func() uint64 {
		ctx, stop := context.WithCancel(context.Background())
		tuner, err := gctune.Start(ctx, gctune.Options{})
		if err != nil {
			r.Fail(err)
			stop()
			return func() uint64 { return 0 }
		}
		r.Cleanup(func() { stop(); <-tuner.Done() })
		return p(r)
	}
}

func readThrough(newFront func(r *front.Redis, bytes int64) (front.Front, error)) prepare {
	return func(r *bench.Run) func() uint64 {
		none := func() uint64 { return 0 } // After Fail.
		server, err := front.NewEmbedded()
		if err != nil {
			r.Fail(err)
			return none
		}
		r.Cleanup(server.Close)
		redis := front.NewRedis(server.Address())
		r.Cleanup(redis.Close)
		f, err := newFront(redis, readThroughMemory(r.N))
		if err != nil {
			r.Fail(err)
			return none
		}
		r.Cleanup(f.Close)
		load := front.Load{Keys: r.N, Requests: r.N, Goroutines: 16}
		round := func() uint64 {
			loads := f.Loads()
			load.Seed++
			sum, latency, err := load.Run(context.Background(), f)
			if err != nil {
				r.Fail(err)
			}
			r.Peak()
			r.Report("hit_ratio", 1-float64(f.Loads()-loads)/float64(load.Requests))
			late := 0
			for i, n := range latency {
				if i == len(front.Bounds) || front.Bounds[i] > 5*time.Millisecond {
					late += n
				}
			}
			r.Report("over_5ms_ratio", float64(late)/float64(load.Requests))
			return sum
		}
		round() // Warms the cache.
		return round
	}
}

// A rivalFront is a Front on a cache with get and set.
type rivalFront struct {
	redis *front.Redis
	loads atomic.Int64
	get   func(dst, key []byte) ([]byte, bool)
	set   func(key, value []byte)
	close func()
}

func (f *rivalFront) Get(ctx context.Context, dst, key []byte) ([]byte, error) {
	if v, ok := f.get(dst, key); ok {
		return v, nil
	}
	f.loads.Add(1)
	value, err := f.redis.Get(ctx, nil, key)
	if err != nil {
		return dst, err
	}
	f.set(key, value)
	return append(dst, value...), nil
}

func (f *rivalFront) Loads() int64 { return f.loads.Load() }

func (f *rivalFront) Close() { f.close() }

// newBigFront is bigcache with its defaults, but for the budget, which it takes in MiB.
func newBigFront(r *front.Redis, bytes int64) (front.Front, error) {
	config := bigcache.DefaultConfig(time.Hour)
	config.HardMaxCacheSize = int(max(bytes>>20, 1))
	config.MaxEntriesInWindow = int(bytes) / front.ValueSize
	config.MaxEntrySize = 2 * front.ValueSize
	config.Verbose = false
	c, err := bigcache.New(context.Background(), config)
	if err != nil {
		return nil, err
	}
	return &rivalFront{
		redis: r,
		get: func(dst, key []byte) ([]byte, bool) {
			v, err := c.Get(string(key))
			return append(dst, v...), err == nil
		},
		set:   func(key, value []byte) { _ = c.Set(string(key), value) }, // A value that does not fit is not kept.
		close: func() { c.Close() },
	}, nil
}

// newGroupFront is the LRU of groupcache, which counts entries and has no lock.
func newGroupFront(r *front.Redis, bytes int64) (front.Front, error) {
	c := lru.New(int(bytes) / front.ValueSize)
	var mu sync.Mutex
	return &rivalFront{
		redis: r,
		get: func(dst, key []byte) ([]byte, bool) {
			mu.Lock()
			v, ok := c.Get(string(key))
			mu.Unlock()
			if !ok {
				return dst, false
			}
			return append(dst, v.([]byte)...), true
		},
		set: func(key, value []byte) {
			mu.Lock()
			defer mu.Unlock()
			c.Add(string(key), value)
		},
		close: func() {},
	}, nil
}
