// SPDX-License-Identifier: Apache-2.0

// Package promstats is a Prometheus collector of freehold's figures: off-heap memory, its purposes
// and limits, and arenas.
//
//	prometheus.MustRegister(promstats.NewCollector())
//
// # Metrics
//
// The metrics are bytes or counts, read when Prometheus scrapes. [Collector] lists them.
//
// # Cardinality
//
// The program can add values to two labels only: package, by freehold.Register, and purpose, by
// offheap.NewPurpose. Both kinds live as long as the program and should be few: name a purpose
// "index" or "network", never after a customer. Single arenas have no label.
//
// # What it is not
//
// It shows how much memory there is, and not which lines allocate it. Profiles and leak reports
// show that.
package promstats
