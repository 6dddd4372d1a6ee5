package main

import (
	"github.com/coocood/freecache"
	"github.com/maypok86/otter/v2"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

func init() {
	const own = "cache.Cache"
	set.Add("cache/miss", bench.Contestant{Name: "otter", Note: "keys are [16]byte, values []byte", Prepare: workloads.CacheMiss(otterWay)})
	set.AddBars("cache/miss", bench.AtMost("cache/miss, by otter", 0.9, bench.TimeRatio("cache/miss", 1<<20, own, "otter")))

	set.Add("cache/garbage", bench.Contestant{Name: "freecache", Prepare: workloads.CacheGarbage(func(bytes int) workloads.CacheWay {
		c := freecache.NewCache(bytes)
		return workloads.CacheWay{Set: func(k, v []byte) {
			if err := c.Set(k, v, 0); err != nil {
				panic(err)
			}
		}, Free: c.Clear}
	})})
	set.AddBars("cache/garbage", bench.AtMost("cache/garbage, CPU beside cache.Cache and gctune by freecache's", 1, bench.TimeRatio("cache/garbage", 0, own+", gctune", "freecache")))
}

func otterWay(n int) workloads.CacheWay {
	c := otter.Must(&otter.Options[[16]byte, []byte]{MaximumSize: 2 * n})
	return workloads.CacheWay{
		Set: func(k, v []byte) { c.Set([16]byte(k), append([]byte(nil), v...)) },
		Get: func(dst, k []byte) []byte {
			v, _ := c.GetIfPresent([16]byte(k))
			return append(dst, v...)
		},
		Free: func() { c.InvalidateAll() },
	}
}
