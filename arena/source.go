// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sync"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/owner"
	"github.com/freehold-go/freehold/internal/sanitize"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// Options configure [NewWith], for arenas on memory of the Go heap, and [NewOffHeap], for those
// outside of it. The zero value is a good choice: then NewWith makes what [NewArena] makes.
type Options struct {
	// Purpose is the account of an off-heap arena's memory; nil means one called "arena". Arenas on
	// Go memory have no account: NewWith takes only nil.
	Purpose *offheap.Purpose
	// Limit is the first limit; see [Arena.SetLimit].
	Limit int64
	// Shared makes an arena that many goroutines may use at once, as [NewShared] describes.
	Shared bool
	// NoReuse makes Free, Reset, Rewind and [Pool.Put] leave memory to the collector, as the mode
	// [NoReuse] of Reset does, for any mode of Reset. The arena takes memory of other arenas only
	// after the collector has proved that no pointer leads into it. NewOffHeap refuses it, because
	// the collector sees no pointer to off-heap memory.
	NoReuse bool
}

func (o Options) checkLimit(op string) {
	if o.Limit < 0 {
		panic(fmt.Errorf("arena: %s: negative limit %d; 0 means none", op, o.Limit))
	}
}

// A Mode decides the next owner of an arena's chunks after [Arena.Reset]: one of the constants below,
// or the result of [KeepUpTo]. Reset panics if it gets any other negative number.
type Mode int64

// The modes of Reset, beside [KeepUpTo].
const (
	// Keep leaves all chunks with the arena, so the next round allocates nothing. Small chunks of one
	// kind are exchanged for one chunk of their size.
	Keep Mode = 1<<63 - 1
	// GiveBack moves all chunks to the store, where any arena finds them. After some seconds they
	// go to the collector.
	GiveBack Mode = 0
	// NoReuse leaves all chunks to the collector, neither wiped nor reused. A value that is still
	// in use does not change, and its chunk lives as long as a pointer leads into it. The next
	// round allocates new chunks, as large as those of the last rounds. Off-heap and fixed arenas,
	// whose memory the collector does not see, panic. [Options] and [Pool] have a field for arenas
	// that always do so; the word noreuse of FREEHOLD is for all arenas on Go memory.
	//
	// A finalizer takes over chunks of 64 KiB and more without pointers, once the collector has
	// proved that no pointer leads into them. Go runs all finalizers in one goroutine, so a
	// finalizer of the program that blocks keeps all such chunks. A cleanup (runtime.AddCleanup) of
	// a value in such a chunk does not run while arenas take the chunk over, but when they no
	// longer use it.
	NoReuse Mode = -1
)

// KeepUpTo leaves chunks of up to n bytes with the arena and moves the others to the store.
func KeepUpTo(n int64) Mode {
	if n < 0 {
		panic(fmt.Errorf("arena: KeepUpTo: negative number of bytes %d", n))
	}
	return Mode(n)
}

// keep is how many bytes of chunks stay with the arena.
func (m Mode) keep() int64 { return max(0, int64(m)) }

// check panics if m is no mode.
func (m Mode) check(op string) {
	if m < 0 && m != NoReuse {
		panic(fmt.Errorf("arena: %s with mode %d: a mode is Keep, GiveBack, NoReuse or the result of KeepUpTo", op, int64(m)))
	}
}

// sayOffHeapReuses reports which arenas FREEHOLD=noreuse leaves as they are.
var sayOffHeapReuses = sync.OnceFunc(func() {
	fmt.Fprintln(os.Stderr, "freehold: noreuse: off-heap and fixed arenas reuse their memory all the same, because the collector sees no pointer to it")
})

// refuseNoReuse panics because the collector cannot have the memory of an off-heap arena.
func refuseNoReuse(op string) {
	panic(fmt.Errorf("arena: %s with NoReuse: the memory of off-heap and fixed arenas cannot go to the collector, which sees no pointer to it; use NewWith or another mode", op))
}

// leaves says whether an arena with the options leaves its chunks to the collector.
func (f *source) leaves(o Options) bool {
	if f.outside && freehold.NoReuseMode() {
		sayOffHeapReuses()
	}
	return f.onGo() && (o.NoReuse || freehold.NoReuseMode())
}

