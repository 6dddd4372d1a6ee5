// SPDX-License-Identifier: Apache-2.0

package allocsample

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
)

// A Site is the sampled blocks that were allocated with one stack, size and period for one purpose.
type Site struct {
	Stack   []uintptr // as runtime.Callers gives it, innermost first; not to be changed
	Purpose string    // "" for none
	Size    uintptr   // of each block, in bytes
	Drawn   uintptr   // the size that the probability of being sampled goes by: the largest that the block ever had
	Period  int64     // that was in force

	Allocs, Frees int64 // blocks
}

// Weight is how many blocks a sampled one of the site stands for.
func (s *Site) Weight() float64 { return 1 / Probability(s.Drawn, s.Period) }

// maxDepth bounds a stack, as Go's own heap profile does by default.
const maxDepth = 128

// table holds the records of samples, in two maps under one lock: there are about as many samples
// as periods.
var table struct {
	mu    sync.Mutex
	live  map[uintptr]*entry
	sites map[uint64]*entry // by the hash of all that makes a site
}

type entry struct {
	Site
	next *entry // of the same hash
}

var seed = maphash.MakeSeed()

// Add notes a sampled block. The stack is that of the caller's caller. The caller holds no lock and
// is not pinned.
func Add(addr, size uintptr, purpose string) {
	var pcs [maxDepth]uintptr
	stack := pcs[:runtime.Callers(3, pcs[:])]
	key := Site{Purpose: purpose, Size: size, Drawn: size, Period: Period()}
	if key.Period <= 0 {
		return
	}
	hash := key.hash(stack)
	table.mu.Lock()
	defer table.mu.Unlock()
	e := site(&key, stack, hash)
	e.Allocs++
	if table.live == nil {
		table.live = make(map[uintptr]*entry)
	}
	table.live[addr] = e
}

// hash is that of a site with the stack, which need not be in it yet.
func (s *Site) hash(stack []uintptr) uint64 {
	sum := maphash.String(seed, s.Purpose)
	for _, v := range stack {
		sum = (sum ^ uint64(v)) * 0x9e3779b97f4a7c15
		sum ^= sum >> 29
	}
	for _, v := range [...]uint64{uint64(s.Size), uint64(s.Drawn), uint64(s.Period)} {
		sum = (sum ^ v) * 0x9e3779b97f4a7c15
		sum ^= sum >> 29
	}
	return sum
}

// site is the entry of the key and the stack, made if there is none. The caller holds the lock. The
// stack is copied; it comes beside the key, because it is an array on the caller's stack, which as
// a part of the key would be made on the heap.
func site(key *Site, stack []uintptr, hash uint64) *entry {
	for e := table.sites[hash]; e != nil; e = e.next {
		if e.Size == key.Size && e.Drawn == key.Drawn && e.Period == key.Period && e.Purpose == key.Purpose && slices.Equal(e.Stack, stack) {
			return e
		}
	}
	if table.sites == nil {
		table.sites = make(map[uint64]*entry)
	}
	e := &entry{next: table.sites[hash]}
	e.Purpose, e.Size, e.Drawn, e.Period = key.Purpose, key.Size, key.Drawn, key.Period // Without its counts.
	e.Stack = append([]uintptr(nil), stack...)                                          // slices.Clone may return its argument.
	table.sites[hash] = e
	return e
}

// Remove notes that the block at addr is freed, if it was sampled. undo takes that back.
func Remove(addr uintptr) (undo func()) {
	table.mu.Lock()
	defer table.mu.Unlock()
	e := table.live[addr]
	if e == nil {
		return func() {}
	}
	e.Frees++
	delete(table.live, addr)
	return func() {
		table.mu.Lock()
		defer table.mu.Unlock()
		if table.live[addr] == nil {
			e.Frees--
			table.live[addr] = e
		}
	}
}

// Resize notes that the block at addr has size bytes now, if it was sampled. It counts as one that
// had them from the beginning.
func Resize(addr, size uintptr) {
	table.mu.Lock()
	defer table.mu.Unlock()
	e := table.live[addr]
	if e == nil {
		return
	}
	key := e.Site
	key.Size, key.Drawn = size, max(e.Drawn, size)
	e.Allocs--
	e = site(&key, key.Stack, key.hash(key.Stack))
	e.Allocs++
	table.live[addr] = e
}

// Sites returns all sites that a block was ever sampled at, in no order.
func Sites() (list []Site) {
	table.mu.Lock()
	defer table.mu.Unlock()
	for _, e := range table.sites {
		for ; e != nil; e = e.next {
			if e.Allocs != 0 {
				list = append(list, e.Site)
			}
		}
	}
	return list
}
