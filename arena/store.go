// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"maps"
	"math/bits"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/realtime"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// Chunks have sizes of classes, eight to an octave from minChunk on, so that a chunk that is given
// back fits the next one who asks.
const minChunk = 256

// classOf is the smallest class of at least n bytes.
func classOf(n uintptr) uint8 {
	if n <= minChunk {
		return 0
	}
	octave := bits.Len64(uint64(n-1)) - 9
	return uint8(octave*8+int((n-1)>>(octave+5)&7)) + 1
}

// classBytes is the size of a class.
func classBytes(class uint8) uintptr {
	return minChunk / 8 * uintptr(8+class&7) << (class >> 3)
}

// newChunk makes the record of a chunk.
func newChunk(f flow, d *typeDesc, class uint8, base unsafex.Ptr, size uintptr) *chunk {
	return &chunk{cursor: cursor{base: base, typed: d != nil}, flow: f, desc: d, class: class, size: size}
}

// chunkIndex finds the chunk that an address lies in. It is kept when chunks are made and dropped,
// never when values are. It keeps no chunk on the Go heap alive: an entry counts only while its
// chunk is reachable, because as long as it is, its memory cannot be anything else (GC-5). Chunks
// off the Go heap are kept until their arena gives them back: the memory of a leaked arena is still
// that arena's.
type chunkIndex struct {
	mu    sync.Mutex // Guards the making of leafs.
	leafs atomic.Pointer[map[uintptr]*leaf]
}

const (
	pageBits = 13
	leafBits = 13
	leafSize = 1 << leafBits // Pages: a leaf covers 64 MiB.
)

// A leaf has the entries of each of its pages.
type leaf struct {
	mu    sync.Mutex // Guards changes of the pages.
	pages [leafSize]atomic.Pointer[entry]
}

// An entry is one chunk that lies in a page, at least in part.
type entry struct {
	base, end uintptr
	chunk     weak.Pointer[chunk]
	off       *chunk // The chunk, if it is off the Go heap.
	next      *entry
}

var index chunkIndex

// add enters a chunk.
func (x *chunkIndex) add(c *chunk) {
	base := unsafex.PtrAddr(c.base)
	alone := &entry{base: base, end: base + c.size, chunk: weak.Make(c)}
	if c.off {
		alone.off = c
	}
	x.change(c, func(old *entry) *entry {
		rest := living(old, nil)
		if rest == nil {
			return alone // One entry serves all pages that the chunk has for itself.
		}
		return alone.before(rest)
	})
}

// remove strikes a chunk off.
func (x *chunkIndex) remove(c *chunk) {
	x.change(c, func(old *entry) *entry { return living(old, c) })
}

// change replaces the entries of all pages that c lies in.
func (x *chunkIndex) change(c *chunk, f func(*entry) *entry) {
	first := unsafex.PtrAddr(c.base) >> pageBits
	last := (unsafex.PtrAddr(c.base) + c.size - 1) >> pageBits
	for page := first; page <= last; {
		l := x.leaf(page)
		l.mu.Lock()
		for end := min(last, page|(leafSize-1)); page <= end; page++ {
			at := &l.pages[page%leafSize]
			at.Store(f(at.Load()))
		}
		l.mu.Unlock()
	}
}

// living is the list without the entries of c and of chunks that are gone.
func living(e *entry, c *chunk) *entry {
	if e == nil {
		return nil
	}
	rest := living(e.next, c)
	if v := e.chunk.Value(); v == nil || v == c {
		return rest
	}
	if rest == e.next {
		return e
	}
	return e.before(rest)
}

// before is a copy of e in front of a list.
func (e *entry) before(next *entry) *entry {
	c := *e
	c.next = next
	return &c
}

// known is the leaf of a page, or nil.
func (x *chunkIndex) known(page uintptr) *leaf {
	if m := x.leafs.Load(); m != nil {
		return (*m)[page>>leafBits]
	}
	return nil
}

