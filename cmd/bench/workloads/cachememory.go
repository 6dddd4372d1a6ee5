// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/freehold-go/freehold/cache"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/usage"
	"github.com/freehold-go/freehold/gctune"
)

// What a full cache costs the rest of the program: a collection, memory, and the collector's rhythm.

const (
	// CacheCollectorPayload is the bytes of key and value in cache/collector.
	CacheCollectorPayload = 8 + 64
	emptyProgram          = "nothing"
	ownTuned              = "cache.Cache, gctune"
	ownThroughput         = "cache.Cache, gctune for throughput"
	garbageCache          = 1 << 30
	residentMiB           = 256
)

func cacheMemoryWorkloads() []bench.Workload {
	const overhead, growth = "overhead_per_entry_bytes", "most_by_budget"
	return []bench.Workload{{
		Name: "cache/collector", Doc: "One collection while n entries of 8 and 64 bytes are in a cache; and the memory that each takes beside these.",
		Op: "collection", Size: "entries", Heap: goMapsName, Bound: emptyProgram, Full: []int{10_000_000}, MaxPasses: 3, Ops: func(int) int { return 1 },
		Contestants: append([]bench.Contestant{
			{Name: emptyProgram, Prepare: func(r *bench.Run) func() uint64 { return scanRound(func() uint64 { return uint64(r.N) }) }},
			{Name: goMapsName, Note: "256 of them", Prepare: CacheCollector(goMapsWay)},
		}, own(bench.Contestant{Name: ownCache, Prepare: CacheCollector(ownCacheWay)})...),
		Bars: []bench.Bar{
			bench.AtMost("cache/collector, milliseconds of CPU more than without a cache", 0.3, func(rows bench.Rows) (float64, string, bool) {
				a, b := rows.Find("cache/collector", 0, ownCache), rows.Find("cache/collector", 0, emptyProgram)
				if a == nil || b == nil {
					return 0, "", false
				}
				return (a.NsOp - b.NsOp) / 1e6, fmt.Sprintf("%.2f ms, %.2f without", a.NsOp/1e6, b.NsOp/1e6), true
			}),
			bench.AtMost("cache/collector, bytes of each entry beside key and value", 22, bench.ExtraValue("cache/collector", ownCache, overhead)),
		},
	}, {
		Name: "cache/resident", Doc: "Entries whose sizes change fill a cache of n MiB many times; then it is resized to a tenth.",
		Op: "MiB", Size: "MiB", Full: []int{residentMiB}, MaxPasses: 3, Ops: func(n int) int { return 20 * n },
		Contestants: own(bench.Contestant{Name: ownCache, Prepare: cacheResident}),
		Bars: []bench.Bar{
			bench.AtMost("cache/resident, resident memory by budget, 2 % and 4 MiB: sizes that change", 1, bench.ExtraValue("cache/resident", ownCache, growth)),
			bench.AtMost("cache/resident, the same a second after a resize to a tenth", 1, bench.ExtraValue("cache/resident", ownCache, "resized_by_budget")),
		},
	}, {
		Name: "cache/garbage", Doc: "Make n MiB of garbage beside a full cache of 1 GiB.",
		Op: "MiB", Size: "MiB", Heap: ownCache, Full: []int{16 << 10}, MaxPasses: 3, Ops: func(n int) int { return n },
		Contestants: own(
			bench.Contestant{Name: ownCache, Note: "GOGC counts a Go heap without the cache", Prepare: CacheGarbage(boundedCache)},
			bench.Contestant{Name: ownTuned, Note: "gctune.Start", Prepare: tuned(gctune.Balanced, CacheGarbage(boundedCache))},
			bench.Contestant{Name: ownThroughput, Note: "with the policy Throughput", Prepare: tuned(gctune.Throughput, CacheGarbage(boundedCache))},
		),
	}}
}

// boundedCache is a cache of as many bytes.
func boundedCache(bytes int) CacheWay {
	c, err := cache.New(cache.Options{Bytes: int64(bytes)})
	if err != nil {
		panic(err)
	}
	return CacheWay{Set: func(k, v []byte) {
		if err := c.Set(k, v); err != nil {
			panic(err)
		}
	}, Free: func() { c.Close() }}
}

