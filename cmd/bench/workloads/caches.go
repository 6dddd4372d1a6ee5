// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"sync"

	"github.com/freehold-go/freehold/cache"
	"github.com/freehold-go/freehold/cmd/bench"
)

// Caches of bytes: keys of 16 bytes, values of 100, and more room than they need.

// A CacheWay is a cache. Of the ways to read, those that it lacks are nil.
type CacheWay struct {
	Set  func(key, value []byte)
	Get  func(dst, key []byte) []byte // Appends the value.
	View func(key []byte, f func(value []byte))
	Many func(keys [][]byte, f func(value []byte))
	Free func()
}

const (
	cacheValue  = 100
	cacheBatch  = 16
	goMapsName  = "Go maps with locks"
	ownCache    = "cache.Cache"
	ownCacheCut = "cache.Cache, View"
	ownMany     = "cache.Cache, GetMany"
)

// cacheRoom is a budget in which n entries have room several times.
func cacheRoom(n int) int64 { return max(int64(n)*512, 4<<20) }

// NewCacheWay makes a cache for n entries.
type NewCacheWay func(n int) CacheWay

func ownCacheWay(n int) CacheWay {
	c, err := cache.New(cache.Options{Bytes: cacheRoom(n)})
	if err != nil {
		panic(err)
	}
	return CacheWay{
		Set: func(k, v []byte) {
			if err := c.Set(k, v); err != nil {
				panic(err)
			}
		},
		Get:  func(dst, k []byte) []byte { dst, _ = c.Get(dst, k); return dst },
		View: func(k []byte, f func([]byte)) { c.View(k, f) },
		Many: func(ks [][]byte, f func([]byte)) { c.GetMany(ks, func(_ int, v []byte) { f(v) }) },
		Free: func() { c.Close() },
	}
}

// goMapsWay is what programs write by hand: 256 maps, each with a lock.
func goMapsWay(int) CacheWay {
	type shard struct {
		sync.RWMutex
		m map[string][]byte
	}
	seed := maphash.MakeSeed()
	shards := make([]shard, 256)
	for i := range shards {
		shards[i].m = map[string][]byte{}
	}
	of := func(k []byte) *shard { return &shards[maphash.Bytes(seed, k)%256] }
	return CacheWay{
		Set: func(k, v []byte) {
			s := of(k)
			v = append([]byte(nil), v...)
			s.Lock()
			s.m[string(k)] = v
			s.Unlock()
		},
		Get: func(dst, k []byte) []byte {
			s := of(k)
			s.RLock()
			dst = append(dst, s.m[string(k)]...)
			s.RUnlock()
			return dst
		},
		Free: func() {},
	}
}

// cacheKey is key i.
func cacheKey(b []byte, i uint64) []byte {
	x := (i + 1) * 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b[:0], x), i)
}

func cacheWorkloads() []bench.Workload {
	sizes, quick := []int{1 << 20}, []int{1 << 14}
	each := func(n int) int { return n }
	w := func(name, doc string, contestants ...bench.Contestant) bench.Workload {
		return bench.Workload{Name: name, Doc: doc, Op: "operation", Size: "entries", Heap: goMapsName, Full: sizes, Quick: quick, Ops: each, Contestants: contestants}
	}
	both := func(prepare func(NewCacheWay) func(*bench.Run) func() uint64) []bench.Contestant {
		return append([]bench.Contestant{{Name: goMapsName, Note: "256 of them", Prepare: prepare(goMapsWay)}},
			own(bench.Contestant{Name: ownCache, Prepare: prepare(ownCacheWay)})...)
	}
	read := func(goroutines int) []bench.Contestant {
		return append(both(func(newWay NewCacheWay) func(*bench.Run) func() uint64 { return CacheGet(newWay, goroutines) }), own(
			bench.Contestant{Name: ownCacheCut, Note: "without a copy", Prepare: cacheReads(ownCacheWay, viewing, goroutines)},
			bench.Contestant{Name: ownMany, Note: "16 at a time, without a copy", Prepare: cacheReads(ownCacheWay, batching, goroutines)},
		)...)
	}
	return []bench.Workload{
		w("cache/get", "Get keys that are there, in random order.", read(1)...),
		w("cache/both", "The same in two goroutines.", read(2)...),
		w("cache/miss", "Get keys that are not there.", both(CacheMiss)...),
		w("cache/fill", "Set n new keys in an empty cache.", both(CacheFill)...),
		w("cache/update", "Set keys that are there, in random order.", both(CacheUpdate)...),
		w("cache/mixed", "Three Gets and one Set of keys that are there, in random order.", both(CacheMixed)...),
	}
}

