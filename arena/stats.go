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
	in, lock := a.lock("Stats")
	defer lock.unlock()
	return in.count()
}

func (s *state) count() Stats {
	n := Stats{InUse: s.debug.bytes(), Held: s.rec.held.Load(), Types: s.types()}
	if s.maps != nil && !s.from.outside {
		n.InUse += s.maps.inUse
	}
	s.each(func(b *bump) {
		if b.chunk != &noChunk {
			n.count(b.chunk, b.chunk.next)
		}
		for _, list := range []*chunk{b.full, b.large, b.spare, b.spareLarge} {
			n.count(list, nil)
		}
	})
	if s.from.single || s.from.outside && s.debug.apart() {
		n.InUse = n.Held
	}
	n.Retained = n.Held - n.InUse
	return n
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
		if r.from.outside {
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
	return a.check("SetLimit").rec.limit.Swap(n)
}

// charge counts n more bytes, or says that the limit forbids them.
func (r *record) charge(n int64) error {
	if !r.fits(n) {
		return r.beyond(n)
	}
	return nil
}

// chargeHeap is charge for n bytes of the Go heap.
func (s *state) chargeHeap(n int64) error {
	err := s.rec.charge(n)
	if err == nil {
		s.onHeap += n
	}
	return err
}

// dischargeHeap takes back what was charged beyond left bytes.
func (s *state) dischargeHeap(left int64) {
	s.rec.held.Add(left - s.onHeap)
	s.onHeap = left
}

// fits counts n more bytes, unless the limit forbids them.
func (r *record) fits(n int64) bool {
	if l := r.limit.Load(); l > 0 && r.held.Load()+n > l {
		return false
	}
	r.held.Add(n)
	return true
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
func (s *state) acquire(b *bump, class uint8, n uintptr) (*chunk, error) {
	switch {
	case s.from.fixed:
		return nil, s.full()
	case s.from.outside:
		_ = s.from.purpose.Name() // As in NewOffHeap, and before anything is counted.
	}
	c, err := s.from.acquire(b, class)
	if c == nil && s.releaseSpare() {
		c, err = s.from.acquire(b, class)
	}
	for least := b.classFor(n); c == nil && class > least; {
		class = max(class, least+8) - 8 // Half of it.
		c, err = s.from.acquire(b, class)
	}
	if c == nil && err == nil {
		err = s.rec.beyond(int64(classBytes(class)))
	}
	return c, err
}

// releaseSpare gives up the chunks that Reset, Rewind or a Pool left empty, and says whether there
// were some. A fixed arena keeps its one chunk.
func (s *state) releaseSpare() bool {
	if s.from.fixed {
		return false
	}
	var out *chunk
	dropped := false
	s.each(func(b *bump) {
		if c := b.chunk; c != &noChunk && c.used == 0 && !s.from.outside {
			// A decoder may have its cursor, so it must not become another arena's.
			b.use(&noChunk)
			s.abandonChunk(c)
			dropped = true
		}
		b.putAside()
		keepUpTo(&b.spareLarge, 0, &out)
		keepUpTo(&b.spare, 0, &out)
	})
	s.release(out)
	return s.releaseSpareMaps() || dropped || out != nil
}
