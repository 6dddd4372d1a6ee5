// SPDX-License-Identifier: Apache-2.0

package book

// Plain is a book of pointers. A map finds the order of a client, because a client that kept a
// pointer would cancel an order that is filled, and the pointer would keep it alive.
type Plain struct {
	levels  [2][Levels]plainLevel // By side.
	clients map[uint64]*plainOrder
	last    uint64
	traded  uint64
}

type plainLevel struct{ first, last *plainOrder }

type plainOrder struct {
	id            uint64
	price, amount uint32
	side          int
	prev, next    *plainOrder
}

// NewPlain returns an empty book.
func NewPlain() *Plain { return &Plain{clients: map[uint64]*plainOrder{}} }

// Add is that of Book.
func (b *Plain) Add(buy bool, price, amount uint32) uint64 {
	side := sideOf(buy)
	for p := best(side); p != price+step(side) && amount > 0; p += step(side) {
		for o := b.levels[1-side][p].first; o != nil && amount > 0; o = b.levels[1-side][p].first {
			n := min(amount, o.amount)
			b.traded = trade(b.traded, p, n)
			amount, o.amount = amount-n, o.amount-n
			if o.amount == 0 {
				b.remove(o)
			}
		}
	}
	if amount == 0 {
		return 0
	}
	b.last++
	o := &plainOrder{id: b.last, price: price, amount: amount, side: side}
	l := &b.levels[side][price]
	if o.prev = l.last; o.prev != nil {
		o.prev.next = o
	} else {
		l.first = o
	}
	l.last = o
	b.clients[o.id] = o
	return o.id
}

// Cancel is that of Book.
func (b *Plain) Cancel(id uint64) bool {
	o := b.clients[id]
	if o == nil {
		return false
	}
	b.remove(o)
	return true
}

func (b *Plain) remove(o *plainOrder) {
	l := &b.levels[o.side][o.price]
	if o.prev != nil {
		o.prev.next = o.next
	} else {
		l.first = o.next
	}
	if o.next != nil {
		o.next.prev = o.prev
	} else {
		l.last = o.prev
	}
	delete(b.clients, o.id)
}

// Len is that of Book.
func (b *Plain) Len() int { return len(b.clients) }

// Traded is that of Book.
func (b *Plain) Traded() uint64 { return b.traded }

func sideOf(buy bool) int {
	if buy {
		return 1
	}
	return 0
}

// best is the best price that the other side can have, and step leads to the next one: a buyer looks
// from the lowest price up to his own.
func best(side int) uint32 { return uint32(1-side) * (Levels - 1) }

func step(side int) uint32 { return uint32(2*side - 1) }
