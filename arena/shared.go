// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"errors"
	"runtime"
	"sync"

	"github.com/freehold-go/freehold/offheap"
)

// A sharedPart is one of the arenas that a shared one consists of, behind a lock.
type sharedPart struct {
	mu      sync.Mutex
	version uint64 // Of its seal.
	Arena
	_ [64]byte // Parts of different Ps do not share a cache line.
}

// NewShared makes an arena, on memory of the Go heap, that many goroutines may use at once. [NewWith]
// makes one with options, and [NewOffHeap] one outside the Go heap: both with Shared set. Each value
// costs a lock. A New after Free panics, and so does a second Free. Free, Reset and Rewind
// wait until other goroutines have made the values that they are making. A Map or a Builder in the
// arena is a value: no goroutine may use one while another frees it.
func NewShared() *Arena {
	a := &Arena{}
	var made [1]uintptr
	runtime.Callers(2, made[:])
	a.startShared(kindShared, made, Options{})
	return a
}

// startShared is start for a shared arena, and makes its parts. The arena's record has the kind k,
// which is kindShared or, off the heap, kindOffHeap. With the kill switch it is kindHeap: a part's
// checks are needed, its memory is not.
func (a *Arena) startShared(k kind, made [1]uintptr, o Options) {
	a.start(k, made, o)
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
	p.prepare()
	p.rec = a.rec
	p.seal = seal{self: &p.Arena, last: &p.version}
	a.parts = append(a.parts, p)
}

// part locks the part for the caller's P, or another one while that is in use. The caller unlocks
// it.
func (a *Arena) part(op string) *sharedPart {
	p := a.freePart()
	if p.kind == kindFreed {
		p.mu.Unlock()
		p.check(op)
	}
	return p
}

// freePart locks a part that no other goroutine uses, if there is one.
func (a *Arena) freePart() *sharedPart {
	first := home()
	for i := range a.parts {
		if p := a.parts[(first+i)%len(a.parts)]; p.mu.TryLock() {
			return p
		}
	}
	p := a.parts[first%len(a.parts)]
	p.mu.Lock()
	return p
}

// lockAll locks all parts. The caller calls what it returns to unlock them.
func (a *Arena) lockAll(op string) (unlock func()) {
	for _, p := range a.parts {
		p.mu.Lock()
	}
	unlock = func() {
		for _, p := range a.parts {
			p.mu.Unlock()
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
	defer p.mu.Unlock()
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
		p.debug.check(op, a.rec.id, 0) // Before anything is changed.
	}
	for _, p := range a.parts {
		p.end(op, m)
	}
	a.rec.noteReset()
	unregister(a.rec)
}

func (a *Arena) resetShared(m Mode) {
	defer a.lockAll("Reset")()
	for _, p := range a.parts {
		p.debug.check("Reset", a.rec.id, 0)
	}
	for _, p := range a.parts {
		if left := p.reset("Reset", m); m != NoReuse {
			m = Mode(left)
		}
	}
	a.rec.noteReset()
}

func (a *Arena) checkpointShared() Checkpoint {
	defer a.lockAll("Checkpoint")()
	c := Checkpoint{a.rec.id, registry.last.Add(1)}
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
			p.debug.check("Rewind", a.rec.id, p.marks[from].values)
		}
	}
	for _, p := range a.parts {
		p.rewind("Rewind", c, p.abandons(GiveBack))
	}
	a.rec.noteRewind(c.serial)
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
