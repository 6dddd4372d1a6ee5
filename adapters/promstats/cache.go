// SPDX-License-Identifier: Apache-2.0

package promstats

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/freehold-go/freehold/cache"
)

// A CacheSource is a cache of package cache, of any type.
type CacheSource interface{ Stats() cache.Stats }

// NewCacheCollector makes a collector of the figures of one cache. The label cache has the name, or
// cache.Options.Name if the name is empty. Register one for each cache, under different names; a
// registry refuses a second one of the same name. A registered cache is not collected: call
// Unregister before you drop the cache. A collection takes some microseconds.
//
//	freehold_cache_hits_total{cache}              reads that found a value
//	freehold_cache_misses_total{cache}            reads that found none
//	freehold_cache_removed_total{cache,reason}    entries that left: "evicted", "expired", "deleted" or "replaced"
//	freehold_cache_loads_total{cache}             calls of loaders
//	freehold_cache_load_failures_total{cache}     loads with an error other than cache.ErrNotFound
//	freehold_cache_entries{cache}                 entries in the cache
//	freehold_cache_eviction_age_seconds{cache}    how long ago entries that were evicted lately had been written, about
//	freehold_cache_weight{cache}                  the weights of the entries of Objects, of the budget
//	freehold_cache_budget_bytes{cache}            the budget; the next two are parts of it
//	freehold_cache_held_bytes{cache}              memory that is held
//	freehold_cache_viewed_bytes{cache}            memory that stays because functions of View have not returned
//	freehold_cache_entry_bytes{cache}             entries in the memory that is held
//	freehold_cache_table_bytes{cache}             the table that finds the entries
//
// The memory is also a part of freehold_offheap_held_bytes.
func NewCacheCollector(c CacheSource, name string) prometheus.Collector {
	if name == "" {
		name = c.Stats().Name
	}
	k := &cacheCollector{source: c}
	desc := func(of, help string, labels ...string) *prometheus.Desc {
		d := prometheus.NewDesc("freehold_cache_"+of, help, labels, prometheus.Labels{"cache": valid(name)})
		k.descs = append(k.descs, d)
		return d
	}
	k.hits = desc("hits_total", "Reads of a cache that found a value.")
	k.misses = desc("misses_total", "Reads of a cache that found no value.")
	k.removed = desc("removed_total", "Entries that left a cache, by reason.", "reason")
	k.loads = desc("loads_total", "Calls of a cache's loaders.")
	k.failures = desc("load_failures_total", "Loads of a cache with an error other than that there is no value.")
	k.entries = desc("entries", "Entries of a cache, those included that have expired and were not found yet.")
	k.age = desc("eviction_age_seconds", "How long ago entries that a cache evicted lately had been written, about.")
	k.weight = desc("weight", "The weights of the entries of a cache of objects, of its budget.")
	k.budget = desc("budget_bytes", "The budget of a cache.")
	k.held = desc("held_bytes", "Bytes of memory that a cache holds, of its budget.")
	k.viewed = desc("viewed_bytes", "Bytes that a cache cannot reuse because functions of View have not returned.")
	k.entry = desc("entry_bytes", "Bytes of a cache's entries.")
	k.table = desc("table_bytes", "Bytes of the table that finds a cache's entries.")
	return k
}

// A cacheCollector has no state, so any number of goroutines may collect at once.
type cacheCollector struct {
	source                                      CacheSource
	age, weight                                 *prometheus.Desc
	descs                                       []*prometheus.Desc
	hits, misses, removed, loads, failures      *prometheus.Desc
	entries, budget, held, viewed, entry, table *prometheus.Desc
}

// Describe sends the descriptions of all metrics.
func (k *cacheCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range k.descs {
		to <- d
	}
}

// Collect reads the figures.
func (k *cacheCollector) Collect(to chan<- prometheus.Metric) {
	g, s := values{to}, k.source.Stats()
	g.count(k.hits, uint64(s.Hits))
	g.count(k.misses, uint64(s.Misses))
	for reason, n := range map[cache.Reason]int64{
		cache.Evicted: s.Evicted, cache.Expired: s.Expired, cache.Deleted: s.Deleted, cache.Replaced: s.Replaced,
	} {
		g.count(k.removed, uint64(n), reason.String())
	}
	g.count(k.loads, uint64(s.Loads))
	g.count(k.failures, uint64(s.LoadsFailed))
	g.set(k.entries, s.Entries)
	g.to <- prometheus.MustNewConstMetric(k.age, prometheus.GaugeValue, s.EvictionAge.Seconds())
	g.set(k.weight, s.Weight)
	g.set(k.budget, s.Bytes)
	g.set(k.held, s.BytesHeld)
	g.set(k.viewed, s.BytesViewed)
	g.set(k.entry, s.BytesEntries)
	g.set(k.table, s.BytesTable)
}
