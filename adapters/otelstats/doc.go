// SPDX-License-Identifier: Apache-2.0

// Package otelstats gives freehold's figures to OpenTelemetry: off-heap memory, its purposes and
// limits, arenas, and caches.
//
//	registration, err := otelstats.Register(otel.GetMeterProvider())
//	registration, err = otelstats.RegisterCache(otel.GetMeterProvider(), c, "pages")
//
// # Metrics
//
// The metrics are bytes or counts, read at each collection. [Register] and [RegisterCache] list them. They are those of
// package promstats: after the usual translation to Prometheus (dots become underscores, the unit By
// becomes the suffix _bytes, counters get _total) their names are the same, so one dashboard serves
// both.
//
// # Cardinality
//
// The program can add values to three attributes only: package, by freehold.Register, purpose, by
// offheap.NewPurpose, and cache, by RegisterCache. They should be few: name a purpose "index" or
// "network", never after a customer. Single arenas have no attribute.
//
// # What it is not
//
// It shows how much memory there is, and not which lines allocate it. Profiles and leak reports
// show that.
package otelstats
