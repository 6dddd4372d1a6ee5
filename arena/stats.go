package arena

import (
	"fmt"

	"github.com/freehold-go/freehold/offheap"
)

// Stats are the bytes of one arena.
type Stats struct {
	// InUse is what values take, with what their alignment cost.
	InUse int64
	// Retained is the rest of the arena's chunks: what is left of each, and what Reset and Rewind kept.
	Retained int64
	// Held is the sum of both.
	Held int64
	// Chunks is how many chunks there are, Types how many types with pointers or bools have some.
	Chunks, Types int
}

// Stats counts what a holds. It takes time in proportion to the number of chunks.
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
	}
	s.Held = a.rec.held.Load()
	if a.rec.kind == kindHeap {
		s.InUse = s.Held
	}
	s.Retained = s.Held - s.InUse
	return s
}

func (a *Arena) addStats(s *Stats) {
	s.Types += len(a.typed)
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
	Retained int64 // In Pools, and in the store, which keeps it for some seconds.
}

// ReadStats counts over all arenas. It takes time in proportion to their number.
func ReadStats() Totals {
	t := Totals{Retained: store.kept.Load() + pooled.Load()}
	for _, i := range List() {
		t.Arenas++
		t.Held += i.Held
	}
	return t
}

// SetLimit bounds the bytes that a's chunks may take, 0 for no bound, and returns the bound before.
// A value for which a needs a chunk beyond the bound is refused with [offheap.ErrLimit]; what there
// is stays, and a works on.
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
	held := r.held.Add(n)
	if l := r.limit.Load(); l > 0 && held > l {
		r.held.Add(-n)
		return fmt.Errorf("arena: %d more bytes for arena %d, which was made by %s; %d of at most %d are taken: Reset it, or raise the limit with SetLimit: %w",
			n, r.id, r.place(), held-n, l, offheap.ErrLimit)
	}
	return nil
}

// acquire is an empty chunk of a class for b, or one that just holds n bytes where a limit demands it.
func (a *Arena) acquire(b *bump, class uint8, n uintptr) (*chunk, error) {
	err := a.rec.charge(int64(classBytes(class)))
	if least := classOf(n + goHeader); err != nil && least < class {
		class = least
		err = a.rec.charge(int64(classBytes(class)))
	}
	if err != nil {
		return nil, err
	}
	if a.kind.offHeap() {
		return a.acquireOffHeap(b, class)
	}
	store.charge(int64(classBytes(class)))
	c := store.get(shelf{b.desc, class})
	if c == nil {
		c = makeChunk(b.desc, class)
	}
	c.owner.Store(a.rec.id)
	return c, nil
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
		c.owner.Store(0)
	}
	a.rec.held.Add(-n)
	store.charge(-n)
	store.put(list)
}
