// Command trees builds a tree of small objects for each operation and drops it.
//
// After the change the tree is in an arena.
package main

import (
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const depth = 12

type node struct {
	left, right *node
	value       int
}

// total keeps the compiler from dropping the work.
var total int

func main() {
	load.Main(load.Sample{Ops: 8_000, Before: before, After: after})
}

func before() load.Op {
	return func(i int) { total += build(i, depth).sum() }
}

func build(value, depth int) *node {
	n := &node{value: value}
	if depth > 0 {
		n.left = build(value+1, depth-1)
		n.right = build(value-1, depth-1)
	}
	return n
}

func after() load.Op {
	a := arena.NewArena()
	nodes := arena.Of[node](a)
	return func(i int) {
		total += buildIn(nodes, i, depth).sum()
		a.Reset(arena.Keep)
	}
}

func buildIn(nodes arena.Typed[node], value, depth int) *node {
	n := nodes.New()
	n.value = value
	if depth > 0 {
		n.left = buildIn(nodes, value+1, depth-1)
		n.right = buildIn(nodes, value-1, depth-1)
	}
	return n
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.value + n.left.sum() + n.right.sum()
}
