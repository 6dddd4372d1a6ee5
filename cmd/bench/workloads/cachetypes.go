// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"hash/maphash"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/freehold-go/freehold/cache"
	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/usage"
)

// A CachedObject is what a program would parse: here 64 bytes with a pointer.
type CachedObject struct {
	Name   string
	Fields [6]uint64
}

// A StringWay maps strings to values of type V.
type StringWay[V any] struct {
	Set  func(key string, v V)
	Get  func(key string) V
	Free func()
}

const (
	ownObjects = "cache.Objects"
	ownMap     = "cache.Map"
	mapFull    = 10_000_000
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func ownObjectsWay(n int) StringWay[*CachedObject] {
	c, err := cache.NewObjects(cache.OptionsOf[string, *CachedObject]{Options: cache.Options{Bytes: cacheRoom(n)}})
	must(err)
	return StringWay[*CachedObject]{
		Set:  func(k string, v *CachedObject) { must(c.Set(k, v)) },
		Get:  func(k string) *CachedObject { v, _ := c.Get(k); return v },
		Free: func() { c.Close() },
	}
}

func ownMapWay(int) StringWay[uint64] {
	m, err := cache.NewMap[string, uint64](cache.MapOptions{})
	must(err)
	return StringWay[uint64]{
		Set:  func(k string, v uint64) { must(m.Set(k, v)) },
		Get:  func(k string) uint64 { v, _ := m.Get(k); return v },
		Free: func() { m.Close() },
	}
}

// goStringMaps are 256 maps, each with a lock. The keys are copied, as if they came from a connection.
func goStringMaps[V any](int) StringWay[V] {
	type shard struct {
		sync.RWMutex
		m map[string]V
	}
	seed := maphash.MakeSeed()
	shards := make([]shard, 256)
	for i := range shards {
		shards[i].m = map[string]V{}
	}
	return StringWay[V]{
		Set: func(k string, v V) {
			s := &shards[maphash.String(seed, k)%256]
			k = strings.Clone(k)
			s.Lock()
			s.m[k] = v
			s.Unlock()
		},
		Get: func(k string) V {
			s := &shards[maphash.String(seed, k)%256]
			s.RLock()
			v := s.m[k]
			s.RUnlock()
			return v
		},
		Free: func() { clear(shards) },
	}
}

// eachKey calls f with the keys of count numbers, which of says. The keys are new strings, as if they came from a
// connection, made a thousand at a time.
func eachKey(count int, of func(i int) uint64, f func(i int, key string)) {
	const batch = 1024
	var b, key []byte
	for from := 0; from < count; from += batch {
		b = b[:0]
		n := min(batch, count-from)
		for i := range n {
			key = cacheKey(key, of(from+i))
			b = append(b, key...)
		}
		all := string(b)
		for i := range n {
			f(from+i, all[16*i:16*i+16])
		}
	}
}

// fillStrings sets n keys.
func fillStrings[V any](way StringWay[V], n int, value func(i int) V) {
	eachKey(n, func(i int) uint64 { return uint64(i) }, func(i int, key string) { way.Set(key, value(i)) })
}

// StringGet fills a way with n values and reads them in random order. It reports the resident memory of the
// way. number is a number of each value that set was given.
func StringGet[V any](newWay func(n int) StringWay[V], value func(i int) V, number func(V) uint64) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		debug.FreeOSMemory()
		before := usage.RSS()
		way := newWay(r.N)
		fillStrings(way, r.N, value)
		debug.FreeOSMemory()
		r.Report("resident_bytes", usage.RSS()-before)
		r.Cleanup(way.Free)
		return func() (sum uint64) {
			random := rand.New(rand.NewPCG(1, 2))
			eachKey(r.N, func(int) uint64 { return random.Uint64N(uint64(r.N)) }, func(_ int, key string) { sum += number(way.Get(key)) })
			return sum
		}
	}
}

// StringFill fills an empty way.
func StringFill[V any](newWay func(n int) StringWay[V], value func(i int) V) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		return func() uint64 {
			way := newWay(r.N)
			fillStrings(way, r.N, value)
			r.Peak()
			way.Free()
			return uint64(r.N)
		}
	}
}

// ObjectsGet is the workload cache/objects of a way.
func ObjectsGet(newWay func(n int) StringWay[*CachedObject]) func(*bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		hits, reads := 0, 0
		reportHits(r, &hits, &reads) // A cache may have evicted some although it has room.
		return StringGet(newWay,
			func(i int) *CachedObject { return &CachedObject{Fields: [6]uint64{uint64(i)}} },
			func(v *CachedObject) uint64 {
				if reads++; v != nil {
					hits++
				}
				return 1
			})(r)
	}
}

func cacheTypeWorkloads() []bench.Workload {
	numberOf := func(i int) uint64 { return uint64(i) }
	same := func(v uint64) uint64 { return v }
	return []bench.Workload{
		{
			Name: "cache/objects", Doc: "Get pointers to objects of 64 bytes by strings of 16 bytes, in random order.",
			Op: "Get", Size: "objects", Heap: goMapsName, Quick: []int{1 << 14}, Full: []int{1 << 20}, Ops: func(n int) int { return n },
			Contestants: append([]bench.Contestant{{Name: goMapsName, Note: "256 of them", Prepare: ObjectsGet(goStringMaps[*CachedObject])}},
				own(bench.Contestant{Name: ownObjects, Prepare: ObjectsGet(ownObjectsWay)})...),
		},
		{
			Name: "cache/map", Doc: "Get numbers by strings of 16 bytes, in random order.",
			Op: "Get", Size: "entries", Heap: goMapsName, Quick: []int{1 << 14}, Full: []int{mapFull}, Ops: func(n int) int { return n }, MaxPasses: 3,
			Contestants: append([]bench.Contestant{{Name: goMapsName, Note: "256 of them", Prepare: StringGet(goStringMaps[uint64], numberOf, same)}},
				own(bench.Contestant{Name: ownMap, Prepare: StringGet(ownMapWay, numberOf, same)})...),
			Bars: []bench.Bar{
				bench.AtMost("cache/map, Get by 256 Go maps", 0.9, bench.TimeRatio("cache/map", mapFull, ownMap, goMapsName)),
				bench.AtMost("cache/map, resident memory by 256 Go maps", 0.8, bench.ExtraRatio("cache/map", ownMap, goMapsName, "resident_bytes")),
			},
		},
		{
			Name: "cache/map/fill", Doc: "Set n new strings of 16 bytes in an empty map.",
			Op: "Set", Size: "entries", Heap: goMapsName, Full: []int{mapFull}, Ops: func(n int) int { return n }, MaxPasses: 3,
			Contestants: append([]bench.Contestant{{Name: goMapsName, Note: "256 of them", Prepare: StringFill(goStringMaps[uint64], numberOf)}},
				own(bench.Contestant{Name: ownMap, Prepare: StringFill(ownMapWay, numberOf)})...),
		},
	}
}
