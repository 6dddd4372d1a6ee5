// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/offheap"
)

// An engine is a cache of bytes; the types of this package are views of one.
//
// Locks, in the order in which a goroutine takes them: a stripe's mu, the engine's mu, the locks of the
// buckets of a family, from the lowest on. OnRemove and the callers' functions run under none of them.
type engine struct {
	table
	o         settings
	purpose   *offheap.Purpose
	segShift  uint
	blockSize int
	mostSmall int // The largest entry that lies in a segment with others.
	mostValue int
	keepAll   bool // Nothing is evicted.
	dir       atomic.Pointer[directory]
	count     atomic.Int64
	stripes   []stripe
	counts    counts
	flights   flights
	start     time.Time
	latest    atomic.Int64 // The latest reading of the clock.
	sweeper   sweeper

	mu          sync.Mutex
	budget      int64
	held        int64 // Bytes of blocks and large entries.
	blocks      []*block
	free        []*segment
	viewed      []*segment
	numbers     []uint64 // Free numbers of segments.
	pageSegs    []*segment
	window      []*segment
	windowBytes int64
	main        []*segment
	victim      *segment
	copies      [roleMain + 1]*segment // The open segments of eviction, by queue.
	walked      candidate
	dueller     candidate
	removed     []removal // For OnRemove, once mu is free.
}

// settings are what the engine needs of the options.
type settings struct {
	Options
	onRemove func(key, value []byte, why Reason)
}

const (
	mostBlock    = 2 << 20
	mostSegment  = 1 << 20
	leastSegment = 8 << 10
	leastBytes   = 1 << 20
	mostStripes  = 4
	manySegments = 512 // With fewer of them, one is open in place of mostStripes.
	// fill is the share of slots that may be taken, in 1/64.
	fill = 40
)

func newEngine(o settings, keepAll bool) (*engine, error) {
	e := &engine{o: o, keepAll: keepAll, budget: o.Bytes, start: time.Now()}
	if o.Clock != nil {
		e.start = o.Clock()
	}
	name := "cache"
	if o.Name != "" {
		name += " " + o.Name
	}
	e.purpose = offheap.NewPurpose(name)
	block := min(o.Bytes/8, mostBlock)
	seg := min(max(o.Bytes/256, leastSegment), mostSegment, block)
	e.segShift = uint(bits.Len64(uint64(seg)) - 1)
	e.blockSize = int(block >> e.segShift << e.segShift)
	e.mostSmall = 1 << e.segShift / 2
	e.mostValue = int(min(o.Bytes/8, 1<<31-1))
	e.stripes = make([]stripe, 1)
	if o.Bytes >= manySegments<<e.segShift {
		e.stripes = make([]stripe, mostStripes)
	}
	e.counts.reads = make([]readCounts, runtime.GOMAXPROCS(0)+1)
	e.dir.Store(new(directory))
	*e.dir.Load() = make(directory, 1)
	e.table = table{seed: maphash.MakeSeed(), shift: e.segShift - 6}
	e.table.hash = func(loc uint64) uint64 { return maphash.Bytes(e.seed, keyOf(e.entry(loc))) }
	e.pages.Store(new([]*bucket))
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range 4 {
		s, err := e.take()
		if err != nil {
			e.freeAll()
			return nil, err
		}
		e.setPage(i, s)
	}
	e.n.Store(4 << e.shift)
	return e, nil
}

// search locks the home bucket of a key, and its family if the entry may be there, and finds the entry.
func (e *engine) search(h uint64, key []byte) (f found) {
	if f = e.lock(h, false); f.first == nil {
		return f
	}
	if f.slot = e.find(f.bucket(f.home), h, 0, key); f.slot < 0 && displaced(f.heads[f.home&3]) > 0 {
		f.unlock()
		return e.searchAll(h, key)
	}
	return f
}

// searchAll is search that locks the family.
func (e *engine) searchAll(h uint64, key []byte) (f found) {
	if f = e.lock(h, true); f.first == nil {
		return f
	}
	for distance := 0; distance < family && f.slot < 0; distance++ {
		f.in = f.home ^ distance
		f.slot = e.find(f.bucket(f.in), h, uint64(distance), key)
	}
	return f
}

// drop takes the entry of f out of the table, and adds it to a list for OnRemove.
func (e *engine) drop(f *found, why Reason, list []removal) []removal {
	slot := *f.at()
	*f.at() = 0
	if distance := slot & slotDistance >> locBits; distance != 0 {
		f.heads[f.in^int(distance)] -= headDisplaced
	}
	e.count.Add(-1)
	e.counts.removed[why].Add(1)
	return e.dead(slot, why, list)
}

