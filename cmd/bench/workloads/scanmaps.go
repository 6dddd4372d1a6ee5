// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"fmt"
	"sync"

	"github.com/urfave/cli/v3"

	"github.com/freehold-go/freehold/cmd/bench"
)

func scanMapWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name:  "scan/maps",
		Doc:   "One collection while n entries from int32 to int32 are alive, by the kind of map that holds them.",
		Op:    "collection",
		Size:  "entries",
		Quick: []int{500_000},
		Full:  []int{5_000_000},
		Ops:   func(int) int { return 1 },
		Heap:  "map[int32]*int32",
		// Building the maps takes far longer than a collection.
		MaxPasses: 3,
		Flags:     []bench.Flag{scanMapsFlag},
		Contestants: []bench.Contestant{
			{Name: "map[int32]*int32", Prepare: scanMapPointers(1)},
			{Name: "map[int32]int32", Prepare: scanMapValues(1)},
			{Name: "100 × map[int32]*int32", Prepare: scanMapPointers(100)},
			{Name: "100 × map[int32]int32", Prepare: scanMapValues(100)},
			{Name: boundName, Note: "plain slice of keys and values", Prepare: scanSlice},
			{Name: "sync.Map", Note: "of int32 and *int32", Prepare: scanSyncMap},
			{Name: "locked map", Note: "one map[int32]*int32 under a sync.RWMutex", Prepare: scanLocked(1)},
			{Name: "locked shards", Note: "100 × map[int32]*int32, each under a sync.RWMutex", Prepare: scanLocked(100)},
		},
	}}
}

// scanMapsFlag is the size of the maps.
var scanMapsFlag = bench.Flag{
	Flag: &cli.IntFlag{Name: "scan-maps", Usage: "fill the maps of scan with `N` entries"},
	Read: func(c *cli.Command, o *bench.Options) error {
		n := int(c.Int("scan-maps"))
		if n < 1 || n > 1<<31-1 {
			return fmt.Errorf("bench: -scan-maps is %d; it must be from 1 to %d, because keys are int32", n, 1<<31-1)
		}
		o.Sizes["scan/maps"] = []int{n}
		return nil
	},
}

// pairSum is order-independent, because maps are.
func pairSum(key, value int32) uint64 { return uint64(uint32(key))*31 ^ uint64(uint32(value))<<20 }

func scanMapPointers(shards int) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		maps := make([]map[int32]*int32, shards)
		keep = append(keep, maps)
		for i := range maps {
			maps[i] = map[int32]*int32{}
		}
		for i := range int32(r.N) {
			v := i
			maps[int(i)%shards][i] = &v
		}
		return scanRound(func() (sum uint64) {
			for _, m := range maps {
				for k, v := range m {
					sum += pairSum(k, *v)
				}
			}
			return sum
		})
	}
}

func scanMapValues(shards int) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		maps := make([]map[int32]int32, shards)
		keep = append(keep, maps)
		for i := range maps {
			maps[i] = map[int32]int32{}
		}
		for i := range int32(r.N) {
			maps[int(i)%shards][i] = i
		}
		return scanRound(func() (sum uint64) {
			for _, m := range maps {
				for k, v := range m {
					sum += pairSum(k, v)
				}
			}
			return sum
		})
	}
}

func scanSlice(r *bench.Run) func() uint64 {
	entries := make([]struct{ key, value int32 }, r.N)
	keep = append(keep, entries)
	for i := range entries {
		entries[i].key, entries[i].value = int32(i), int32(i)
	}
	return scanRound(func() (sum uint64) {
		for _, e := range entries {
			sum += pairSum(e.key, e.value)
		}
		return sum
	})
}

func scanSyncMap(r *bench.Run) func() uint64 {
	m := new(sync.Map)
	keep = append(keep, m)
	for i := range int32(r.N) {
		v := i
		m.Store(i, &v)
	}
	return scanRound(func() (sum uint64) {
		m.Range(func(k, v any) bool {
			sum += pairSum(k.(int32), *v.(*int32))
			return true
		})
		return sum
	})
}

// A lockedMap is a map with a lock, as most programs share between goroutines.
type lockedMap struct {
	mu sync.RWMutex
	m  map[int32]*int32
}

func scanLocked(shards int) func(r *bench.Run) func() uint64 {
	return func(r *bench.Run) func() uint64 {
		maps := make([]lockedMap, shards)
		keep = append(keep, maps)
		for i := range maps {
			maps[i].m = map[int32]*int32{}
		}
		for i := range int32(r.N) {
			shard, v := &maps[int(i)%shards], i
			shard.mu.Lock()
			shard.m[i] = &v
			shard.mu.Unlock()
		}
		return scanRound(func() (sum uint64) {
			for i := range maps {
				maps[i].mu.RLock()
				for k, v := range maps[i].m {
					sum += pairSum(k, *v)
				}
				maps[i].mu.RUnlock()
			}
			return sum
		})
	}
}
