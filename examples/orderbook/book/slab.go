// SPDX-License-Identifier: Apache-2.0

package book

import (
	"github.com/freehold-go/freehold/offheap"
	"github.com/freehold-go/freehold/pool"
)

// Slab is a book of handles. An order has no pointers, so it lies off the heap, and the collector
// scans no order. The client keeps the handle: after the order is filled the handle finds nothing,
// also when another order has its slot. No map is needed.
type Slab struct {
	orders *pool.Slab[order]
	levels [2][Levels]level // By side.
	traded uint64
}

type level struct{ first, last pool.Handle[order] }

// An order has 32 bytes; with its generation it takes 40.
type order struct {
	price, amount, side uint32
	prev, next          pool.Handle[order]
}

// orders is the account of all books: its limit holds for the orders, and offheap.ReadStats shows it.
var orders = offheap.NewPurpose("orders")

// NewSlab returns an empty book. Call Free when it is not used any more.
func NewSlab() *Slab {
	return &Slab{orders: pool.NewSlab[order](pool.SlabOptions{Purpose: orders})}
}

// Add is that of Book.
func (b *Slab) Add(buy bool, price, amount uint32) uint64 {
	side := sideOf(buy)
	for p := best(side); p != price+step(side) && amount > 0; p += step(side) {
		for h := b.levels[1-side][p].first; !h.IsNil() && amount > 0; h = b.levels[1-side][p].first {
			o := b.orders.Get(h)
			n := min(amount, o.amount)
			b.traded = trade(b.traded, p, n)
			amount, o.amount = amount-n, o.amount-n
			if o.amount == 0 {
				b.remove(h, o)
			}
		}
	}
	if amount == 0 {
		return 0
	}
	h, o := b.orders.New()
	l := &b.levels[side][price]
	*o = order{price: price, amount: amount, side: uint32(side), prev: l.last}
	if last := b.orders.Get(l.last); last != nil {
		last.next = h
	} else {
		l.first = h
	}
	l.last = h
	return h.Uint64()
}

// Cancel is that of Book. The number is a client's: Get accepts any.
func (b *Slab) Cancel(id uint64) bool {
	h := pool.HandleFromUint64[order](id)
	o := b.orders.Get(h)
	if o == nil {
		return false
	}
	b.remove(h, o)
	return true
}

func (b *Slab) remove(h pool.Handle[order], o *order) {
	l := &b.levels[o.side][o.price]
	if prev := b.orders.Get(o.prev); prev != nil {
		prev.next = o.next
	} else {
		l.first = o.next
	}
	if next := b.orders.Get(o.next); next != nil {
		next.prev = o.prev
	} else {
		l.last = o.prev
	}
	b.orders.Delete(h)
}

// Len is that of Book.
func (b *Slab) Len() int { return b.orders.Len() }

// Traded is that of Book.
func (b *Slab) Traded() uint64 { return b.traded }

// Free gives the memory of all orders back.
func (b *Slab) Free() { b.orders.Free() }