// dead notes that the table no longer leads to the entry of a slot, whose bucket is locked.
func (e *engine) dead(slot uint64, why Reason, list []removal) []removal {
	b := e.entry(slot)
	s := shapeOf(b)
	e.segment(slot & locMask).live.Add(-int64(s.size))
	if e.o.onRemove != nil && b[0]&flagAbsent == 0 {
		r := removal{key: slices.Clone(keyOf(b)), value: slices.Clone(valueOf(b)), reason: why}
		list = append(list, r)
	}
	return list
}

// tell calls OnRemove.
func (e *engine) tell(list []removal) {
	for _, r := range list {
		e.o.onRemove(r.key, r.value, r.reason)
	}
}

// unlockAndTell unlocks mu and calls OnRemove for what was evicted under it.
func (e *engine) unlockAndTell() {
	list := e.removed
	e.removed = nil
	e.mu.Unlock()
	e.tell(list)
}

// A lookup says what get found.
type lookup struct {
	ok     bool
	absent bool      // The loader said ErrNotFound.
	stale  bool      // It has expired, and Stale still allows it.
	until  deadlines // Of the entry.
}

// get appends the value of a key to dst.
func (e *engine) get(dst, key []byte, stale bool) ([]byte, lookup) {
	h := maphash.Bytes(e.seed, key)
	for again := false; ; again = true {
		f := e.search(h, key)
		if f.first == nil {
			return dst, lookup{}
		}
		if !again {
			f.count(h)
		}
		b, l := e.use(&f, stale)
		if !l.ok {
			if b == nil {
				f.unlock()
				return dst, l
			}
			list := e.drop(&f, Expired, nil)
			f.unlock()
			e.tell(list)
			return dst, lookup{}
		}
		v := valueOf(b)
		if n := len(v); cap(dst)-len(dst) < n { // Growing takes time, and may start a collection.
			f.unlock()
			dst = slices.Grow(dst, n)
			continue
		}
		dst = append(dst, v...)
		f.unlock()
		return dst, l
	}
}

// use counts a use of what was found and returns the entry, if it may be used. If it has expired for
// good, l.ok is false, and the caller drops it.
func (e *engine) use(f *found, stale bool) (b []byte, l lookup) {
	if f.slot < 0 {
		return nil, l
	}
	slot := f.at()
	b = e.entry(*slot)
	if b[0]&^(flagWidth|flagLongKey) != 0 {
		l.absent = b[0]&flagAbsent != 0
		l.until = deadlinesOf(b)
		if first := l.until.first(); first != 0 {
			now := e.now()
			if now >= first {
				if e.ended(first) {
					return b, l
				}
				if !stale {
					return nil, l
				}
				l.stale = true
			} else if l.until.idle != 0 {
				l.until.idle = now + e.o.Idle.Milliseconds()
				setDeadlines(b, l.until)
			}
		}
		if l.absent && !stale {
			return nil, l
		}
	}
	if *slot&slotUses != slotUses {
		*slot += slotUse
	}
	l.ok = true
	return b, l
}

// view calls f with the value of a key.
func (e *engine) view(key []byte, f func(value []byte)) bool {
	return e.viewHash(maphash.Bytes(e.seed, key), key, f)
}

func (e *engine) viewHash(h uint64, key []byte, f func(value []byte)) bool {
	at := e.search(h, key)
	if at.first == nil {
		return false
	}
	at.count(h)
	b, l := e.use(&at, false)
	if !l.ok {
		at.unlock()
		return false
	}
	s := e.segment(*at.at() & locMask)
	s.pins.Add(1)
	at.unlock()
	defer s.pins.Add(-1)
	f(valueOf(b))
	return true
}

// checkSize is an error if an entry cannot be stored.
func (e *engine) checkSize(key, value int) error {
	switch {
	case key == 0 || key > mostKey:
		return fmt.Errorf("%w: a key of %d bytes; it must have 1 to %d", ErrSize, key, mostKey)
	case value > e.mostValue:
		return fmt.Errorf("%w: a value of %d bytes; with a budget of %d at most %d", ErrSize, value, e.o.Bytes, e.mostValue)
	}
	return nil
}

// set stores a value. If it returns an error, the key has no value.
func (e *engine) set(key, value []byte, t deadlines) error {
	e.flights.forget(key)
	return e.store(key, value, t, 0, nil)
}

