// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"sync"
	"sync/atomic"
)

// A blockIndex finds a block by the address of its first byte, and takes no lock for that: each use
// of a Ref looks its block up in the debug modes. It knows of a block the bytes and the type, no
// more.
//
// It is a hash table with linear probing. The bytes and the type of an entry never change once the
// entry has had an address: only a block of the same bytes and type can reuse the entry of a freed
// one. So a look-up that meets an address reads the bytes and the type of a block that began there
// at that moment, never those of two blocks, whatever is allocated and freed beside it.
type blockIndex struct {
	table atomic.Pointer[[]indexEntry] // Its length is a power of two. Written under mu.

	mu   sync.Mutex
	used int // Entries that have, or had, an address.
	live int // Entries that have the address of a block.
}

// An indexEntry is the place of a block in the index.
type indexEntry struct {
	addr atomic.Uintptr // 0: never used. indexGone: its block was freed.
	size uintptr        // Written once, before addr.
	key  uintptr        // Likewise. Of the type; 0 for plain memory.
}

// indexes are the parts of an index, by the page of the address.
type indexes [64]blockIndex

func (x *indexes) of(addr uintptr) *blockIndex { return &x[addr>>12%uintptr(len(x))] }

const (
	indexGone  = 1 // No block begins there.
	indexLeast = 64
)

func indexHash(addr uintptr) uintptr { return uintptr(uint64(addr) * 0x9e3779b97f4a7c15 >> 32) }

// find is the size and the type of the block that begins at addr.
func (x *blockIndex) find(addr uintptr) (size, key uintptr, ok bool) {
	p := x.table.Load()
	if p == nil || addr <= indexGone {
		return 0, 0, false
	}
	table := *p
	for i := indexHash(addr); len(table) > 0; i++ {
		e := &table[i&uintptr(len(table)-1)]
		switch e.addr.Load() {
		case addr:
			return e.size, e.key, true
		case 0:
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// put enters a block that the index does not have.
func (x *blockIndex) put(addr, size, key uintptr) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.table.Load()
	if p == nil || (x.used+1)*4 > len(*p)*3 {
		p = x.rebuild()
	}
	if enter(*p, addr, size, key) {
		x.used++
	}
	x.live++
}

// enter writes an entry, and says whether it was never used before.
func enter(table []indexEntry, addr, size, key uintptr) (fresh bool) {
	for i := indexHash(addr); ; i++ {
		e := &table[i&uintptr(len(table)-1)]
		switch e.addr.Load() {
		case 0:
			e.size, e.key = size, key
			e.addr.Store(addr)
			return true
		case indexGone:
			if e.size == size && e.key == key {
				e.addr.Store(addr)
				return false
			}
		}
	}
}

// rebuild makes a table at most three eighths of which are used. The caller holds the lock.
func (x *blockIndex) rebuild() *[]indexEntry {
	n := indexLeast
	for n*3 < (x.live+1)*8 {
		n *= 2
	}
	table := make([]indexEntry, n)
	if old := x.table.Load(); old != nil {
		for i := range *old {
			if e := &(*old)[i]; e.addr.Load() > indexGone {
				enter(table, e.addr.Load(), e.size, e.key)
			}
		}
	}
	x.used = x.live
	x.table.Store(&table)
	return &table
}

// drop strikes off the block that begins at addr, which the index has.
func (x *blockIndex) drop(addr uintptr) {
	x.mu.Lock()
	defer x.mu.Unlock()
	table := *x.table.Load()
	for i := indexHash(addr); ; i++ {
		if e := &table[i&uintptr(len(table)-1)]; e.addr.Load() == addr {
			e.addr.Store(indexGone)
			x.live--
			return
		}
	}
}
