// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/offheap"
)

// An engine is a cache of bytes; the types of this package are views of one.
//
// Locks, in the order in which a goroutine takes them: a stripe's mu, the engine's mu, the locks of the
// buckets of a family, from the lowest on, the flights' mu. OnRemove and the callers' functions run under none of them.
type engine struct {
	table
	o         settings
	purpose   *offheap.Purpose
	segShift  uint
	blockSize int
	unit      int // Entries begin at multiples of it: pointerUnit for Objects, or else 1.
	mostSmall int // The largest entry that lies in a segment with others.
	dir       atomic.Pointer[directory]
	mems      atomic.Pointer[[][]byte] // The memory of the segments of dir, for entry: one access less.
	count     atomic.Int64
	stripes   []stripe
	fillNow   atomic.Uint64 // fill or roomyFill. It is set under mu.
	counts    counts
	flights   flights
	start     time.Time
	latest    atomic.Int64 // The latest reading of the clock.
	sweeper   sweeper
	stuckAt   atomic.Int64 // The number of entries when there was no memory for more buckets.
	compacts  bool         // The memory is not what bounds the entries: of Map and Objects.
	weight    atomic.Int64 // Of all objects, those included that are being stored.
	budget    atomic.Int64 // Of Objects for weight, or else for held. It is set under all locks but those of buckets.
	died      atomic.Int64 // Bytes of entries that have left the table since the last tidy.
	tidyAt    atomic.Int64 // How many of them make the next tidy worthwhile.

	mu          sync.Mutex
	held        int64 // Bytes of blocks, large entries and pages.
	blocks      []*block
	free        []*segment
	viewed      []*segment
	numbers     []uint64   // Free numbers of segments.
	buckets     [][]uint64 // The pages of the table, nil where there is none.
	chainPages  [][]uint64
	window      []*segment
	windowBytes int64
	main        []*segment
	victim      *segment
	copies      [roleMain + 1]*segment // The open segments of eviction, by queue.
	walked      candidate
	dueller     candidate
	passed      uint64    // Entries of main that this step of eviction has passed.
	age         int64     // Of evicted entries, in milliseconds.
	removed     []removal // For OnRemove, once mu is free.
}

// settings are what the engine needs of the options.
type settings struct {
	Options
	keep     bool    // Nothing is evicted: the engine of a Map.
	objects  objects // The values of Objects; nil if values are bytes.
	onRemove func(r removal)
	refuse   func() error // For tests: it may refuse memory.
}

// objects are pointers by their places, see placeOf. store and load are called under the lock of the bucket of the
// place's entry, or before that is in the table; resize, which says how many places a segment has, under mu.
type objects interface {
	resize(segment uint64, n int)
	load(segment, i uint64) any
	store(segment, i uint64, object any)
}

const (
	mostBlock    = 2 << 20
	mostSegment  = 1 << 20
	leastSegment = 8 << 10
	mapSegment   = 64 << 10
	leastObjects = 1 << 10 // Of segments of Objects, and mostObjects and objectsPage.
	mostObjects  = 128 << 10
	objectsPage  = 16 << 10
	mostStripes  = 4
	// segmentShare is the part of the weights that one segment of Objects may have.
	segmentShare = 256
	manySegments = 512 // With fewer of them, one is open in place of mostStripes.
	// fill is the share of slots that may be taken, in 1/64. One entry in a hundred finds no room then. While there is
	// memory for more buckets it is roomyFill, and that is one in 400.
	fill      = 40
	roomyFill = 35
)

// search locks the home bucket of a key, and its family if the entry may be there, and finds the entry.
func (e *engine) search(f *found, h uint64, key []byte) {
	if e.lock(f, h, false); f.first == nil {
		return
	}
	if f.slot = e.find(f.bucket(f.home), h, 0, key); f.slot < 0 && e.elsewhere(f.heads[f.home&3]) {
		f.unlock()
		e.searchAll(f, h, key)
	}
}

// searchAll is search that locks the family.
func (e *engine) searchAll(f *found, h uint64, key []byte) {
	e.lookAll(f, h, func(b *bucket, distance uint64) int { return e.find(b, h, distance, key) })
}