// store is set for an entry with flags, if may allows it: it is asked under the lock of the bucket, and
// nil always allows it.
func (e *engine) store(key, value []byte, t deadlines, flags byte, may func(slot uint64) bool) error {
	err := e.checkSize(len(key), len(value))
	if err == nil {
		h := maphash.Bytes(e.seed, key)
		if e.o.onRemove == nil && e.storeFast(h, key, value, t, flags, may) {
			e.stored(t)
			return nil
		}
		var w written
		if w, err = e.write(h, key, value, t, flags); err == nil {
			_, err = e.publish(w, key, may)
		}
	}
	if err != nil {
		e.remove(key, may)
	}
	return err
}

// storeFast is store where the value fits in the place of the older one, or the open segment has room and
// nobody holds it. It holds one lock of the table all the time, so it must not wait for another.
func (e *engine) storeFast(h uint64, key, value []byte, t deadlines, flags byte, may func(slot uint64) bool) (done bool) {
	f := e.search(h, key)
	if f.first == nil {
		return false
	}
	defer f.unlock()
	if may != nil && !may(f.has()) {
		return true
	}
	if f.slot >= 0 {
		slot := *f.at()
		b := e.entry(slot)
		if len(value) <= roomOf(b) && b[0]&(flagDeadline|flagIdle|flagAbsent) == t.flags()|flags && e.segment(slot&locMask).pins.Load() == 0 {
			setValue(b, value)
			setDeadlines(b, t)
			return true
		}
	} else if empty(f.bucket(f.home)) < 0 {
		return false
	}
	s := shapeFor(len(key), len(value), t.flags()|flags)
	st := e.stripe(h)
	if s.size > e.mostSmall || !st.mu.TryLock() {
		return false
	}
	defer st.mu.Unlock()
	seg := st.seg
	if seg == nil || seg.used+s.size > len(seg.mem) {
		return false
	}
	off := seg.used
	seg.used += s.size
	seg.live.Add(int64(s.size))
	s.write(seg.mem[off:], key, value, t)
	if loc := e.location(seg, off); f.slot >= 0 {
		old := *f.at()
		e.dead(old, Replaced, nil)
		*f.at() = old&^locMask | loc
	} else {
		f.put(h>>tagShift<<tagShift | loc)
		e.count.Add(1)
	}
	return true
}

// written is an entry that is not in the table yet. Its segment is pinned.
type written struct {
	seg *segment
	off int
	h   uint64
}

// write writes an entry.
func (e *engine) write(h uint64, key, value []byte, t deadlines, flags byte) (w written, err error) {
	s := shapeFor(len(key), len(value), t.flags()|flags)
	w.h = h
	if w.seg, w.off, err = e.place(h, s.size); err != nil {
		return w, err
	}
	s.write(w.seg.mem[w.off:], key, value, t)
	return w, nil
}

// stored does what is due after an entry was stored.
func (e *engine) stored(t deadlines) {
	if t.first() != 0 {
		e.sweeper.need(e)
	}
	if uint64(e.count.Load())*64 > e.n.Load()*slots*fill {
		e.growTable()
	}
}

// publish makes the table lead to an entry that was written, if may allows it; nil always does. may
// gets the slot of the key, 0 if there is none.
func (e *engine) publish(w written, key []byte, may func(slot uint64) bool) (ok bool, err error) {
	defer w.seg.pins.Add(-1)
	loc := e.location(w.seg, w.off)
	f := e.search(w.h, key)
	if f.first != nil && f.slot < 0 && !f.all && empty(f.bucket(f.home)) < 0 {
		f.unlock()
		f = e.searchAll(w.h, key)
	}
	if f.first == nil || may != nil && !may(f.has()) {
		w.seg.live.Add(-int64(shapeOf(w.seg.mem[w.off:]).size))
		if f.first == nil {
			return false, ErrClosed
		}
		f.unlock()
		return false, nil
	}
	var list []removal
	if f.slot >= 0 {
		old := *f.at()
		list = e.dead(old, Replaced, nil)
		*f.at() = old&^locMask | loc
		f.unlock()
		e.tell(list)
		e.stored(deadlinesOf(w.seg.mem[w.off:]))
		return true, nil
	}
	slot := w.h>>tagShift<<tagShift | loc
	if !f.put(slot) {
		f.in, f.slot = f.home, leastUsed(f.bucket(f.home))
		list = e.drop(&f, Evicted, nil)
		f.put(slot)
	}
	f.unlock()
	e.tell(list)
	e.count.Add(1)
	e.stored(deadlinesOf(w.seg.mem[w.off:]))
	return true, nil
}

// leastUsed is the slot of a full bucket with the fewest uses.
func leastUsed(b *bucket) int {
	least := 1
	for i := 2; i < bucketWords; i++ {
		if b[i]&slotUses < b[least]&slotUses {
			least = i
		}
	}
	return least
}

