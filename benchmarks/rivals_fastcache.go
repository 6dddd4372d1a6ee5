package main

import (
	"github.com/VictoriaMetrics/fastcache"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

func init() {
	const name, own = "fastcache", "cache.Cache"
	newWay := func(n int) workloads.CacheWay {
		c := fastcache.New(max(n*512, 32<<20))
		return workloads.CacheWay{Set: c.Set, Get: c.Get, Free: c.Reset}
	}
	for workload, prepare := range map[string]func(workloads.NewCacheWay) func(*bench.Run) func() uint64{
		"cache/miss": workloads.CacheMiss, "cache/fill": workloads.CacheFill, "cache/update": workloads.CacheUpdate, "cache/mixed": workloads.CacheMixed,
	} {
		set.Add(workload, bench.Contestant{Name: name, Prepare: prepare(newWay)})
	}
	const n = 1 << 20
	for goroutines, workload := range []string{"cache/get", "cache/both"} {
		set.Add(workload, bench.Contestant{Name: name, Prepare: workloads.CacheGet(newWay, goroutines+1)})
		set.AddBars(workload,
			bench.AtMost(workload+", Get by fastcache", 0.6, bench.TimeRatio(workload, n, own, name)),
			bench.AtMost(workload+", View by fastcache", 0.55, bench.TimeRatio(workload, n, own+", View", name)),
			bench.AtMost(workload+", GetMany of 16 by fastcache", 0.35, bench.TimeRatio(workload, n, own+", GetMany", name)))
	}
	set.AddBars("cache/fill", bench.AtMost("cache/fill, Set of new keys by fastcache", 0.85, bench.TimeRatio("cache/fill", n, own, name)))
	set.AddBars("cache/update", bench.AtMost("cache/update, Set of keys that are there by fastcache", 0.85, bench.TimeRatio("cache/update", n, own, name)))
	set.AddBars("cache/mixed", bench.AtMost("cache/mixed, by fastcache", 0.65, bench.TimeRatio("cache/mixed", n, own, name)))
}
