package main

import (
	"strings"

	"github.com/phuslu/lru"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/workloads"
)

func init() {
	const name, workload = "phuslu/lru", "cache/objects"
	newWay := func(n int) workloads.StringWay[*workloads.CachedObject] {
		c := lru.NewLRUCache[string, *workloads.CachedObject](2 * n) // So that no shard is full.
		return workloads.StringWay[*workloads.CachedObject]{
			Set:  func(k string, v *workloads.CachedObject) { c.Set(strings.Clone(k), v) },
			Get:  func(k string) *workloads.CachedObject { v, _ := c.Get(k); return v },
			Free: func() {},
		}
	}
	set.Add(workload, bench.Contestant{Name: name, Prepare: workloads.ObjectsGet(newWay)})
	set.AddBars(workload, bench.AtMost("cache/objects, Get by phuslu/lru", 0.8, bench.TimeRatio(workload, 1<<20, "cache.Objects", name)))
}
