// Command btree-orders keeps an order book in a B-tree of pointers to orders with strings, so that
// the collector follows two pointers for each of 400,000 orders.
//
// After the change the tree's items hold indexes into one slice of orders, whose strings are
// arrays: nothing in either is a pointer.
package main

import (
	"fmt"

	"github.com/google/btree"

	"github.com/freehold-go/freehold/benchmarks/samples/layers"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
)

const orders = 400_000

// pointed is an item of the tree, and order what it leads to.
type pointed struct {
	id    uint64
	order *order
}

type order struct {
	price   uint64
	symbol  string
	account string
}

// indexed is an item without a pointer, and flat what it leads to.
type indexed struct {
	id uint64
	at uint32
}

type flat struct {
	price   uint64
	symbol  [8]byte
	account [16]byte
}

func main() {
	load.Main(load.Sample{Ops: 1_000_000, Before: before, After: after})
}

func before() load.Op {
	tree := btree.NewG(32, func(a, b pointed) bool { return a.id < b.id })
	for id := range uint64(orders) {
		tree.ReplaceOrInsert(pointed{id, newOrder(id)})
	}
	find := func(id uint64) (uint64, uint64) {
		o, _ := tree.Get(pointed{id: id})
		return o.id, o.order.price
	}
	return func(i int) {
		layers.Serve(key(i), find)
		if i%32 == 0 { // an order is replaced
			tree.ReplaceOrInsert(pointed{key(i), newOrder(key(i))})
		}
	}
}

func after() load.Op {
	tree := btree.NewG(32, func(a, b indexed) bool { return a.id < b.id })
	table := make([]flat, orders)
	for id := range uint64(orders) {
		table[id] = newFlat(id)
		tree.ReplaceOrInsert(indexed{id, uint32(id)})
	}
	find := func(id uint64) (uint64, uint64) {
		o, _ := tree.Get(indexed{id: id})
		return o.id, table[o.at].price
	}
	return func(i int) {
		layers.Serve(key(i), find)
		if i%32 == 0 {
			o, _ := tree.Get(indexed{id: key(i)})
			table[o.at] = newFlat(key(i)) // the place of the order that it replaces
			tree.ReplaceOrInsert(o)
		}
	}
}

func key(i int) uint64 { return uint64(i) * 0x9E3779B97F4A7C15 >> 20 % orders }

func newOrder(id uint64) *order {
	return &order{price: id * 7, symbol: fmt.Sprintf("SYM%d", id%5000), account: fmt.Sprintf("account %d", id%100_000)}
}

func newFlat(id uint64) flat {
	f := flat{price: id * 7}
	copy(f.symbol[:], fmt.Sprintf("SYM%d", id%5000))
	copy(f.account[:], fmt.Sprintf("account %d", id%100_000))
	return f
}
