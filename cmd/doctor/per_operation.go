// SPDX-License-Identifier: Apache-2.0

package doctor

// A PerOperation is the cost of one operation of the program, such as a request. Unknown figures
// are 0.
type PerOperation struct {
	// Name is the counter of the operations, the benchmark that they are of, or "operation".
	Name string `json:"name"`
	// Operations is their number in the window of the counter, and PerSecond their rate.
	Operations float64 `json:"operations"`
	PerSecond  float64 `json:"operations_per_second"`
	// CPUSeconds is the CPU time of one, and GCSeconds and AllocSeconds are the collector's and the
	// allocator's parts of it, by the shares in the profile.
	CPUSeconds   float64 `json:"cpu_seconds"`
	GCSeconds    float64 `json:"gc_cpu_seconds"`
	AllocSeconds float64 `json:"alloc_cpu_seconds"`
	// CPUFrom says where the CPU time is from.
	CPUFrom Origin `json:"cpu_from,omitempty"`
	// AllocBytes and AllocObjects are what one allocates, and AllocFrom says where they are from.
	AllocBytes   float64 `json:"alloc_bytes"`
	AllocObjects float64 `json:"alloc_objects"`
	AllocFrom    Origin  `json:"alloc_from,omitempty"`
	// WindowAssumed says that the times at which the counter was read are unknown. The CPU time then
	// rests on the assumption that the counter was read at both ends of the profile.
	WindowAssumed bool `json:"window_assumed,omitempty"`
}

// An Origin says where a figure of a [PerOperation] is from.
type Origin string

// The origins.
const (
	// FromProfiles is the CPU profile, or the heap profiles.
	FromProfiles Origin = "profiles"
	// FromProcess is a counter of the process, read together with that of the operations.
	FromProcess Origin = "process"
	// FromBenchmark is the output of go test -bench.
	FromBenchmark Origin = "benchmark"
)
