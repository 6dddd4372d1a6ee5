// SPDX-License-Identifier: Apache-2.0

// Package promstats has Prometheus collectors of freehold's figures: off-heap memory, its purposes
// and limits, arenas, and caches.
//
//	prometheus.MustRegister(promstats.NewCollector())
//	prometheus.MustRegister(promstats.NewCacheCollector(c, "pages"))
//
// # Metrics
//
// The metrics are bytes or counts, read when Prometheus scrapes. [Collector] and [NewCacheCollector] list them.
//
// # Cardinality
//
// The program can add values to three labels only: package, by freehold.Register, purpose, by
// offheap.NewPurpose, and cache, by NewCacheCollector. They should be few: name a purpose "index" or
// "network", never after a customer. Single arenas have no label.
//
// # What it is not
//
// It shows how much memory there is, and not which lines allocate it. Profiles and leak reports
// show that.
package promstats
