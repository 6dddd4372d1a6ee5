// Command field-order keeps 400,000 positions whose fields stand in an arbitrary order, so that
// much of each is padding, and the collector scans to its end, where the last pointer is.
//
// After the change pointers stand first, then the rest from wide to narrow.
package main

import (
	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const positions = 400_000

// position is the kept type: 136 bytes, which the collector reads to the end.
type position struct {
	open     bool
	quantity int64
	side     bool
	price    float64
	hedged   bool
	fee      float64
	margin   bool
	opened   int64
	locked   bool
	closed   int64
	flagged  bool
	rate     float64
	settled  bool
	tax      float64
	audited  bool
	limit    float64
	owner    *owner
}

// ordered is the same in 80 bytes, of which the collector looks at the first eight.
type ordered struct {
	owner    *owner
	quantity int64
	price    float64
	fee      float64
	opened   int64
	closed   int64
	rate     float64
	tax      float64
	limit    float64
	open     bool
	side     bool
	hedged   bool
	margin   bool
	locked   bool
	flagged  bool
	settled  bool
	audited  bool
}

type owner struct{ name string }

// total keeps the compiler from dropping the work.
var total float64

func main() {
	load.Main(load.Sample{Ops: 20_000_000, Before: before, After: after})
}

// Each operation replaces one position, so that allocated and live memory are positions.

func before() load.Op {
	who := &owner{name: "desk"}
	book := make([]*position, positions)
	for i := range book {
		book[i] = &position{owner: who, price: float64(i)}
	}
	return func(i int) {
		at := i % positions
		book[at] = &position{owner: who, price: book[at].price + 1, quantity: int64(i), open: true}
		total += book[at].price
	}
}

func after() load.Op {
	who := &owner{name: "desk"}
	book := make([]*ordered, positions)
	for i := range book {
		book[i] = &ordered{owner: who, price: float64(i)}
	}
	return func(i int) {
		at := i % positions
		book[at] = &ordered{owner: who, price: book[at].price + 1, quantity: int64(i), open: true}
		total += book[at].price
	}
}
