// SPDX-License-Identifier: Apache-2.0

// Package book is an order book in two ways: with pointers on the Go heap, and with handles into a
// pool.Slab off the heap.
//
// Orders come and go all the time, and other code links to them: the next order at the same price,
// and the client that may cancel it. A client often cancels an order that was filled a moment
// before.
package book

import "math/rand/v2"

// Levels is the number of prices.
const Levels = 1 << 10

// A Book matches orders to buy and to sell. The oldest order at the best price is filled first.
type Book interface {
	// Add fills the order as far as it can, keeps the rest, and returns the number by which the
	// client cancels it, 0 if nothing was left.
	Add(buy bool, price, amount uint32) (id uint64)
	// Cancel takes the rest of an order out, and says whether there was one.
	Cancel(id uint64) bool
	// Len is the number of orders in the book.
	Len() int
	// Traded is a checksum of all trades.
	Traded() uint64
}

// Work sends n orders to the book, of which half are cancelled some time later, and returns the
// number of those that were still there.
func Work(b Book, n int) (cancelled int) {
	r := rand.New(rand.NewPCG(4, 3))
	pending := make([]uint64, 1<<14)
	for i := range n {
		buy := r.IntN(2) == 0
		price := uint32(Levels/2 + r.IntN(64))
		if buy {
			price -= 60
		}
		id := b.Add(buy, price, 1+uint32(r.IntN(100)))
		k := r.IntN(len(pending))
		if old := pending[k]; old != 0 && i%2 == 0 && b.Cancel(old) {
			cancelled++
		}
		pending[k] = id
	}
	return cancelled
}

// trade adds a trade to the checksum.
func trade(sum uint64, price, amount uint32) uint64 {
	return (sum ^ uint64(price)<<32 ^ uint64(amount)) * 0x9e3779b97f4a7c15
}
