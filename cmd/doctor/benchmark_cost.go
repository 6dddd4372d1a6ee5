// SPDX-License-Identifier: Apache-2.0

package doctor

// A BenchmarkCost has the figures of a benchmark in the output of go test -bench. Figures are medians
// over the runs; unknown ones are 0.
type BenchmarkCost struct {
	// Name is the benchmark's full name, and Package the path of its package.
	Name    string `json:"name"`
	Package string `json:"package"`
	// Runs is the number of results.
	Runs int `json:"runs"`
	// Seconds is the elapsed time of an operation, Fastest and Slowest are those of single runs.
	Seconds float64 `json:"seconds_per_operation"`
	Fastest float64 `json:"fastest_seconds"`
	Slowest float64 `json:"slowest_seconds"`
	// AllocBytes and AllocObjects are what an operation allocates. Memory says whether the output has
	// them, as with -benchmem.
	AllocBytes   float64 `json:"alloc_bytes"`
	AllocObjects float64 `json:"alloc_objects"`
	Memory       bool    `json:"benchmem"`
	// AllocBytesPerSecond follows from both.
	AllocBytesPerSecond float64 `json:"alloc_bytes_per_second"`
	// CyclesPerSecond is the least number of collections a second that these bytes cause at GOGC=100
	// while live heap, stacks and globals are below 4 MiB together. The goal of a collection is at
	// least 4 MiB, or twice what lives (https://go.dev/doc/gc-guide#GOGC), so less than 4 MiB are
	// allocated from one collection to the next. More live data makes collections rarer and longer.
	CyclesPerSecond float64 `json:"small_heap_cycles_per_second"`

	seconds, bytes, objects []float64 // of each run that has them
}

// A BenchmarkChange is a figure of a benchmark before and after a change.
type BenchmarkChange struct {
	// Name is the benchmark's name, and Unit is sec/op, B/op or allocs/op.
	Name, Unit string
	// Before and After are medians.
	Before, After float64
	// P is the probability of so large a difference between runs of the same program, by the test of
	// Mann and Whitney, and Sure whether it is below 0.05. Few says that the runs are too few to tell.
	P    float64
	Sure bool
	Few  bool
}
