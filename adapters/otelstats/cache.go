// SPDX-License-Identifier: Apache-2.0

package otelstats

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/freehold-go/freehold/cache"
)

// A CacheSource is a cache of package cache, of any type.
type CacheSource interface{ Stats() cache.Stats }

// RegisterCache makes the instruments for one cache on a meter of the provider, as [Register] does,
// and observes its figures at each collection, until Unregister of the result. The attribute cache
// has the name, or cache.Options.Name if the name is empty. Register each cache once, under a name
// of its own: OpenTelemetry adds up what two registrations observe. A registered cache is not
// collected: call Unregister before you drop the cache. A collection takes some microseconds.
//
//	freehold.cache.hits{cache}                     counts reads that found a value
//	freehold.cache.misses{cache}                   counts reads that found none
//	freehold.cache.removed{cache,reason}           counts entries that left: "evicted", "expired", "deleted" or "replaced"
//	freehold.cache.loads{cache}                    counts calls of loaders
//	freehold.cache.load_failures{cache}            counts loads with an error other than cache.ErrNotFound
//	freehold.cache.entries{cache}                  entries in the cache
//	freehold.cache.eviction_age{cache}        s    how long ago entries that were evicted lately had been written, about
//	freehold.cache.weight{cache}                   the weights of the entries of Objects, of the budget
//	freehold.cache.budget{cache}              By   the budget; the next two are parts of it
//	freehold.cache.held{cache}                By   memory that is held
//	freehold.cache.viewed{cache}              By   memory that stays because functions of View have not returned
//	freehold.cache.entry{cache}               By   entries in the memory that is held
//	freehold.cache.table{cache}               By   the table that finds the entries
//
// The memory is also a part of freehold.offheap.held.
func RegisterCache(provider metric.MeterProvider, c CacheSource, name string) (metric.Registration, error) {
	if c == nil {
		return nil, errors.New("otelstats: RegisterCache: no cache")
	}
	if name == "" {
		name = c.Stats().Name
	}
	return registerWith(provider, "RegisterCache", func(m *maker) func(observer) {
		f := newCacheFigures(m)
		return func(o observer) { f.observe(o, c.Stats(), name) }
	})
}

// cacheFigures are the instruments of caches.
type cacheFigures struct {
	hits, misses, removed, loads, failures      metric.Int64Observable
	entries, budget, held, viewed, entry, table metric.Int64Observable
	weight                                      metric.Int64Observable
	age                                         metric.Float64Observable
}

func newCacheFigures(m *maker) cacheFigures {
	return cacheFigures{
		hits:     m.count("cache.hits", "{read}", "Reads of a cache that found a value."),
		misses:   m.count("cache.misses", "{read}", "Reads of a cache that found no value."),
		removed:  m.count("cache.removed", "{entry}", "Entries that left a cache, by reason."),
		loads:    m.count("cache.loads", "{load}", "Calls of a cache's loaders."),
		failures: m.count("cache.load_failures", "{load}", "Loads of a cache with an error other than that there is no value."),
		entries:  m.sum("cache.entries", "{entry}", "Entries of a cache, those included that have expired and were not found yet."),
		age:      m.ratio("cache.eviction_age", "s", "How long ago entries that a cache evicted lately had been written, about."),
		weight:   m.sum("cache.weight", "{weight}", "The weights of the entries of a cache of objects, of its budget."),
		budget:   m.bytes("cache.budget", "The budget of a cache."),
		held:     m.bytes("cache.held", "Bytes of memory that a cache holds, of its budget."),
		viewed:   m.bytes("cache.viewed", "Bytes that a cache cannot reuse because functions of View have not returned."),
		entry:    m.bytes("cache.entry", "Bytes of a cache's entries."),
		table:    m.bytes("cache.table", "Bytes of the table that finds a cache's entries."),
	}
}

func (f cacheFigures) observe(o observer, s cache.Stats, name string) {
	for reason, n := range map[cache.Reason]int64{
		cache.Evicted: s.Evicted, cache.Expired: s.Expired, cache.Deleted: s.Deleted, cache.Replaced: s.Replaced,
	} {
		o.set(f.removed, n, "cache", name, "reason", reason.String())
	}
	o.setRatio(f.age, s.EvictionAge.Seconds(), "cache", name)
	for _, v := range []struct {
		of metric.Int64Observable
		n  int64
	}{
		{f.hits, s.Hits}, {f.misses, s.Misses}, {f.loads, s.Loads}, {f.failures, s.LoadsFailed}, {f.entries, s.Entries},
		{f.budget, s.Bytes}, {f.held, s.BytesHeld}, {f.viewed, s.BytesViewed}, {f.entry, s.BytesEntries}, {f.table, s.BytesTable}, {f.weight, s.Weight},
	} {
		o.set(v.of, v.n, "cache", name)
	}
}