// takes says whether values of the type may lie there. The memory of a fixed arena serves any type,
// and is other data's afterwards.
func (f *source) takes(d *typeDesc) bool {
	return !f.outside || d.path == "" && !(f.fixed && d.flow == typedFlow)
}

// admit panics if values of the type must not lie there.
func (f *source) admit(op string, d *typeDesc) {
	switch {
	case f.takes(d):
	case d.path != "":
		panic(fmt.Errorf("arena: %s of %s in an off-heap arena: the type holds a Go pointer, which the collector would not see: %s; use NewArena for it, or replace pointers by offheap.Ref", op, d.typ, d.path))
	default:
		panic(fmt.Errorf("arena: %s of %s in a fixed arena: the type holds a bool or is self-contained, so that its memory must stay its own; use a number for the bool, or NewOffHeap", op, d.typ))
	}
}

// lead is how many bytes of a chunk's memory are no part of it. On the Go heap the runtime takes them.
// Outside, they lie in front of the first value: so it is not the beginning of a block of offheap,
// whose functions then refuse to free, resize and move it.
func (f *source) lead(d *typeDesc) uintptr {
	if f.outside && d != nil {
		return d.size
	}
	return goHeader
}

// classFor is the class of the smallest chunk with room for n bytes.
func (b *bump) classFor(n uintptr) uint8 { return classOf(n + b.in.from.lead(b.desc)) }

// lend is an empty chunk of just this class for b, or nil without an error if the limit forbids it.
func (f *source) lend(b *bump, class uint8) (*chunk, error) {
	s := b.in
	if !s.rec.fits(int64(classBytes(class))) {
		return nil, nil
	}
	if f.outside {
		return s.acquireOffHeap(b, class)
	}
	store.charge(int64(classBytes(class)))
	k := shelf{b.desc, b.flow, class}
	var c *chunk
	if !s.debug.apart() {
		if !s.noReuse {
			c = store.get(k)
		}
		if c == nil {
			c = proven.get(k)
		}
	}
	if c == nil {
		c = makeChunk(b.flow, b.desc, class)
	}
	c.owner.Store(s.rec)
	return c, nil
}

// acquireOffHeap is [source.lend] outside the Go heap. The caller has counted the bytes.
func (s *state) acquireOffHeap(b *bump, class uint8) (*chunk, error) {
	bytes := classBytes(class)
	c := newChunk(b.flow, b.desc, class, nil, bytes)
	lead, n := s.from.lead(b.desc), bytes
	if b.desc == nil {
		c.dirty, c.size = bytes-lead, bytes-lead
	} else {
		n = bytes / b.desc.size
		c.size = (n - 1) * b.desc.size
	}
	defer func() {
		if c.base == nil { // An error, or the panic of a Purpose that finds a write to a freed block.
			s.rec.held.Add(-int64(bytes))
		}
	}()
	block, err := makeBlock(s.from.purpose, c.typ(), int(n))
	if err != nil {
		return nil, fmt.Errorf("arena: %w", err)
	}
	s.own(c, block, lead)
	return c, nil
}

// own makes a new chunk, which is a block of offheap but for its first bytes, the arena's.
func (s *state) own(c *chunk, block unsafex.Ptr, lead uintptr) {
	c.base, c.lead, c.off = unsafex.Add(block, lead), lead, true
	s.noteChunk(c)
	c.owner.Store(s.rec)
	index.add(c)
	s.rec.noteLeak()
}

// makeBlock makes a block of offheap for n values of t, which no other type gets if t holds bools or
// is self-contained, or for n bytes if t is nil. Only owner.Free frees it.
func makeBlock(p *offheap.Purpose, t reflect.Type, n int) (unsafex.Ptr, error) {
	addr, err := owner.Make(p, t, n)
	if err != nil {
		return nil, err
	}
	return unsafex.Pointer(addr), nil
}

// noteChunk says that a block of offheap is an arena's, which is the leak, and not each of its
// chunks.
func (s *state) noteChunk(c *chunk) {
	if debugmode.On() && debugmode.Current().Leaks {
		debugmode.Add(debugmode.Block{Addr: c.block(), Size: c.lead + c.size, Owner: "arena", Arena: s.self.id, Type: "chunk", Alloc: s.rec.stack})
	}
}