// lookAll locks the family of a hash and looks for an entry in it: slotOf is its slot in a bucket, or -1, among
// the entries whose home is at a distance.
func (e *engine) lookAll(f *found, h uint64, slotOf func(b *bucket, distance uint64) int) {
	if e.lock(f, h, true); f.first == nil {
		return
	}
	for distance := 0; distance < family && f.slot < 0; distance++ {
		f.in = f.home ^ distance
		f.slot = slotOf(f.bucket(f.in), uint64(distance))
	}
	if f.slot < 0 {
		e.inChain(f, func(b *bucket) int { return slotOf(b, 0) })
	}
}

// drop takes the entry of f out of the table, and adds it to a list for OnRemove.
func (e *engine) drop(f *found, why Reason, list []removal) []removal {
	slot := *f.at()
	*f.at() = 0
	if distance := slot & slotDistance >> locBits; distance != 0 {
		f.heads[f.in^int(distance)] -= headDisplaced
	} else if e.o.keep {
		e.shorten(f)
	}
	return e.gone(slot, why, list)
}

// gone counts an entry that has left the table, and adds it to a list for OnRemove.
func (e *engine) gone(slot uint64, why Reason, list []removal) []removal {
	e.count.Add(-1)
	e.counts.removed[why].Add(1)
	return e.dead(slot, why, list)
}

// supersede makes the slot of f lead to a newer entry of its key.
func (e *engine) supersede(f *found, loc uint64) []removal {
	old := *f.at()
	*f.at() = old&^locMask | loc
	e.counts.replace()
	return e.dead(old, Replaced, nil)
}

// dead notes that the table no longer leads to the entry of a slot, whose bucket is locked.
func (e *engine) dead(slot uint64, why Reason, list []removal) []removal {
	b := e.entry(slot)
	s := shapeOf(b)
	e.segment(slot & locMask).live.sub(s.size)
	if e.compacts {
		e.died.Add(int64(s.size))
	}
	if e.o.onRemove != nil && b[0]&flagAbsent == 0 {
		object := e.object(slot)
		if e.o.objects == nil || object != nil { // It has gone with a cache that was dropped.
			list = append(list, removal{key: slices.Clone(keyOf(b)), value: slices.Clone(valueOf(b)), object: object, reason: why})
		}
	}
	e.lose(slot)
	return list
}

// lose lets go of the object of the entry of a slot, if the values are objects.
func (e *engine) lose(slot uint64) {
	if e.o.objects != nil {
		e.weight.Add(-e.weightOf(e.entry(slot)))
		e.setObject(slot, nil)
	}
}

// placeOf is where the object of the entry of a slot is: the number of a segment, and which one it is there.
func (e *engine) placeOf(slot uint64) (segment, i uint64) {
	loc := slot & locMask
	return loc >> e.segShift, loc & (1<<e.segShift - 1) / pointerUnit
}

// object is the object of the entry of a slot, if the values are objects.
func (e *engine) object(slot uint64) any {
	if e.o.objects == nil {
		return nil
	}
	return e.o.objects.load(e.placeOf(slot))
}

// setObject replaces the object of the entry of a slot, if the values are objects.
func (e *engine) setObject(slot uint64, object any) {
	if e.o.objects != nil {
		segment, i := e.placeOf(slot)
		e.o.objects.store(segment, i, object)
	}
}

// weightOf is the weight of the entry at the beginning of b, 0 if the values are bytes.
func (e *engine) weightOf(b []byte) int64 {
	if e.o.objects == nil {
		return 0
	}
	weight, _ := binary.Uvarint(valueOf(b))
	return int64(weight)
}

// tell calls OnRemove.
func (e *engine) tell(list []removal) {
	for _, r := range list {
		e.o.onRemove(r)
	}
}

// unlock unlocks mu and returns what was evicted under it. The caller tells OnRemove.
func (e *engine) unlock() (told []removal) {
	told, e.removed = e.removed, nil
	e.mu.Unlock()
	return told
}

// unlockAndTell unlocks mu and calls OnRemove for what was evicted under it.
func (e *engine) unlockAndTell() { e.tell(e.unlock()) }

