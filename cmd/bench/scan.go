package bench

import "runtime"

// The cost of one collection, by what is alive while it runs. The operation is runtime.GC().

func init() {
	Register(Workload{
		Name:  "scan/nodes",
		Doc:   "One collection while n nodes of 32 bytes are alive, by how the program refers to them.",
		Op:    "collection",
		Size:  "nodes",
		Quick: []int{1_000_000},
		Full:  []int{10_000_000},
		Ops:   func(int) int { return 1 },
		Order: 60,
	},
		Contestant{Name: heapName, Note: "[]*node, nodes with pointers", Prepare: scanHeap},
		Contestant{Name: "Go heap, plain", Note: "[]*node, nodes without pointers", Prepare: scanHeapPlain},
		Contestant{Name: boundName, Note: "[]uint32 of indexes into one mapping", Prepare: scanBound},
	)
	addScanOffheap()
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

// scanRound collects garbage. Before the first collection it visits everything once for the checksum; doing so every
// time would cost more than the collection where there is nothing to scan.
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

// keep holds what a scan contestant built until the process ends.
var keep []any

func scanHeap(r *Run) func() uint64 {
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

func scanHeapPlain(r *Run) func() uint64 {
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

func scanBound(r *Run) func() uint64 {
	nodes := boundNodes(r.N)
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