// CacheCollector collects garbage beside a full cache, and reports the overhead of an entry.
func CacheCollector(newWay NewCacheWay) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		debug.FreeOSMemory()
		before := usage.RSS()
		c := newWay(r.N)
		r.Cleanup(c.Free)
		var key []byte
		value := make([]byte, CacheCollectorPayload-8)
		for i := range r.N {
			key = binary.LittleEndian.AppendUint64(key[:0], uint64(i)*0x9e3779b97f4a7c15)
			c.Set(key, value)
		}
		filled := usage.RSS()
		return scanRound(func() uint64 {
			count := 0
			for i := range r.N {
				key = binary.LittleEndian.AppendUint64(key[:0], uint64(i)*0x9e3779b97f4a7c15)
				if value = c.Get(value[:0], key); len(value) > 0 {
					count++
				}
			}
			r.Report("overhead_per_entry_bytes", (filled-before)/float64(max(count, 1))-CacheCollectorPayload)
			r.Report("hit_ratio", float64(count)/float64(r.N))
			return uint64(r.N)
		})
	}
}

// cacheResident sets entries of sizes that change from round to round, and reports the resident memory.
func cacheResident(r *bench.Run) func() uint64 {
	mib := r.N
	if r.Quick {
		mib = 16
	}
	budget := float64(mib << 20)
	debug.FreeOSMemory()
	before := usage.RSS()
	c, err := cache.New(cache.Options{Bytes: int64(budget)})
	if err != nil {
		r.Fail(err)
		return func() uint64 { return 0 }
	}
	r.Cleanup(func() { c.Close() })
	most := 0.0
	share := func(budget float64) float64 { return (usage.RSS() - before) / (budget*1.02 + 4<<20) }
	return func() uint64 {
		if err := c.Resize(int64(budget)); err != nil {
			r.Fail(err)
		}
		random := rand.New(rand.NewPCG(1, 2))
		var key []byte
		value := make([]byte, 64<<10)
		for part := range 20 {
			size := []int{64, 4000, 300, 20_000, 1000}[part%5]
			for set := 0; set < mib<<20; {
				n := 1 + random.IntN(2*size)
				key = cacheKey(key, random.Uint64N(1<<24))
				if err := c.Set(key, value[:n]); err != nil {
					r.Fail(err)
				}
				set += n + len(key)
			}
			most = max(most, share(budget))
		}
		r.Report("most_by_budget", most)
		if err := c.Resize(int64(budget / 10)); err != nil {
			r.Fail(err)
		}
		if !r.Quick {
			time.Sleep(time.Second)
		}
		r.Report("resized_by_budget", share(budget/10))
		return 1
	}
}

// garbage is 128 bytes of it.
type garbage struct {
	next *garbage
	_    [15]uint64
}

// CacheGarbage makes garbage beside a cache that has been filled.
func CacheGarbage(newWay NewCacheWay) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		full, mib := garbageCache, r.N
		if r.Quick {
			full, mib = 32<<20, 16
		}
		c := newWay(full)
		r.Cleanup(c.Free)
		var key []byte
		value := make([]byte, cacheValue)
		for i := range full / cacheValue {
			c.Set(cacheKey(key[:0], uint64(i)), value)
		}
		return func() uint64 {
			var last *garbage
			for i := range mib << 20 / 128 {
				g := &garbage{}
				if i%64 != 0 {
					g.next = last
				}
				last = g
			}
			runtime.KeepAlive(last)
			return 1
		}
	}
}

// tuned is a contestant in a process with gctune.
func tuned(policy gctune.Policy, prepare func(*bench.Run) func() uint64) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		ctx, cancel := context.WithCancel(context.Background())
		tuner, err := gctune.Start(ctx, gctune.Options{Policy: policy})
		if err != nil {
			r.Fail(err)
			cancel()
			return func() uint64 { return 0 }
		}
		r.Cleanup(func() {
			cancel()
			<-tuner.Done()
		})
		return prepare(r)
	}
}
