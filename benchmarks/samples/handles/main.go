// Command handles gives each handle a finalizer, though it is closed in time.
//
// After the change closing is all there is.
package main

import (
	"runtime"

	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

// handle stands for something that must be closed: a descriptor, a place in a table.
type handle struct {
	table *[64]int
	at    int
}

func open(table *[64]int, at int) *handle {
	table[at]++
	return &handle{table: table, at: at}
}

func (h *handle) close() {
	if h.table != nil {
		h.table[h.at]--
		h.table = nil
	}
}

// last is where a handle goes while it is in use.
var last *handle

func main() {
	load.Main(load.Sample{Ops: 4_000_000, Before: before, After: after})
}

func before() load.Op {
	table := new([64]int)
	return func(i int) {
		last = open(table, i%64)
		runtime.SetFinalizer(last, (*handle).close)
		last.close()
	}
}

func after() load.Op {
	table := new([64]int)
	return func(i int) {
		last = open(table, i%64)
		last.close()
	}
}
