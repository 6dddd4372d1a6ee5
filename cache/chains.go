// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/unsafex"
)

// The table of a Map drops no entry. If a family has no room for one, it goes to the chain of its home: buckets
// apart from the table, the first of which the home's head names. Word 0 of each is the number of the
// next one. All but the first are full. A chain belongs to its home's lock.
//
// About one entry in a thousand lies in a chain.

// chains are the buckets of all chains. They lie in pages like those of the table. Numbers begin at 1.
type chains struct {
	on    bool // The table is that of a Map.
	shift uint // As of the table.
	pages atomic.Pointer[[]*bucket]

	mu   sync.Mutex // The last lock that a goroutine takes.
	free []uint32   // mostChained of them are for resize, which cannot wait for memory.
}

const (
	chainAt   = counterAt
	chainMask = (1<<32 - 1) << chainAt

	// mostChained is the number of buckets that a resize may need beyond those of the chains that it finds: for the
	// entries of 8 families, and a bucket that is not full for each of their homes.
	mostChained = 8*family + 8*family
)

func chainOf(head uint64) uint32 { return uint32(head & chainMask >> chainAt) }

func setChain(head *uint64, no uint32) { *head = *head&^chainMask | uint64(no)<<chainAt }

// bucket is a bucket of a chain.
func (c *chains) bucket(no uint32) *bucket {
	i := uint64(no - 1)
	return unsafex.Elem((*c.pages.Load())[i>>c.shift], uintptr(i&(1<<c.shift-1)))
}

// take takes a free bucket, if it leaves so many; 0 is none.
func (c *chains) take(leave int) (no uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.free) - 1; last >= leave {
		no = c.free[last]
		c.free = c.free[:last]
	}
	return no
}

func (c *chains) give(list ...uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, list...)
}

// add adds an entry to the chain of a home with this head. take gives it a free bucket, or 0. It says whether there
// was room.
func (c *chains) add(head *uint64, slot uint64, take func() uint32) bool {
	first := chainOf(*head)
	if first != 0 {
		if b := c.bucket(first); empty(b) > 0 {
			b[empty(b)] = slot
			return true
		}
	}
	no := take()
	if no == 0 {
		return false
	}
	b := c.bucket(no)
	*b = bucket{uint64(first), slot}
	setChain(head, no)
	return true
}

// empty calls f with the entries of the chain of a home with this head, which has none afterwards, and adds the
// chain's buckets to a list.
func (c *chains) empty(head *uint64, free []uint32, f func(slot uint64)) []uint32 {
	for no := chainOf(*head); no != 0; {
		b := c.bucket(no)
		for _, slot := range b[1:] {
			if slot != 0 {
				f(slot)
			}
		}
		free = append(free, no)
		no = uint32(b[0])
	}
	setChain(head, 0)
	return free
}
