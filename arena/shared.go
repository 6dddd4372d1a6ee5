// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold/internal/percpu"
	"github.com/freehold-go/freehold/internal/typeinfo"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// A sharedPart is one of the arenas that a shared one consists of. One goroutine at a time uses it.
// There are two ways to get it:
//
//   - A goroutine that is pinned to the part's P sets busy, cuts a small value, writes it, and clears
//     busy. If busy is set already, it takes the other way.
//   - A goroutine that needs longer, for a chunk or for a Reset, locks mu and then sets busy. It waits
//     for a pinned goroutine at most, and so not for long.
type sharedPart struct {
	busy atomic.Uint32 // 1 or 0.
	mu   sync.Mutex
	Arena
	own body
	_   [64]byte // Parts of different Ps do not share a cache line.
}

// take sets busy. It fails if another goroutine has set it.
func (p *sharedPart) take() bool { return p.busy.Swap(1) == 0 }

func (p *sharedPart) lock() {
	p.mu.Lock()
	for !p.take() {
		runtime.Gosched()
	}
}

func (p *sharedPart) tryLock() bool {
	if !p.mu.TryLock() {
		return false
	}
	if !p.take() {
		p.mu.Unlock()
		return false
	}
	return true
}

func (p *sharedPart) unlock() {
	p.busy.Store(0)
	p.mu.Unlock()
}

// NewShared makes an arena, on memory of the Go heap, that many goroutines may use at once. [NewWith]
// makes one with options, and [NewOffHeap] one outside the Go heap: both with Shared set. New, NewFrom,
// MakeSlice and Strings and Bytes of up to 64 bytes cost two atomic operations. Larger copies, and slices
// that are copied or grow, cost a lock. A New after Free panics, and so does a second Free. Free, Reset and Rewind
// wait until other goroutines have made the values that they are making. A Map or a Builder in the
// arena is a value: no goroutine may use one while another frees it.
func NewShared() *Arena {
	a := new(freshArena)
	var made [1]uintptr
	runtime.Callers(2, made[:])
	a.startShared(kindShared, made, Options{})
	return &a.Arena
}

// startShared is start for a shared arena, and makes its parts. The arena's record has the kind k,
// which is kindShared or, off the heap, kindOffHeap. With the kill switch the former is kindHeap: a part's
// checks are needed, its memory is not.
func (f *freshArena) startShared(k kind, made [1]uintptr, o Options) {
	a := &f.Arena
	f.start(k, made, o)
	a.kind = kindShared
	a.closeSlots()
	for range min(runtime.GOMAXPROCS(0), storeShards) {
		a.addPart()
	}
}

func (a *Arena) addPart() {
	p := &sharedPart{}
	p.noReuse = a.noReuse
	p.off = a.off
	if p.kind = a.rec.kind; p.kind == kindShared {
		p.kind = kindGo
	}
	p.prepare(&p.own)
	p.rec, p.id, p.made = a.rec, a.id, a.made
	a.parts = append(a.parts, p)
}

// part locks the part for the caller's P, or another one while that is in use. The caller unlocks
// it.
func (a *Arena) part(op string) *sharedPart {
	p := a.freePart()
	if p.kind == kindFreed {
		p.unlock()
		p.check(op)
	}
	return p
}

// freePart locks a part that no other goroutine uses, if there is one.
func (a *Arena) freePart() *sharedPart {
	first := home()
	for i := range a.parts {
		if p := a.parts[(first+i)%len(a.parts)]; p.tryLock() {
			return p
		}
	}
	p := a.parts[first%len(a.parts)]
	p.lock()
	return p
}

// lockAll locks all parts. The caller calls what it returns to unlock them.
func (a *Arena) lockAll(op string) (unlock func()) {
	for _, p := range a.parts {
		p.lock()
	}
	unlock = func() {
		for _, p := range a.parts {
			p.unlock()
		}
	}
	if p := a.parts[0]; p.kind == kindFreed {
		unlock()
		p.check(op)
	}
	return unlock
}

// inPart calls f with one of the parts of a shared arena, and once more if the limit refuses memory
// that spare chunks of other parts have. f makes values and writes all that they begin with: as
// long as it runs, no other goroutine frees them.
func (a *Arena) inPart(op string, f func(part *Arena) error) error {
	err := a.tryInPart(op, f)
	if errors.Is(err, offheap.ErrLimit) && a.giveUpSpareParts(op) {
		err = a.tryInPart(op, f)
	}
	return err
}

func (a *Arena) tryInPart(op string, f func(part *Arena) error) error {
	p := a.part(op)
	defer p.unlock()
	return f(&p.Arena)
}

// giveUpSpareParts frees the spare chunks of all parts, because they share the limit that has
// refused memory. It says whether there were some.
func (a *Arena) giveUpSpareParts(op string) (some bool) {
	defer a.lockAll(op)()
	for _, p := range a.parts {
		some = p.giveUpSpare() || some
	}
	return some
}

