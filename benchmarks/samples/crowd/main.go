// Command crowd runs with GOMAXPROCS=64 on a machine of fewer processors, as in a container whose
// limit the program does not know.
//
// The change is one of the environment.
package main

import (
	"sync"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

type node struct {
	left, right *node
	value       int
}

func main() {
	load.Main(load.Sample{Ops: 800, Before: working})
}

func working() load.Op {
	return func(i int) {
		var group sync.WaitGroup
		for range 64 {
			group.Go(func() { build(i, 9) })
		}
		group.Wait()
	}
}

func build(value, depth int) *node {
	n := &node{value: value}
	if depth > 0 {
		n.left = build(value+1, depth-1)
		n.right = build(value-1, depth-1)
	}
	return n
}
