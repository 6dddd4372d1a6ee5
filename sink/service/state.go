// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"math"
	gometrics "runtime/metrics"
	"slices"
	"time"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/sink"
)

// State is what /stats serves, and what the page at / shows. Counters are sums since the start, so a rate takes two requests. Sizes are in
// bytes, durations in nanoseconds.
type State struct {
	Time, Started time.Time
	Group         string
	Topics        []string
	Store         string // without secrets
	Lag           int64  // of all partitions, at most the largest number
	Partitions    []PartitionLag
	Stats         sink.Stats
	Memory        Memory
	GC            GC
}

// PartitionLag is a partition of this process, and the records in it that were not handed out at the time of the last fetch.
type PartitionLag struct {
	Topic  string
	Number int32
	Lag    int64
}

// Memory is what the process has of the system.
type Memory struct {
	Heap        int64 // objects on the Go heap, dead ones included that were not swept
	GoTotal     int64 // memory that Go has, without what it has given back
	OffHeap     int64 // memory of freehold's packages outside the Go heap
	OffHeapFree int64 // of OffHeap, free blocks
}

// GC is what the collector does.
type GC struct {
	Cycles int64
	CPU    float64 // seconds, pauses included
	AllCPU float64 // seconds that the process could not sleep: the program's and the collector's
}

// State reads all figures.
func (s *Service) State() State {
	st := State{
		Time: time.Now(), Started: s.started, Group: s.config.Kafka.Group, Topics: s.config.Kafka.Topics, Store: s.store.String(),
		Stats: s.sink.Stats(),
	}
	for p, n := range s.source.Lags() {
		st.Lag += min(n, math.MaxInt64-st.Lag)
		st.Partitions = append(st.Partitions, PartitionLag{p.Topic, p.Number, n})
	}
	slices.SortFunc(st.Partitions, func(a, b PartitionLag) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number))
	})
	samples := []gometrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/user:cpu-seconds"},
	}
	gometrics.Read(samples)
	whole := func(i int) int64 { return int64(samples[i].Value.Uint64()) }
	held, _ := freehold.ReadTotals()
	st.Memory = Memory{Heap: whole(0), GoTotal: whole(1) - whole(2), OffHeap: held.InUse + held.Retained, OffHeapFree: held.Retained}
	st.GC = GC{Cycles: whole(3), CPU: samples[4].Value.Float64()}
	st.GC.AllCPU = st.GC.CPU + samples[5].Value.Float64()
	return st
}
