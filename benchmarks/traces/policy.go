package main

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"math"

	"github.com/maypok86/otter/v2"

	"github.com/freehold-go/freehold/cache"
)

// entrySize is the size of each entry, key and value, where a trace has no sizes.
const entrySize = 1 << 10

// A policy is asked for a key, and keeps it if it has not got it.
type policy interface {
	ask(key uint32) (hit bool)
	err() error
	close()
}

// replayed returns the requests that hit, and the share of hits in all, by their number and by their bytes.
func replayed(t *trace, p policy) (hits, bytes float64, err error) {
	defer p.close()
	var all int64
	var n, hit int64
	for _, k := range t.requests {
		size := int64(1)
		if len(t.sizes) > 0 {
			size = int64(t.sizes[k])
		}
		all += size
		if p.ask(k) {
			n++
			hit += size
		}
	}
	return float64(n) / float64(len(t.requests)), float64(hit) / float64(all), p.err()
}

// own is a cache.Cache with a budget in bytes, which has room for its table and the heads of entries, too.
type own struct {
	c          *cache.Cache
	sizes      []int
	key, value []byte
	got        []byte
	failed     error
}

func newOwn(budget int64, sizes []int) (policy, error) {
	c, err := cache.New(cache.Options{Bytes: budget})
	if err != nil {
		return nil, err
	}
	most := entrySize
	for _, n := range sizes {
		most = max(most, n)
	}
	return &own{c: c, sizes: sizes, value: make([]byte, most)}, nil
}

func (p *own) ask(k uint32) (hit bool) {
	p.key = binary.LittleEndian.AppendUint64(p.key[:0], uint64(k))
	if p.got, hit = p.c.Get(p.got[:0], p.key); hit {
		return true
	}
	size := entrySize
	if len(p.sizes) > 0 {
		size = p.sizes[k]
	}
	// What the cache refuses for its size is a miss each time.
	if err := p.c.Set(p.key, p.value[:max(size-len(p.key), 0)]); err != nil && !errors.Is(err, cache.ErrSize) {
		p.failed = err
	}
	return false
}

func (p *own) err() error { return p.failed }
func (p *own) close()     { p.c.Close() }

// otterPolicy is otter, whose policy runs in the call that asks.
type otterPolicy struct {
	c *otter.Cache[uint32, struct{}]
}

// newOtter has a capacity in entries, or in bytes if there are sizes.
func newOtter(capacity int64, sizes []int) (policy, error) {
	o := otter.Options[uint32, struct{}]{Executor: func(f func()) { f() }}
	if len(sizes) > 0 {
		o.MaximumWeight = uint64(capacity)
		o.Weigher = func(k uint32, _ struct{}) uint32 { return uint32(sizes[k]) }
	} else {
		o.MaximumSize = int(capacity)
	}
	c, err := otter.New(&o)
	return otterPolicy{c}, err
}

func (p otterPolicy) ask(k uint32) bool {
	if _, ok := p.c.GetIfPresent(k); ok {
		return true
	}
	p.c.Set(k, struct{}{})
	return false
}

func (p otterPolicy) err() error { return nil }
func (p otterPolicy) close()     { p.c.StopAllGoroutines() }

// lru keeps keys in the order of their last use, in a list by numbers. Its last place is the list's head.
type lru struct {
	room       int64 // In entries, or in bytes if there are sizes.
	sizes      []int
	prev, next []uint32
	in         []bool
}

func newLRU(capacity int64, keys int, sizes []int) policy {
	l := &lru{room: capacity, sizes: sizes, prev: make([]uint32, keys+1), next: make([]uint32, keys+1), in: make([]bool, keys)}
	l.prev[keys], l.next[keys] = uint32(keys), uint32(keys)
	return l
}

func (l *lru) size(k uint32) int64 {
	if len(l.sizes) == 0 {
		return 1
	}
	return int64(l.sizes[k])
}

func (l *lru) unlink(k uint32) { l.next[l.prev[k]], l.prev[l.next[k]] = l.next[k], l.prev[k] }

func (l *lru) front(k uint32) {
	head := uint32(len(l.in))
	l.next[k], l.prev[k] = l.next[head], head
	l.prev[l.next[k]], l.next[head] = k, k
}

func (l *lru) ask(k uint32) bool {
	if l.in[k] {
		l.unlink(k)
		l.front(k)
		return true
	}
	l.room -= l.size(k)
	l.front(k)
	l.in[k] = true
	for head := len(l.in); l.room < 0; { // The key itself, if it has no room at all.
		last := l.prev[head]
		l.unlink(last)
		l.in[last] = false
		l.room += l.size(last)
	}
	return false
}

func (l *lru) err() error { return nil }
func (l *lru) close()     {}

// optimum is the share of hits of Belady's policy, which knows the future: it drops the entry whose
// next request is the farthest.
func optimum(t *trace, capacity int) float64 {
	const never = math.MaxInt32
	next := make([]int32, len(t.requests)) // Of the same key.
	seen := make([]int32, t.keys())
	for i := range seen {
		seen[i] = never
	}
	for i := len(t.requests) - 1; i >= 0; i-- {
		k := t.requests[i]
		next[i], seen[k] = seen[k], int32(i)
	}
	in := make([]int32, t.keys()) // The next request of a key that is kept, 0 for others.
	var far farthest
	n, hits := 0, 0
	for i, k := range t.requests {
		switch {
		case in[k] != 0:
			hits++
		case n < capacity:
			n++
		default:
			for { // Until an item that is no older request of its key.
				v := heap.Pop(&far).(use)
				if in[v.key] == v.next {
					in[v.key] = 0
					break
				}
			}
		}
		in[k] = next[i]
		heap.Push(&far, use{next[i], k})
	}
	return float64(hits) / float64(len(t.requests))
}

// A use is the next request of a key.
type use struct {
	next int32
	key  uint32
}

// farthest is a heap whose first item is the farthest request.
type farthest []use

func (h farthest) Len() int           { return len(h) }
func (h farthest) Less(i, j int) bool { return h[i].next > h[j].next }
func (h farthest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *farthest) Push(x any)        { *h = append(*h, x.(use)) }
func (h *farthest) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
