// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// The idle objects of a Pool. This file does not know their type: all code is compiled once, and the
// fast paths need no dictionary of a type. An unsafex.Ptr in a Pool[T] is a *T, which came from Put or New.
//
// Each P has a cache of up to cacheSize objects, which its goroutines use while they are pinned. All
// other idle objects lie in store.idle, under a lock. An empty cache takes up to groupSize objects
// from there, a full one moves its older half there. So a goroutine that goes back and forth at the
// edge of a cache takes the lock once in 32 calls.
//
// At each collection (store.collect):
//
//  1. Half of the objects in store.idle that no goroutine took during the last eight collections are
//     dropped, the oldest first.
//  2. Each cache gets room 0, so the next Put on its P takes the slow path, moves half of the cache
//     to store.idle and restores the room.
//  3. A cache that still has room 0 from the last collection belongs to a P without Puts. An empty
//     cache takes its place. The old one is retired: a goroutine that loaded it is pinned and may
//     use it until it releases its pin.
//  4. At the next collection the world has stopped in between, and it does not stop while a
//     goroutine is pinned (GC-3). So the objects of retired caches move to store.idle.

const (
	cacheSize = 64
	groupSize = cacheSize / 2
	// maxIDs bounds the caches. The IDs of percpu are those of the Ps; its fallback has more, and
	// does not know whether one above is in use.
	maxIDs = 1 << 12
	// window is the number of collections during which an object must lie idle before it is dropped.
	window = 8
	// perP is the default of the idle objects for each P.
	perP = 1024
)

// A cache is the idle objects of a P. Only the goroutine that is pinned to the P uses it, but for
// room, and but for reads that count.
type cache struct {
	n     uintptr
	room  atomic.Uintptr // Put may add objects below it: most, or 0 to send Put to the slow path.
	gets  uintptr        // Since they were last counted.
	most  uintptr        // At most cacheSize.
	items [cacheSize]unsafex.Ptr
}

// A view is what Get and Put read to find the cache of a P.
type view struct {
	procs atomic.Uintptr                        // Of the table. It is stored after the table, and grows.
	table atomic.Pointer[atomic.Pointer[cache]] // The first of as many.
}

// cache is that of the P, or nil.
func (v *view) cache(pin percpu.Pin) *cache {
	if id := uintptr(pin.ID()); id < v.procs.Load() {
		return unsafex.Elem(v.table.Load(), id).Load()
	}
	return nil
}

// drops counts the objects that a Pool did not keep.
type drops struct{ large, full, collected, drained atomic.Uint64 }

// A store is all of a Pool but its fields and its view. The collector frees it with the Pool.
type store struct {
	owner   unsafex.Ptr // The Pool. A copy of the Pool leads here, too.
	size    func(unsafex.Ptr) int
	discard func(unsafex.Ptr) // Frees an object that is not kept; nil on the Go heap.
	max     int               // 0 for the default.

	gets, misses atomic.Uint64
	drops        drops
	bytes        atomic.Int64 // Of idle, by size.

	trimming sync.Mutex // Held by one collect or drain. It is locked before mu.

	mu      sync.Mutex
	table   []atomic.Pointer[cache]
	idle    []unsafex.Ptr
	idleMax int
	low     int             // The fewest in idle since the last collection.
	lows    [window - 1]int // The same of the collections before.
	retired []retired
}

// A retired cache belongs to no P any more.
type retired struct {
	*cache
	id int
}

// grow makes the table long enough for the ID, and for all Ps.
func (s *store) grow(v *view, id int) {
	if id >= maxIDs || id < int(v.procs.Load()) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if id < len(s.table) {
		return
	}
	procs := runtime.GOMAXPROCS(0)
	most := s.max
	if most == 0 {
		most = perP * procs
	}
	each := max(0, min(cacheSize, most/(2*procs))) // Caches have at most half of all idle objects.
	n := max(procs, 1<<bits.Len(uint(id)))
	table := make([]atomic.Pointer[cache], n)
	for i := range table {
		if i < len(s.table) {
			table[i].Store(s.table[i].Load())
		} else {
			table[i].Store(newCache(uintptr(each)))
		}
	}
	s.table, s.idleMax = table, max(0, most-each*procs)
	v.table.Store(&table[0])
	v.procs.Store(uintptr(n))
}

func newCache(most uintptr) *cache {
	c := &cache{most: most}
	c.room.Store(most)
	return c
}

// take returns an idle object, or nil. It fills the cache of the P.
func (s *store) take(v *view) unsafex.Ptr {
	var group [groupSize]unsafex.Ptr
	s.mu.Lock()
	rest := max(0, len(s.idle)-groupSize)
	n := copy(group[:], s.idle[rest:])
	clear(s.idle[rest:])
	s.idle = s.idle[:rest]
	s.low = min(s.low, rest)
	s.mu.Unlock()
	s.weigh(group[:n], -1)
	s.gets.Add(1)
	if n == 0 {
		return nil
	}
	x, more := group[n-1], group[:n-1]
	pin := percpu.Acquire()
	var gets uintptr
	if c := v.cache(pin); c != nil {
		gets, c.gets = c.gets, 0
		k := min(uintptr(len(more)), c.most-min(c.n, c.most))
		copy(c.items[c.n:], more[:k])
		c.n += k
		more = more[k:]
	}
	pin.Release()
	s.gets.Add(uint64(gets))
	s.put(more) // Another goroutine has filled the cache meanwhile, or there is none.
	return x
}

