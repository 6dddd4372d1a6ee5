// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"math"

	"github.com/freehold-go/freehold/offheap"
)

// Stats are the bytes of one arena.
type Stats struct {
	// InUse is the memory of values, with the gaps that their alignment needs.
	InUse int64
	// Retained is the rest of the arena's chunks: the free part of each, and the chunks that Reset
	// and Rewind kept.
	Retained int64
	// Held is the sum of both.
	Held int64
	// Chunks is the number of chunks, Types the number of types with pointers or bools that have
	// chunks.
	Chunks, Types int
}

// Stats counts the memory of a. The time is proportional to the number of chunks.
func (a *Arena) Stats() Stats {
	if a == nil {
		return Stats{}
	}
	a.check("Stats")
	var s Stats
	if a.kind == kindShared {
		s = a.statsShared()
	} else {
		a.addStats(&s)
		a.eachType(func(any) { s.Types++ })
		s.Held = a.rec.held.Load()
	}
	if a.rec.kind == kindHeap || a.rec.kind.offHeap() && a.debug.apart() {
		s.InUse = s.Held
	}
	s.Retained = s.Held - s.InUse
	return s
}

func (a *Arena) addStats(s *Stats) {
	s.InUse += a.debug.bytes()
	if a.maps != nil && !a.rec.kind.offHeap() {
		s.InUse += a.maps.inUse
	}
	a.each(func(b *bump) {
		if b.chunk != &noChunk {
			s.count(b.chunk, b.chunk.next)
		}
		for _, list := range []*chunk{b.full, b.large, b.spare, b.spareLarge} {
			s.count(list, nil)
		}
	})
}

func (s *Stats) count(list, end *chunk) {
	for c := list; c != end; c = c.next {
		s.Chunks++
		s.InUse += int64(c.used)
	}
}

// Totals are the bytes of all arenas.
type Totals struct {
	Arenas   int   // That are not freed, or not known to be gone.
	Held     int64 // In their chunks, on the Go heap and off it.
	OffHeap  int64 // The part of Held in off-heap and fixed arenas; [offheap.Stats] count it, too.
	Retained int64 // In Pools, and in the store, which keeps it for some seconds.
	// Leaked is the number of off-heap arenas that were dropped without Free, and LeakedBytes the
	// memory that they keep for ever. Both are parts of the figures above, and grow when the
	// collector finds such an arena.
	Leaked      int
	LeakedBytes int64
	// Forgotten is the number of arenas on Go memory that died without Free so far. That is no
	// mistake, but the collector takes their memory later than Free does, and no arena reuses it.
	// It grows when the collector has found such an arena. [ForgottenPlaces] lists the places that
	// made them.
	Forgotten uint64
}

// ReadTotals counts over all arenas. It takes about 0.1 ms for a thousand of them.
func ReadTotals() Totals {
	t := Totals{Retained: store.kept.Load() + proven.kept.Load() + pooled.Load()}
	eachRecord(func(r *record, leaked bool) {
		n := r.held.Load()
		t.Arenas++
		t.Held += n
		if r.kind.offHeap() {
			t.OffHeap += n
		}
		if leaked {
			t.Leaked++
			t.LeakedBytes += n
		}
	})
	t.Forgotten = registry.forgotten.Load()
	return t
}

// SetLimit bounds the bytes of a's chunks, 0 for no bound, and returns the old bound. If a value
// needs a chunk beyond the bound, a refuses it with [offheap.ErrLimit]; existing values stay, and a
// works on. Empty chunks that Reset, Rewind or a Pool left with a count, but a releases them before
// it refuses a value.
func (a *Arena) SetLimit(n int64) (old int64) {
	if n < 0 {
		panic(fmt.Errorf("arena: SetLimit: negative limit %d; 0 means none", n))
	}
	if a == nil {
		return 0
	}
	a.check("SetLimit")
	return a.rec.limit.Swap(n)
}

// charge counts n more bytes, or says that the limit forbids them.
func (r *record) charge(n int64) error {
	if !r.fits(n) {
		return r.beyond(n)
	}
	return nil
}

// chargeHeap is charge for n bytes of the Go heap.
func (a *Arena) chargeHeap(n int64) error {
	err := a.rec.charge(n)
	if err == nil {
		a.changed() // An older copy of the arena, or of this part of a shared one, has a smaller figure.
		a.onHeap += n
	}
	return err
}

// dischargeHeap takes back what a charged beyond left bytes. Other parts of a shared arena may
// charge meanwhile.
func (a *Arena) dischargeHeap(left int64) {
	a.rec.held.Add(left - a.onHeap)
	a.onHeap = left
}

