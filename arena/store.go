// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/realtime"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A chunkStore keeps chunks that arenas gave back, for the next arenas, for some seconds. It is
// divided into shards, of which each P prefers one. Only Free, Reset and Rewind fill it.
//
// What it keeps is bounded: with the chunks of live arenas it never holds more than slack above
// what live arenas held at once not long ago.
type chunkStore struct {
	shards [storeShards]shard
	held   atomic.Int64 // In live arenas on Go memory.
	kept   atomic.Int64 // Here.
	peak   atomic.Int64 // Of held; decays.
	tick   atomic.Uint32
	timing atomic.Bool
}

const (
	storeShards = 16
	storeSlack  = 64 << 20
	tickEvery   = time.Second
	keepTicks   = 4 // Chunks leave in the tick after so many.
)

type shard struct {
	mu    sync.Mutex
	bytes atomic.Int64 // Changed under mu.
	lists map[shelf]*chunk
	_     [64]byte // Shards of different Ps do not share a cache line.
}

// A shelf is what a chunk can serve.
type shelf struct {
	desc  *typeDesc // Of typed chunks.
	flow  flow
	class uint8
}

var store chunkStore

// home is the shard that the caller should use.
func home() int {
	p := percpu.Acquire()
	id := p.ID()
	p.Release()
	return id % storeShards
}

// get is a chunk for a shelf, or nil.
func (s *chunkStore) get(k shelf) *chunk {
	if s.kept.Load() <= 0 {
		return nil
	}
	first := home()
	for i := range storeShards {
		sh := &s.shards[(first+i)%storeShards]
		if sh.bytes.Load() == 0 || !sh.lock(i == 0) {
			continue
		}
		c := sh.lists[k]
		if c != nil {
			if c.next != nil {
				sh.lists[k] = c.next
			} else {
				delete(sh.lists, k)
			}
			sh.bytes.Add(-c.bytes())
			c.checkKept(k)
		}
		sh.mu.Unlock()
		if c != nil {
			s.kept.Add(-c.bytes())
			return c
		}
	}
	return nil
}

// lock takes the lock. If another goroutine has it, lock waits if wait is set, and returns false
// otherwise.
func (sh *shard) lock(wait bool) bool {
	if wait {
		sh.mu.Lock()
		return true
	}
	return sh.mu.TryLock()
}

// put takes chunks that are linked by next, closed and, if typed, clear.
func (s *chunkStore) put(list *chunk) {
	if list == nil {
		return
	}
	room := s.peak.Load() + storeSlack - s.held.Load()
	sh := &s.shards[home()]
	tick := s.tick.Load()
	sh.mu.Lock()
	for c := list; c != nil; {
		next := c.next
		n := c.bytes()
		if s.kept.Add(n) > room {
			s.kept.Add(-n)
			drop(c)
		} else {
			k := shelf{c.desc, c.flow, c.class}
			c.checkKept(k)
			if sh.lists == nil {
				sh.lists = make(map[shelf]*chunk)
			}
			c.tick, c.next = tick, sh.lists[k]
			sh.lists[k] = c
			sh.bytes.Add(n)
		}
		c = next
	}
	sh.mu.Unlock()
	s.wake()
}

// drop leaves a chunk to the collector. Nothing that still has its cursor keeps its memory alive.
func drop(c *chunk) {
	c.next = nil
	index.remove(c)
	c.cursor = cursor{}
	c.mem = reflect.Value{}
}

// charge counts bytes that a live arena takes, or gives back if n is negative.
func (s *chunkStore) charge(n int64) {
	held := s.held.Add(n)
	for p := s.peak.Load(); held > p && !s.peak.CompareAndSwap(p, held); p = s.peak.Load() {
	}
}

// wake starts the clock if it stands still.
func (s *chunkStore) wake() {
	if !s.timing.Load() && s.timing.CompareAndSwap(false, true) {
		realtime.AfterFunc(tickEvery, s.ticked)
	}
}

func (s *chunkStore) ticked() {
	s.expire()
	if s.kept.Load() > 0 || s.peak.Load() > max(s.held.Load(), storeSlack) {
		realtime.AfterFunc(tickEvery, s.ticked)
		return
	}
	s.timing.Store(false)
	if s.kept.Load() > 0 {
		s.wake()
	}
}

// expire is one tick: it drops what has not been wanted for keepTicks.
func (s *chunkStore) expire() {
	now := s.tick.Add(1)
	held := s.held.Load()
	peak := s.peak.Load()
	s.peak.CompareAndSwap(peak, max(held, peak-peak/8))
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		for k, c := range sh.lists {
			sh.expire(s, k, c, now)
		}
		sh.checkShelves(s)
		sh.mu.Unlock()
	}
}

// expire cuts off the tail of a list: lists are in the order in which chunks came, the last first.
func (sh *shard) expire(s *chunkStore, k shelf, c *chunk, now uint32) {
	var fresh *chunk
	for c != nil && now-c.tick <= keepTicks {
		fresh, c = c, c.next
	}
	if fresh != nil {
		fresh.next = nil
	} else {
		delete(sh.lists, k)
	}
	for c != nil {
		next := c.next
		sh.bytes.Add(-c.bytes())
		s.kept.Add(-c.bytes())
		drop(c)
		c = next
	}
}

// bytes is what the chunk takes of the Go heap, about.
func (c *chunk) bytes() int64 { return int64(classBytes(c.class)) }

// goHeader is what the runtime adds to an object with pointers above 512 bytes.
const goHeader = 8

// makeChunk makes a chunk of a class on the Go heap. A class of typed chunks has room for a value.
// A typed chunk is a []T to the collector (GC-6).
func makeChunk(f flow, d *typeDesc, class uint8) *chunk {
	bytes := classBytes(class)
	c := newChunk(f, d, class, nil, bytes)
	if d == nil {
		c.base = unsafex.DataOf(make([]uint64, bytes/8))
	} else {
		n := (bytes - goHeader) / d.size
		c.mem = reflect.New(d.slice).Elem()
		c.mem.Set(reflect.MakeSlice(d.slice, int(n), int(n)))
		c.base, c.size = c.mem.UnsafePointer(), n*d.size
	}
	index.add(c)
	runtime.KeepAlive(c)
	return c
}