func (a *Arena) freeShared(op string, m Mode) {
	defer a.lockAll(op)()
	for _, p := range a.parts {
		p.debug.check(op, a.id, 0) // Before anything is changed.
	}
	for _, p := range a.parts { // A damaged block of offheap panics, and then no part has ended.
		p.giveUpValues(op, 0)
	}
	for _, p := range a.parts {
		p.end(op, m)
	}
	a.rec.over.Store(true)
	a.rec.noteReset()
	unregister(a.rec)
	a.tellLate()
}

func (a *Arena) resetShared(m Mode) {
	defer a.lockAll("Reset")()
	for _, p := range a.parts {
		p.debug.check("Reset", a.id, 0)
	}
	for _, p := range a.parts {
		if left := p.reset("Reset", m); m != NoReuse {
			m = Mode(left)
		}
	}
	a.rec.noteReset()
	a.tellLate()
}

func (a *Arena) checkpointShared() Checkpoint {
	defer a.lockAll("Checkpoint")()
	c := Checkpoint{a.id, registry.last.Add(1)}
	for _, p := range a.parts {
		p.partChunks()
		p.checkpoint(c)
	}
	a.rec.noteCheckpoint(c.serial)
	return c
}

func (a *Arena) rewindShared(c Checkpoint) {
	defer a.lockAll("Rewind")()
	for _, p := range a.parts {
		if from, to := p.marksOf(c); from < to { // All parts have it, or none.
			p.debug.check("Rewind", a.id, p.marks[from].values)
		}
	}
	for _, p := range a.parts {
		p.rewind("Rewind", c, p.abandons(GiveBack))
	}
	a.rec.noteRewind(c.serial)
	a.tellLate()
}

func (a *Arena) statsShared() (s Stats) {
	defer a.lockAll("Stats")()
	types := make(map[any]bool)
	for _, p := range a.parts {
		p.addStats(&s)
		p.eachType(func(desc any) { types[desc] = true })
	}
	s.Types = len(types)
	s.Held = a.rec.held.Load() // Under the locks, so that it is the sum of the others.
	return s
}

// The functions from here on make small values in a shared arena without a lock. The caller is pinned to its P,
// so that it holds the P's part for some nanoseconds only. Until the release it calls nothing that
// may block, allocate or fault: a fault of a pinned goroutine ends the process. So what it copies
// lies on its stack.

// pinnedMost bounds the bytes that a pinned goroutine writes.
const pinnedMost = 256

// pinnedPart is the part of the P that a goroutine is pinned to.
func (a *Arena) pinnedPart(pin percpu.Pin) *sharedPart {
	at := pin.ID()
	if at >= len(a.parts) {
		at %= len(a.parts)
	}
	return a.parts[at]
}

// cutPinned is zero memory for values of the type of that key, whose size is whole words, or nil if that
// needs the slow way.
func (a *Arena) cutPinned(key, size uintptr) (v unsafex.Ptr) {
	pin := percpu.Acquire()
	if p := a.pinnedPart(pin); a.self == a && p.take() {
		v = p.elsewhere(p.cursorOf(key), key).take(size)
		p.busy.Store(0)
	}
	pin.Release()
	return v
}

// cutOddPinned is cutPinned for one value whose size is no whole words.
func (a *Arena) cutOddPinned(key, size, align uintptr) (v unsafex.Ptr) {
	if size > pinnedMost {
		return nil
	}
	pin := percpu.Acquire()
	if p := a.pinnedPart(pin); a.self == a && p.take() {
		c := p.elsewhere(p.cursorOf(key), key)
		if v = c.takeAligned(size, align); v != nil && !c.typed {
			unsafex.ClearAt(v, size)
		}
		p.busy.Store(0)
	}
	pin.Release()
	return v
}

// newFromPinned is NewFrom in a shared arena, or nil if that needs the slow way.
func newFromPinned[T any](a *Arena, v T) (t *T) {
	size := unsafex.Size[T]()
	if size == 0 || size > pinnedMost {
		return nil
	}
	pin := percpu.Acquire()
	if p := a.pinnedPart(pin); a.self == a && p.take() {
		if t = unsafex.As[T](p.elsewhere(p.cursorOf(typeinfo.Key[T]()), typeinfo.Key[T]()).takeAligned(size, unsafex.Align[T]())); t != nil {
			*t = v
		}
		p.busy.Store(0)
	}
	pin.Release()
	return t
}

// textPinned is a copy of s in a shared arena, or nil if that needs the slow way.
func (a *Arena) textPinned(s []byte) (v unsafex.Ptr) {
	var buf [64]byte
	if len(s) > len(buf) || len(s) == 0 {
		return nil
	}
	copy(buf[:], s) // If s lies in a file that was cut, it faults here.
	pin := percpu.Acquire()
	if p := a.pinnedPart(pin); a.self == a && p.take() {
		if v = p.text.take(uintptr(len(s))); v != nil {
			copy(unsafex.SliceOf[byte](v, len(s), len(s)), buf[:len(s)])
		}
		p.busy.Store(0)
	}
	pin.Release()
	return v
}
