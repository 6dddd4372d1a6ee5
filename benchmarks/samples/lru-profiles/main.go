// Command lru-profiles serves user profiles from an LRU cache of 400,000 entries, each of which is
// several objects that the collector visits in every cycle.
//
// After the change the profiles lie off the heap, found by a map without pointers, and the list of
// the least recently used is one of indexes. The environment then raises GOGC so that the process
// has as much memory as before.
package main

import (
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/freehold-go/freehold/benchmarks/samples/layers"
	"github.com/freehold-go/freehold/benchmarks/samples/load"
	"github.com/freehold-go/freehold/offheap"
)

const (
	entries = 400_000
	users   = 420_000 // some are never in the cache
)

// profile is a cache entry with pointers.
type profile struct {
	name, mail string
	roles      []string
	visits     uint64
}

// record is one without.
type record struct {
	user       uint64
	visits     uint64
	prev, next uint32 // in the list of all, the most recently used first
	name       [16]byte
	mail       [32]byte
	roles      uint32 // a bit for each
}

var roles = []string{"reader", "writer", "editor", "admin"}

func main() {
	load.Main(load.Sample{Ops: 1_200_000, Before: before, After: after})
}

// user is the i-th request's: most requests come from users that are in the cache.
func user(i int) uint64 { return uint64(i) * 0x9E3779B97F4A7C15 >> 20 % users }

func before() load.Op {
	cache, err := lru.New[uint64, *profile](entries)
	if err != nil {
		panic(err)
	}
	for id := range uint64(entries) {
		cache.Add(id, read(id))
	}
	find := func(id uint64) (uint64, uint64) {
		p, ok := cache.Get(id)
		if !ok {
			p = read(id)
			cache.Add(id, p)
		}
		p.visits++
		return p.visits, uint64(p.name[0])
	}
	return func(i int) { layers.Serve(user(i), find) }
}

func read(id uint64) *profile {
	return &profile{
		name:  fmt.Sprintf("user %d", id),
		mail:  fmt.Sprintf("user.%d@example.org", id),
		roles: append([]string(nil), roles[id%4:]...),
	}
}

func after() load.Op {
	c := &cache{records: offheap.MakeSlice[record](entries+1, entries+1), index: make(map[uint64]uint32, entries)}
	for id := range uint64(entries) {
		at := uint32(id + 1)
		c.records[at] = readRecord(id)
		c.index[id] = at
		c.insert(at)
	}
	find := func(id uint64) (uint64, uint64) {
		at, ok := c.index[id]
		if !ok {
			at = c.records[0].prev // the least recently used
			delete(c.index, c.records[at].user)
			c.remove(at)
			c.records[at] = readRecord(id)
			c.index[id] = at
			c.insert(at)
		} else {
			c.remove(at)
			c.insert(at)
		}
		r := &c.records[at]
		r.visits++
		return r.visits, uint64(r.name[0])
	}
	return func(i int) { layers.Serve(user(i), find) }
}

// cache is an LRU cache without pointers. Record 0 is the list's head.
type cache struct {
	records []record
	index   map[uint64]uint32
}

func (c *cache) insert(at uint32) {
	head, r := &c.records[0], &c.records[at]
	r.prev, r.next = 0, head.next
	c.records[head.next].prev = at
	head.next = at
}

func (c *cache) remove(at uint32) {
	r := &c.records[at]
	c.records[r.prev].next, c.records[r.next].prev = r.next, r.prev
}

func readRecord(id uint64) record {
	r := record{user: id, roles: 0b1111 << (id % 4) & 0b1111}
	copy(r.name[:], fmt.Sprintf("user %d", id))
	copy(r.mail[:], fmt.Sprintf("user.%d@example.org", id))
	return r
}