// fits counts n more bytes, unless the limit forbids them. Several parts of a shared arena may ask
// at once: no request is refused because of another that was refused.
func (r *record) fits(n int64) bool {
	for {
		held, l := r.held.Load(), r.limit.Load()
		if l > 0 && held+n > l {
			return false
		}
		if r.held.CompareAndSwap(held, held+n) {
			return true
		}
	}
}

// aheadShare is the share of a limit that plans of arenas without reuse may fill ([bump.plan]).
// Half of the distance between two classes of chunks: a block that fits the limit is hardly refused
// for it.
const aheadShare = 16

// room is how many more bytes the limit allows, if there is one, and how many of them plans may
// take.
func (r *record) room() (n, ahead uintptr, limited bool) {
	l, held := r.limit.Load(), r.held.Load()
	return bytesWithin(l - held), bytesWithin(l/aheadShare - held), l > 0
}

// bytesWithin is n as a uintptr, or the nearest there is: on 32-bit systems a limit may exceed all
// addresses.
func bytesWithin(n int64) uintptr { return uintptr(min(uint64(max(n, 0)), math.MaxUint)) }

// modest is the class for a chunk to fill, or a smaller one if a quarter of what the limit leaves is
// less: classes grow over rounds, and one type's chunk must not take what other types need.
func (r *record) modest(class uint8) uint8 {
	if room, _, limited := r.room(); limited && classBytes(class) > room/4 {
		return classOf(room / 4)
	}
	return class
}

// beyond is the error for n bytes that do not fit.
func (r *record) beyond(n int64) error {
	return fmt.Errorf("arena: %d more bytes for arena %d, which was made by %s; %d of at most %d are taken: Reset it, or raise the limit with SetLimit: %w",
		n, r.id.Load(), r.place(), r.held.Load(), r.limit.Load(), offheap.ErrLimit)
}

// acquire is an empty chunk of a class for b. Where one is refused, spare chunks go first, so that
// no round fails for what the one before it left; then it is a smaller one, down to one that just
// holds n bytes.
func (a *Arena) acquire(b *bump, class uint8, n uintptr) (*chunk, error) {
	switch {
	case a.kind == kindFixed:
		return nil, a.full()
	case a.kind == kindOffHeap:
		_ = a.off.Name() // As in NewOffHeap, and before anything is counted.
	}
	c, err := a.tryAcquire(b, class)
	if c == nil && a.giveUpSpare() {
		c, err = a.tryAcquire(b, class)
	}
	for least := classOf(n + goHeader); c == nil && class > least; {
		class = max(class, least+8) - 8 // Half of it.
		c, err = a.tryAcquire(b, class)
	}
	if c == nil && err == nil {
		err = a.rec.beyond(int64(classBytes(class)))
	}
	return c, err
}

// tryAcquire is an empty chunk of just this class, or nil without an error if a's limit forbids it.
func (a *Arena) tryAcquire(b *bump, class uint8) (*chunk, error) {
	if !a.rec.fits(int64(classBytes(class))) {
		return nil, nil
	}
	if a.kind.offHeap() {
		return a.acquireOffHeap(b, class)
	}
	store.charge(int64(classBytes(class)))
	var c *chunk
	if s := (shelf{b.desc, class}); !a.debug.apart() {
		if !a.noReuse {
			c = store.get(s)
		}
		if c == nil {
			c = proven.get(s)
		}
	}
	if c == nil {
		c = makeChunk(b.desc, class)
	}
	c.owner.Store(a.rec)
	return c, nil
}

// giveUpSpare frees the chunks that Reset, Rewind or a Pool left empty, and says whether there were
// some. A fixed arena keeps its one chunk.
func (a *Arena) giveUpSpare() bool {
	if a.kind == kindFixed {
		return false
	}
	var out *chunk
	a.changed()
	a.each(func(b *bump) {
		b.putAside()
		keepUpTo(&b.spareLarge, 0, &out)
		keepUpTo(&b.spare, 0, &out)
	})
	a.giveUp(out)
	return a.giveUpSpareMaps() || out != nil
}

// giveUp gives empty chunks, linked by next, to the store.
func (a *Arena) giveUp(list *chunk) {
	if list == nil {
		return
	}
	if list.off {
		a.giveUpOffHeap(list)
		return
	}
	var n int64
	for c := list; c != nil; c = c.next {
		n += c.bytes()
		c.disown()
	}
	a.rec.held.Add(-n)
	store.charge(-n)
	if a.debug.apart() {
		quarantine.put(list, a.debug.quarantined())
		return
	}
	store.put(list)
}