// takeBack takes empty chunks, linked by next, which no slot leads to.
func (f *source) takeBack(s *state, list *chunk) {
	if f.outside {
		s.releaseOffHeap(list)
		return
	}
	var n int64
	for c := list; c != nil; c = c.next {
		n += c.bytes()
		c.owner.Store(nil)
	}
	s.rec.held.Add(-n)
	store.charge(-n)
	if s.debug.apart() {
		quarantine.put(list, s.debug.quarantined())
		return
	}
	store.put(list)
}

// releaseOffHeap gives empty chunks, linked by next, back to offheap. If offheap refuses one, because
// unsafe code has damaged it, the chunk is lost and the others are given back; see tellLate.
func (s *state) releaseOffHeap(list *chunk) {
	for c := list; c != nil; c = c.next {
		c.owner.Store(nil)
		index.remove(c)
		if debugmode.On() { // So that it counts as the arena's no longer.
			debugmode.Freeing(c.block(), "Free")
		}
		s.freeChunk(c)
		if !s.from.fixed {
			s.rec.held.Add(-c.bytes())
		}
		runtime.KeepAlive(c)
	}
	s.rec.noteLeak()
}

// freeChunk frees the block of c. tellLate panics with the first refusal.
func (s *state) freeChunk(c *chunk) {
	freed := false
	defer func() {
		if !freed {
			v := recover()
			s.rec.refused.CompareAndSwap(nil, &v)
		}
	}()
	owner.Free(c.block(), c.typ())
	freed = true
}

// tellLate panics with what offheap has found when the arena freed chunks: that it could not free one
// of them, or the damage of other blocks. Nothing is left to do then.
func (s *state) tellLate() {
	if !s.from.outside {
		return
	}
	if v := s.rec.refused.Swap(nil); v != nil {
		panic(*v)
	}
	owner.TellLate()
}

// full is the error of a fixed arena for what does not fit.
func (s *state) full() error {
	return fmt.Errorf("arena: arena %d, which has a fixed size of %d bytes (NewFixed) and was made by %s, is full: Reset it, or make it larger: %w",
		s.self.id, s.rec.held.Load(), s.self.place(), offheap.ErrLimit)
}

// release gives empty chunks, linked by next, up.
func (s *state) release(list *chunk) {
	if list != nil {
		s.refillSlots()
		s.from.takeBack(s, list)
	}
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
	c, err := s.from.lend(b, class)
	if c == nil && s.releaseSpare() {
		c, err = s.from.lend(b, class)
	}
	for least := b.classFor(n); c == nil && class > least; {
		class = max(class, least+8) - 8 // Half of it.
		c, err = s.from.lend(b, class)
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

// abandons says whether freed chunks of the arena go to the collector untouched. A debug mode that
// finds stale values overwrites them instead and keeps them apart.
func (s *state) abandons(m Mode) bool {
	return (s.noReuse || m == NoReuse) && s.from.onGo() && !s.debug.apart()
}

// abandonChunk leaves a chunk to the collector. Slots of the arena that still lead to it find it
// full.
func (s *state) abandonChunk(c *chunk) {
	c.close()
	n := c.bytes()
	s.rec.held.Add(-n)
	store.charge(-n)
	c.owner.Store(nil)
	c.await()
	drop(c)
}

// leastProven is the size from which on a chunk is worth a finalizer.
const leastProven = 64 << 10

// await makes the chunk's memory come back when no pointer into it is left. The race detector would
// report races between those who used the memory before and those who use it then, because nothing
// that it sees orders them.
func (c *chunk) await() {
	if c.desc != nil || c.size < leastProven || sanitize.Race {
		return
	}
	class, dirty, f := c.class, c.dirty, c.flow
	first := unsafex.As[uint64](c.base)
	runtime.SetFinalizer(first, nil) // One of the program's, on the first value, would end the process.
	runtime.SetFinalizer(first, func(first *uint64) {
		c := newChunk(f, nil, class, unsafex.PtrOf(first), classBytes(class))
		c.dirty = dirty
		index.add(c)
		proven.put(c)
	})
}
