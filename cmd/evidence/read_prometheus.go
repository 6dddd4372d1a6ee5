// SPDX-License-Identifier: Apache-2.0

package evidence

// prometheusMetrics are the names of Prometheus's Go client that have a counterpart in
// runtime/metrics.
var prometheusMetrics = map[string]string{
	"go_memstats_alloc_bytes_total": MetricAllocBytes, "go_memstats_mallocs_total": MetricAllocObjects, "go_memstats_heap_alloc_bytes": MetricHeapInUse,
	"go_memstats_heap_objects": MetricHeapObjects, "go_memstats_next_gc_bytes": MetricHeapGoal, "go_memstats_stack_inuse_bytes": MetricStackBytes,
	"go_memstats_sys_bytes": MetricTotalMemory, "go_memstats_heap_released_bytes": MetricReleased, "go_gc_duration_seconds_count": MetricCyclesTotal,
	"go_gc_gogc_percent": MetricGOGC, "go_gc_gomemlimit_bytes": MetricMemoryLimit, "go_sched_gomaxprocs_threads": MetricProcs, "go_goroutines": MetricGoroutines,
	"process_cpu_seconds_total": MetricProcessCPU, "go_gc_heap_live_bytes": MetricLiveHeap, "process_resident_memory_bytes": MetricRSS,
}

// metricsOfPrometheus reads the values that the Go client exports. A metric with labels is of
// another program.
func metricsOfPrometheus(data []byte) Metrics {
	m := Metrics{Source: fromPrometheus}
	for s := range seriesOf(data) {
		if name, ok := prometheusMetrics[s.name]; ok && s.labels == "" && plausible(s.value) {
			m.Set(name, s.value)
		}
	}
	return m
}

// addPrometheus reads the answer of /metrics.
func (e *Evidence) addPrometheus(data []byte) error {
	m := metricsOfPrometheus(data)
	e.readCounter(&m, data)
	return e.addMetrics(m)
}