// keep makes x an idle object. The cache of the P is full, or is to be trimmed.
func (s *store) keep(v *view, x unsafex.Ptr) {
	var group [groupSize + 1]unsafex.Ptr
	var n, gets uintptr
	pin := percpu.Acquire()
	if c := v.cache(pin); c != nil && c.most > 0 {
		gets, c.gets = c.gets, 0
		if c.n >= c.most {
			n = (c.n + 1) / 2
		} else if c.room.Load() == 0 {
			n = c.n / 2
		}
		copy(group[:], c.items[:n])
		copy(c.items[:], c.items[n:c.n])
		clear(c.items[c.n-n : c.n])
		c.n -= n
		c.room.Store(c.most)
		c.items[c.n] = x
		c.n++
	} else {
		group[0], n = x, 1
	}
	pin.Release()
	s.gets.Add(uint64(gets))
	s.put(group[:n])
}

// put adds objects to idle, and drops those for which there is no room.
func (s *store) put(objects []unsafex.Ptr) {
	if len(objects) == 0 {
		return
	}
	s.weigh(objects, 1)
	s.mu.Lock()
	n := min(len(objects), max(0, s.idleMax-len(s.idle)))
	s.idle = append(s.idle, objects[:n]...)
	s.mu.Unlock()
	s.drop(objects[n:], &s.drops.full)
}

// weigh adds the sizes of objects, which nobody else uses, to the bytes, or takes them away.
func (s *store) weigh(objects []unsafex.Ptr, sign int64) {
	if s.size == nil {
		return
	}
	var sum int64
	for _, x := range objects {
		sum += int64(s.size(x))
	}
	s.bytes.Add(sign * sum)
}

// drop gives up objects that were weighed.
func (s *store) drop(objects []unsafex.Ptr, count *atomic.Uint64) {
	s.weigh(objects, -1)
	s.free(objects)
	count.Add(uint64(len(objects)))
}

func (s *store) free(objects []unsafex.Ptr) {
	if s.discard != nil {
		for _, x := range objects {
			s.discard(x)
		}
	}
}

// collect is called after each collection.
func (s *store) collect() {
	s.trimming.Lock()
	defer s.trimming.Unlock()
	s.put(s.harvest())
	s.mu.Lock()
	for id := range s.table {
		switch c := s.table[id].Load(); {
		case c.room.Load() != 0:
			c.room.Store(0)
		case atomic.LoadUintptr(&c.n) != 0:
			s.retire(id)
		}
	}
	half := min(s.low, slices.Min(s.lows[:])) / 2
	copy(s.lows[1:], s.lows[:])
	s.lows[0] = s.low
	for i := range s.lows {
		s.lows[i] = max(0, s.lows[i]-half)
	}
	unused := slices.Clone(s.idle[:half])
	s.idle = slices.Delete(s.idle, 0, half)
	if cap(s.idle) > 4*len(s.idle)+groupSize {
		s.idle = slices.Clone(s.idle)
	}
	s.low = len(s.idle)
	s.mu.Unlock()
	s.drop(unused, &s.drops.collected)
}

// retire gives the P of the ID an empty cache. The caller holds mu.
func (s *store) retire(id int) {
	c := s.table[id].Load()
	s.table[id].Store(newCache(c.most))
	s.retired = append(s.retired, retired{c, id})
}

// harvest empties the retired caches and returns their objects. The world has stopped since the
// caches were retired, and the caller holds trimming. With the fallback of percpu the world stops
// while a goroutine has an ID; its cache stays retired.
func (s *store) harvest() (objects []unsafex.Ptr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retired = slices.DeleteFunc(s.retired, func(c retired) bool {
		if percpu.Busy(c.id) {
			return false
		}
		objects = append(objects, c.items[:c.n]...)
		s.gets.Add(uint64(c.gets))
		return true
	})
	return objects
}

// drain drops all idle objects. It stops the world once.
func (s *store) drain() {
	s.trimming.Lock()
	defer s.trimming.Unlock()
	s.mu.Lock()
	for id := range s.table {
		s.retire(id)
	}
	idle := s.idle
	s.idle, s.low = nil, 0
	s.mu.Unlock()
	var stop runtime.MemStats
	runtime.ReadMemStats(&stop)
	cached := s.harvest()
	s.free(cached)
	s.drops.drained.Add(uint64(len(cached)))
	s.drop(idle, &s.drops.drained)
}

// count is the number of idle objects, and of Gets that are not counted in gets.
func (s *store) count() (idle int, gets uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(c *cache) {
		idle += int(atomic.LoadUintptr(&c.n))
		gets += uint64(atomic.LoadUintptr(&c.gets))
	}
	for id := range s.table {
		add(s.table[id].Load())
	}
	for _, c := range s.retired {
		add(c.cache)
	}
	return idle + len(s.idle), gets
}

// A tick is an object that one collection takes. It holds a pointer, so that it shares its memory
// with no other.
type tick struct{ _ *byte }

// watch has collect called after each collection, for as long as the Pool exists.
func (s *store) watch() {
	runtime.AddCleanup(new(tick), func(w weak.Pointer[store]) {
		if s := w.Value(); s != nil {
			s.collect()
			s.watch()
		}
	}, weak.Make(s))
}