// leaf is the leaf of a page, made if there is none.
func (x *chunkIndex) leaf(page uintptr) *leaf {
	if l := x.known(page); l != nil {
		return l
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if l := x.known(page); l != nil {
		return l
	}
	leafs := make(map[uintptr]*leaf)
	if m := x.leafs.Load(); m != nil {
		maps.Copy(leafs, *m)
	}
	l := new(leaf)
	leafs[page>>leafBits] = l
	x.leafs.Store(&leafs)
	return l
}

// find is the chunk that addr lies in, or nil.
func (x *chunkIndex) find(addr uintptr) *chunk {
	l := x.known(addr >> pageBits)
	if l == nil {
		return nil
	}
	for e := l.pages[addr>>pageBits%leafSize].Load(); e != nil; e = e.next {
		if addr >= e.base && addr < e.end {
			if c := e.chunk.Value(); c != nil {
				return c
			}
		}
	}
	return nil
}

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

// proven keeps chunks without pointers that the collector has proved unreachable, for arenas
// without reuse, for some seconds.
var proven chunkStore

// pooled is the bytes in the states of all Pools.
var pooled atomic.Int64

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

// The chunks in the quarantine take at most the budget of guarded bytes divided by quarantineShare,
// because the collector waits for the heap to grow in proportion, and at most quarantineMost,
// because it scans all of them in each cycle.
const (
	quarantineShare = 8
	quarantineMost  = 64 << 20
)

// quarantined is how many bytes of chunks the quarantine keeps.
func (s *debugState) quarantined() int64 {
	return min(s.config.GuardBytes/quarantineShare, quarantineMost)
}

// quarantine keeps freed chunks, so that no arena gets their memory and stale pointers
// lead to what it was overwritten with. When it is full, the oldest are cleared and left to the
// collector.
var quarantine quarantineList

type quarantineList struct {
	mu          sync.Mutex
	first, last *chunk
	bytes       int64
}

// put takes chunks, linked by next, and keeps those freed last, up to most bytes.
func (q *quarantineList) put(list *chunk, most int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for c := list; c != nil; {
		next := c.next
		c.next = nil
		if q.last == nil {
			q.first = c
		} else {
			q.last.next = c
		}
		q.last = c
		q.bytes += c.bytes()
		c = next
	}
	for q.bytes > most {
		c := q.first
		if q.first = c.next; q.first == nil {
			q.last = nil
		}
		q.bytes -= c.bytes()
		c.allow()
		if c.desc != nil {
			c.mem.SetLen(c.mem.Cap())
			c.mem.Clear()
		}
		drop(c)
		runtime.KeepAlive(c)
	}
}

// allow makes the chunk's memory accessible to the sanitizer again, because the collector gets it.
func (c *chunk) allow() {
	if sanitize.Enabled {
		sanitize.Unpoison(unsafex.PtrAddr(c.base), c.size)
	}
}

// checkKept is for a chunk that enters or leaves the store's shelf k.
func (c *chunk) checkKept(k shelf) {
	if !invariants.Enabled {
		return
	}
	if (shelf{c.desc, c.flow, c.class}) != k || c.off || c.owner.Load() != nil || c.used != 0 || c.limit != 0 {
		invariants.Broken("a chunk of class %d on a shelf of class %d has owner %d, position %d and limit %d", c.class, k.class, c.ownerID(), c.used, c.limit)
	}
}

// checkShelves is for a shard, whose lock the caller holds.
func (sh *shard) checkShelves(s *chunkStore) {
	if !invariants.Enabled {
		return
	}
	kept := int64(0)
	for k, c := range sh.lists {
		if c == nil {
			invariants.Broken("the store has an empty shelf of class %d", k.class)
		}
		for ; c != nil; c = c.next {
			c.checkKept(k)
			kept += c.bytes()
		}
	}
	if n := sh.bytes.Load(); n != kept || s.kept.Load() < 0 {
		invariants.Broken("a shard of the store has chunks of %d bytes; counted were %d, and %d in all", kept, n, s.kept.Load())
	}
}