// filled makes a cache of n entries.
func filled(r *bench.Run, newWay NewCacheWay) CacheWay {
	c := newWay(r.N)
	fill(c, r.N)
	r.Cleanup(c.Free)
	return c
}

func fill(c CacheWay, n int) {
	var key []byte
	value := make([]byte, cacheValue)
	for i := range n {
		key = cacheKey(key, uint64(i))
		c.Set(key, value)
	}
}

// randomKeys returns a function that calls f with n keys below n, the same ones in each round.
func randomKeys(n int, f func(key []byte, i int)) func() uint64 {
	return func() uint64 {
		someKeys(1, n, n, f)
		return uint64(n)
	}
}

// someKeys calls f with so many keys below n, which the seed chooses.
func someKeys(seed uint64, n, count int, f func(key []byte, i int)) {
	r := rand.New(rand.NewPCG(seed, 2))
	var key []byte
	for i := range count {
		key = cacheKey(key, r.Uint64N(uint64(n)))
		f(key, i)
	}
}

// A cacheReader returns a function that reads key i of n, and adds to hits.
type cacheReader func(c CacheWay, n int, hits *int) func(key []byte, i int)

func copying(c CacheWay, _ int, hits *int) func([]byte, int) {
	var dst []byte
	return func(key []byte, _ int) {
		dst = c.Get(dst[:0], key)
		*hits += len(dst) / cacheValue
	}
}

func viewing(c CacheWay, _ int, hits *int) func([]byte, int) {
	see := func(v []byte) { *hits += len(v) / cacheValue }
	return func(key []byte, _ int) { c.View(key, see) }
}

func batching(c CacheWay, n int, hits *int) func([]byte, int) {
	see := func(v []byte) { *hits += len(v) / cacheValue }
	keys := make([][]byte, cacheBatch)
	return func(key []byte, i int) {
		keys[i%cacheBatch] = append(keys[i%cacheBatch][:0], key...)
		if m := i%cacheBatch + 1; m == cacheBatch || i == n-1 {
			c.Many(keys[:m], see)
		}
	}
}

// CacheGet reads keys that are there, in some goroutines.
func CacheGet(newWay NewCacheWay, goroutines int) func(*bench.Run) func() uint64 {
	return cacheReads(newWay, copying, goroutines)
}

// reportHits reports the share of the reads that found a value: a cache may have evicted some although it has room.
func reportHits(r *bench.Run, hits, reads *int) {
	r.Cleanup(func() { r.Report("hit_ratio", float64(*hits)/float64(max(*reads, 1))) })
}

// cacheReads reads in one way.
func cacheReads(newWay NewCacheWay, reader cacheReader, goroutines int) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		c := filled(r, newWay)
		all, reads := 0, 0
		reportHits(r, &all, &reads)
		return func() uint64 {
			hits := make([]struct {
				n int
				_ [120]byte // Each goroutine writes to cache lines of its own.
			}, goroutines)
			var wg sync.WaitGroup
			for g := range goroutines {
				n := r.N*(g+1)/goroutines - r.N*g/goroutines
				wg.Go(func() { someKeys(uint64(g), r.N, n, reader(c, n, &hits[g].n)) })
			}
			wg.Wait()
			for g := range hits {
				all += hits[g].n
			}
			reads += r.N
			return uint64(r.N)
		}
	}
}

// CacheMiss reads keys that are not there.
func CacheMiss(newWay NewCacheWay) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		c := filled(r, newWay)
		var dst, key []byte
		return func() uint64 {
			for i := range r.N {
				key = cacheKey(key, uint64(r.N+i))
				dst = c.Get(dst[:0], key)
			}
			return uint64(r.N)
		}
	}
}

// CacheFill fills an empty cache.
func CacheFill(newWay NewCacheWay) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		return func() uint64 {
			c := newWay(r.N)
			fill(c, r.N)
			r.Peak()
			c.Free()
			return uint64(r.N)
		}
	}
}

// CacheUpdate sets keys that are there.
func CacheUpdate(newWay NewCacheWay) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		c := filled(r, newWay)
		value := make([]byte, cacheValue)
		return randomKeys(r.N, func(key []byte, _ int) { c.Set(key, value) })
	}
}

// CacheMixed reads three keys for each that it sets.
func CacheMixed(newWay NewCacheWay) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		c := filled(r, newWay)
		var dst []byte
		value := make([]byte, cacheValue)
		return randomKeys(r.N, func(key []byte, i int) {
			if i%4 == 0 {
				c.Set(key, value)
			} else {
				dst = c.Get(dst[:0], key)
			}
		})
	}
}
