// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"runtime"

	"github.com/freehold-go/freehold/cmd/bench"
	"github.com/freehold-go/freehold/cmd/bench/bound"
	"github.com/freehold-go/freehold/offheap"
)

// The cost of one collection, by the memory alive while it runs. The operation is runtime.GC().

func scanWorkloads() []bench.Workload {
	return []bench.Workload{{
		Name:  "scan/nodes",
		Doc:   "One collection while n nodes of 32 bytes are alive, by how the program refers to them.",
		Op:    "collection",
		Size:  "nodes",
		Quick: []int{1_000_000},
		Full:  []int{10_000_000},
		Ops:   func(int) int { return 1 },
		Contestants: append([]bench.Contestant{
			{Name: heapName, Note: "[]*node, nodes with pointers", Prepare: scanHeap},
			{Name: "Go heap, plain", Note: "[]*node, nodes without pointers", Prepare: scanHeapPlain},
			{Name: boundName, Note: "[]uint32 of indexes into one mapping", Prepare: scanBound},
		}, own(
			bench.Contestant{Name: "offheap *node", Note: "[]*node, nodes outside of the Go heap", Prepare: scanPointers},
			bench.Contestant{Name: "offheap Ref", Note: "[]Ref[node], nodes outside of the Go heap", Prepare: scanRefs},
		)...),
		Bars: []bench.Bar{
			bench.AtMost("scan of nodes by Ref, by the Go heap", 0.01, bench.TimeRatio("scan/nodes", 0, "offheap Ref", heapName)),
		},
	}}
}

// A scanNode is 32 bytes with pointers in it.
type scanNode struct {
	a, b        uint64
	left, right *scanNode
}

// A plainNode is 32 bytes without.
type plainNode struct {
	a, b, c, d uint64
}

// scanRound collects garbage. Before the first collection it visits all values once for the
// checksum. A visit in each round would cost more than a collection that has nothing to scan.
func scanRound(visit func() uint64) func() uint64 {
	first := true
	return func() uint64 {
		var sum uint64
		if first {
			first = false
			sum = visit()
		}
		runtime.GC()
		return sum
	}
}

func scanHeap(r *bench.Run) func() uint64 {
	nodes := make([]*scanNode, r.N)
	keep = append(keep, nodes)
	for i := range nodes {
		nodes[i] = &scanNode{a: uint64(i), left: nodes[max(0, i-1)], right: nodes[i/2]}
	}
	return scanRound(func() (sum uint64) {
		for _, n := range nodes {
			sum = sum*31 + n.a
		}
		return sum
	})
}

func scanHeapPlain(r *bench.Run) func() uint64 {
	nodes := make([]*plainNode, r.N)
	keep = append(keep, nodes)
	for i := range nodes {
		nodes[i] = &plainNode{a: uint64(i)}
	}
	return scanRound(func() (sum uint64) {
		for _, n := range nodes {
			sum = sum*31 + n.a
		}
		return sum
	})
}

func scanBound(r *bench.Run) func() uint64 {
	nodes := bound.Slice[plainNode](r.N)
	index := make([]uint32, r.N)
	keep = append(keep, index)
	for i := range nodes {
		nodes[i].a = uint64(i)
		index[i] = uint32(i)
	}
	return scanRound(func() (sum uint64) {
		for _, i := range index {
			sum = sum*31 + nodes[i].a
		}
		return sum
	})
}

func scanPointers(r *bench.Run) func() uint64 {
	nodes := make([]*plainNode, r.N)
	keep = append(keep, nodes)
	for i := range nodes {
		nodes[i] = offheap.New[plainNode]()
		nodes[i].a = uint64(i)
	}
	r.Cleanup(func() {
		for _, n := range nodes {
			offheap.Delete(n)
		}
	})
	return scanRound(func() (sum uint64) {
		for _, n := range nodes {
			sum = sum*31 + n.a
		}
		return sum
	})
}

func scanRefs(r *bench.Run) func() uint64 {
	nodes := make([]offheap.Ref[plainNode], r.N)
	keep = append(keep, nodes)
	for i := range nodes {
		nodes[i] = offheap.RefOf(offheap.New[plainNode]())
		nodes[i].Ptr().a = uint64(i)
	}
	r.Cleanup(func() {
		for _, n := range nodes {
			offheap.DeleteRef(n)
		}
	})
	return scanRound(func() (sum uint64) {
		for _, n := range nodes {
			sum = sum*31 + n.Ptr().a
		}
		return sum
	})
}