// A lookup says what get found.
type lookup struct {
	ok     bool
	absent bool      // The loader said ErrNotFound.
	stale  bool      // It has expired, and Stale still allows it.
	until  deadlines // Of the entry.
}

// quick finds the entry of a key in most cases, in little time: it is in its home bucket, has no flags, and
// nobody holds the lock. Then the slot leads to the entry, and the caller unlocks b with the head. miss says that the
// key has no entry. Otherwise b is nil, and the caller looks with hold, which counts the use.
func (e *engine) quick(h uint64, key []byte) (b *bucket, head, slot uint64, miss bool) {
	pin := percpu.Acquire()
	n := e.n.Load()
	ok := false
	if n != 0 {
		if b = e.at(e.home(h, n)); b != nil {
			head, ok = try(b)
		}
	}
	pin.Release()
	if !ok {
		return nil, 0, 0, false
	}
	if e.n.Load() != n {
		unlock(b, head)
		return nil, 0, 0, false
	}
	for i := 1; i < bucketWords; i++ {
		slot = b[i]
		if (slot^h)>>tagShift != 0 || slot&slotDistance != 0 || slot == 0 {
			continue
		}
		x := e.entry(slot)
		if !bytes.Equal(keyOf(x), key) {
			continue
		}
		if x[0]&^(flagWidth|flagLongKey) != 0 {
			unlock(b, head)
			return nil, 0, 0, false
		}
		if !e.o.keep {
			head = counted(head, h)
			if slot&slotUses != slotUses {
				b[i] = slot + slotUse
			}
		}
		return b, head, slot, false
	}
	if miss = !e.elsewhere(head); miss && !e.o.keep {
		head = counted(head, h)
	}
	unlock(b, head)
	return nil, 0, 0, miss
}

// get appends the value of a key to dst.
func (e *engine) get(dst, key []byte, stale bool) ([]byte, lookup) {
	h := maphash.Bytes(e.seed, key)
	b, head, slot, miss := e.quick(h, key)
	if miss {
		return dst, lookup{}
	}
	if b != nil {
		v := valueOf(e.entry(slot))
		if cap(dst)-len(dst) >= len(v) {
			dst = append(dst, v...)
			unlock(b, head)
			return dst, lookup{ok: true}
		}
		n := len(v)
		unlock(b, head) // Growing takes time, and may start a collection.
		dst = slices.Grow(dst, n)
	}
	return e.getSlow(dst, key, h, b != nil, stale)
}

// getSlow is get for what quick did not find, or for which there was no room.
func (e *engine) getSlow(dst, key []byte, h uint64, again, stale bool) ([]byte, lookup) {
	for ; ; again = true {
		var f found
		b, l := e.hold(&f, h, key, again, stale)
		if !l.ok {
			return dst, l
		}
		v := valueOf(b)
		if n := len(v); cap(dst)-len(dst) < n {
			f.unlock()
			dst = slices.Grow(dst, n)
			continue
		}
		dst = append(dst, v...)
		f.unlock()
		return dst, l
	}
}

// hold finds the entry of a key, and counts the use unless it is another look. If l.ok, the entry's bucket is
// locked, and the caller unlocks it.
func (e *engine) hold(f *found, h uint64, key []byte, again, stale bool) (b []byte, l lookup) {
	e.search(f, h, key)
	if f.first == nil {
		return nil, l
	}
	if !again && !e.o.keep {
		f.count(h)
	}
	if b, l = e.use(f, stale); l.ok {
		return b, l
	}
	if b == nil {
		f.unlock()
		return nil, l
	}
	list := e.drop(f, Expired, nil)
	f.unlock()
	e.tell(list)
	return nil, lookup{}
}

