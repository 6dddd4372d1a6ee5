// Package promstats shows to Prometheus what freehold holds: off-heap memory, its purposes and limits, and arenas.
//
//	prometheus.MustRegister(promstats.NewCollector())
//
// # Metrics
//
// They are bytes or counts, read when Prometheus asks. [Collector] lists them.
//
// # Cardinality
//
// The only labels with values of the program's own making are package, of those that registered totals with
// [freehold.Register], and purpose, of those that [offheap.NewPurpose] made. Both kinds live as long as the program and are meant
// to be few: a purpose is "index" or "network", not the name of a customer. There is no label for single arenas.
//
// # What it is not
//
// It says how much memory there is, not where it came from: that is what profiles and leak reports are for.
package promstats