// growTable adds buckets until the table is not too full.
func (e *engine) growTable() {
	if !e.mu.TryLock() {
		return // The next one who adds an entry does it.
	}
	defer e.unlockAndTell()
	for e.n.Load() != 0 && uint64(e.count.Load())*64 > e.n.Load()*slots*fill {
		if e.addPage() != nil {
			return // Full buckets evict.
		}
		e.resize(e.n.Load()+family, e.dropFull)
	}
}

// delete removes a key and says whether it had a value.
func (e *engine) delete(key []byte) bool {
	e.flights.forget(key)
	return e.remove(key, nil)
}

// remove is delete, if may allows it under the lock of the bucket.
func (e *engine) remove(key []byte, may func(slot uint64) bool) (there bool) {
	f := e.search(maphash.Bytes(e.seed, key), key)
	if f.slot < 0 || may != nil && !may(f.has()) {
		f.unlock()
		return false
	}
	b := e.entry(*f.at())
	there = b[0]&flagAbsent == 0
	why := Deleted
	if first := deadlinesOf(b).first(); first != 0 && e.now() >= first {
		there, why = false, Expired
	}
	list := e.drop(&f, why, nil)
	f.unlock()
	e.tell(list)
	return there
}

// update replaces or removes the value of a key by what f says, which may run several times.
func (e *engine) update(key []byte, f func(old []byte, ok bool) ([]byte, Op), ttl func() deadlines) error {
	if err := e.checkSize(len(key), 0); err != nil {
		return err
	}
	h := maphash.Bytes(e.seed, key)
	var old []byte
	for {
		e.flights.forget(key)
		at := e.search(h, key)
		if at.first == nil {
			return ErrClosed
		}
		b, l := e.use(&at, false)
		loc := at.has() & locMask
		old = old[:0]
		if l.ok {
			old = append(old, valueOf(b)...)
		}
		at.unlock()
		// same says that the entry is as f has seen it.
		same := func(slot uint64) bool {
			return slot&locMask == loc && (!l.ok || bytes.Equal(valueOf(e.entry(loc)), old))
		}
		value, op := f(old[:len(old):len(old)], l.ok)
		switch op {
		case Keep:
			return nil
		case Remove:
			at := e.search(h, key)
			if at.first == nil {
				return ErrClosed
			}
			if same(at.has()) {
				var list []removal
				if at.slot >= 0 {
					list = e.drop(&at, Deleted, nil)
				}
				at.unlock()
				e.tell(list)
				return nil
			}
			at.unlock()
		case Store:
			err := e.checkSize(len(key), len(value))
			if err == nil {
				var w written
				if w, err = e.write(h, key, value, ttl(), 0); err == nil {
					ok := false
					if ok, err = e.publish(w, key, same); ok {
						return nil
					}
				}
			}
			if err != nil {
				e.remove(key, nil)
				return err
			}
		default:
			return fmt.Errorf("cache: Update's function returned Op(%d), which is none", op)
		}
	}
}

// dropFull evicts an entry for which the table has no room any more. Its bucket is locked.
func (e *engine) dropFull(slot uint64) {
	e.count.Add(-1)
	e.counts.removed[Evicted].Add(1)
	e.removed = e.dead(slot, Evicted, e.removed)
}

// close removes everything and returns the memory. Calls that are under way find nothing or
// ErrClosed. It waits for views.
func (e *engine) close() {
	e.lockAll()
	if e.n.Load() == 0 {
		e.unlockAll()
		return
	}
	for _, b := range *e.pages.Load() {
		e.lockPage(b) // For good: whoever waits sees n.
	}
	e.n.Store(0)
	quiesce()
	e.count.Store(0)
	d := *e.dir.Load()
	for i := range d {
		if s := d[i].Load(); s != nil {
			for attempt := 0; s.pins.Load() != 0; attempt++ {
				pause(attempt)
			}
		}
	}
	e.freeAll()
	e.unlockAll()
	e.sweeper.stop()
}

// freeAll returns all memory. The caller holds mu, and nobody uses the table.
func (e *engine) freeAll() {
	d := *e.dir.Load()
	for i := range d {
		if s := d[i].Load(); s != nil && s.block == nil {
			e.reclaim(s)
		}
	}
	for _, b := range e.blocks {
		e.release(b.words)
	}
	e.held = 0
	e.blocks, e.free, e.viewed, e.pageSegs, e.window, e.main, e.victim = nil, nil, nil, nil, nil, nil, nil
	e.windowBytes = 0
}
