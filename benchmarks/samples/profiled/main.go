// Command profiled records the stack of every allocation, because runtime.MemProfileRate is 1, as
// after a search for a leak.
//
// After the change the rate is Go's own, one in 512 KiB.
package main

import (
	"runtime"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

type node struct {
	next  *node
	value int
}

// total keeps the compiler from dropping the work.
var total int

func main() {
	load.Main(load.Sample{Ops: 20_000, Before: before, After: after})
}

func before() load.Op {
	runtime.MemProfileRate = 1
	return list
}

func after() load.Op { return list }

func list(i int) {
	var head *node
	for k := range 100 {
		head = &node{next: head, value: i * k}
	}
	for n := head; n != nil; n = n.next {
		total ^= n.value
		for range 20 {
			total = total<<1 ^ total>>3
		}
	}
}