// read returns a copy of the value of a key, or its object.
func (e *engine) read(key []byte, stale bool) (r record, l lookup) {
	if e.o.objects == nil {
		r.value, l = e.get(nil, key, stale)
		return r, l
	}
	var f found
	_, l = e.hold(&f, maphash.Bytes(e.seed, key), key, false, stale)
	if l.ok {
		r.object = e.object(*f.at())
		f.unlock()
	}
	return r, l
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
	if *slot&slotUses != slotUses && !e.o.keep {
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
	b, head, slot, miss := e.quick(h, key)
	if miss {
		return false
	}
	var at found
	if b == nil {
		if _, l := e.hold(&at, h, key, false, false); !l.ok {
			return false
		}
		slot = *at.at()
	}
	s, v := e.segment(slot&locMask), valueOf(e.entry(slot))
	s.pins.Add(1)
	if b == nil {
		at.unlock()
	} else {
		unlock(b, head)
	}
	defer s.pins.Add(-1)
	if notesViews() {
		defer noteView(v)()
	}
	f(v)
	return true
}

// find is the number of the slot of b whose entry has the key, or -1, among the entries whose home is at a distance.
func (e *engine) find(b *bucket, h, distance uint64, key []byte) int {
	for i := 1; i < bucketWords; i++ {
		s := b[i]
		if (s^h)>>tagShift == 0 && s&slotDistance == distance<<locBits && s != 0 && bytes.Equal(keyOf(e.entry(s)), key) {
			return i
		}
	}
	return -1
}

// segment is the segment of a location. The caller holds the lock of the location's bucket, the
// engine's mu, or a pin of the segment.
func (e *engine) segment(loc uint64) *segment {
	return (*e.dir.Load())[loc>>e.segShift].Load()
}

// entry is the memory from an entry on. Callers are those of segment.
func (e *engine) entry(slot uint64) []byte {
	loc := slot & locMask
	return (*e.mems.Load())[loc>>e.segShift][loc&(1<<e.segShift-1):]
}

// location is where an entry of a segment lies.
func (e *engine) location(s *segment, off int) uint64 { return s.no<<e.segShift | uint64(off) }

// now is the time: milliseconds since the engine was made, from 1 on. It never goes back.
func (e *engine) now() int64 {
	var d time.Duration
	if e.o.Clock == nil {
		d = time.Since(e.start)
	} else {
		d = e.o.Clock().Sub(e.start)
	}
	ms := max(d.Milliseconds(), 0) + 1
	if e.o.Clock == nil { // Monotonic.
		return ms
	}
	for {
		latest := e.latest.Load()
		if ms <= latest {
			return latest
		}
		if e.latest.CompareAndSwap(latest, ms) {
			return ms
		}
	}
}

// deadlines are those of an entry that is set now, with a TTL of its own or of the options.
func (e *engine) deadlines(ttl time.Duration) (t deadlines) {
	if ttl == 0 && e.o.Idle <= 0 {
		return t
	}
	now := e.now()
	switch {
	case ttl < 0:
		t.at = now
	case ttl > 0:
		if e.o.Jitter > 0 {
			ttl -= time.Duration(e.o.Jitter * rand.Float64() * float64(ttl))
		}
		t.at = min(now+max(ttl.Milliseconds(), 1), mostDeadline)
	}
	if e.o.Idle > 0 {
		t.idle = min(now+e.o.Idle.Milliseconds(), mostDeadline)
	}
	return t
}

// ended says whether an entry with a deadline has expired so long ago that nobody may use it.
func (e *engine) ended(deadline int64) bool { return e.now() >= deadline+e.o.Stale.Milliseconds() }

// A sweeper finds entries that have expired and nobody asks for. It visits each segment in turn, a
// piece at a time, and rests 99 times as long as each piece took.
type sweeper struct {
	once sync.Once
	mu   sync.Mutex
	done bool
	wake *time.Timer
	next uint64 // The number of the next segment.
	off  int    // Where in it.
	born int64  // When it was filled, to see that it is still the same.
}

// A removal is an entry of which OnRemove will be told.
type removal struct {
	key, value []byte
	object     any
	reason     Reason
}

// A candidate is an entry of a segment under eviction. What it says was true when it was looked at;
// its methods look again, under the lock of its bucket.
type candidate struct {
	e      *engine
	seg    *segment
	off    int
	size   int
	loc    uint64
	h      uint64
	in     bool   // The table leads to it.
	uses   uint64 // Since it was written or moved.
	asked  uint64 // How often its key was asked for, by the counters.
	until  int64  // Its deadline.
	weight int64
}
