// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/freehold-go/freehold/internal/debugmode"
)

// A record describes an arena that is not freed, also after the program has dropped it.
type record struct {
	id    atomic.Uint64 // 0 while a Pool has the record.
	state weak.Pointer[state]
	made  uintptr // The program counter of the call that made it.
	from  *source
	held  atomic.Int64    // Bytes in chunks.
	limit atomic.Int64    // Of held; 0 for none.
	stack debugmode.Stack // The calls that made it, in the debug mode leaks.

	refused atomic.Pointer[any] // The first panic of offheap when the arena freed a chunk; see tellLate.

	round   atomic.Uint64           // Checkpoint, Rewind, Reset and Free count it up.
	history atomic.Pointer[history] // Of the rounds, once there was a checkpoint.
}

// heapRecord stands for the Go heap, as the arena that a nil *Arena is.
var heapRecord = record{from: &fromSingle}

// name is what messages call the arena.
func (a *Arena) name() string {
	if a == nil {
		return "the Go heap"
	}
	return fmt.Sprintf("arena %d", a.id)
}

// String names a and its kind, and says how many bytes it holds in chunks, or that it was freed. Many goroutines may call it
// while one uses a.
func (a *Arena) String() string {
	switch {
	case a == nil:
		return "the Go heap (a nil Arena)"
	case a.id == 0:
		return "an Arena that no function of the package made"
	}
	s := shardOf(a.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(a.id)
	if r == nil {
		return a.name() + " (freed)"
	}
	return fmt.Sprintf("%s (%s, %d bytes held)", a.name(), r.from.name, r.held.Load())
}

// registered reports whether the arena with that ID is not freed, and the collector has not taken it.
func registered(id uint64) bool {
	s := shardOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	return r != nil && r.alive()
}

// registry finds records by ID. Records of arenas on Go memory that the collector took are struck
// off when the registry has doubled, and when a caller asks.
var registry struct {
	last      atomic.Uint64
	forgotten atomic.Uint64 // Arenas on Go memory that died without Free.
	places    forgottenPlaces
	shards    [16]registryShard
}

type registryShard struct {
	mu     sync.Mutex
	recent [64]*record        // Most arenas live for a request, and to store a word costs less than to change a map.
	byID   map[uint64]*record // Those whose place in recent is taken.
	prune  int                // Length of byID at which to look for arenas that are gone.
}

func shardOf(id uint64) *registryShard { return &registry.shards[id%uint64(len(registry.shards))] }

// place is where the record with an ID lies in recent, if it lies there.
func (s *registryShard) place(id uint64) **record {
	return &s.recent[id/uint64(len(registry.shards))%uint64(len(s.recent))]
}

// find is the record with an ID, or nil. The caller holds the lock.
func (s *registryShard) find(id uint64) *record {
	if r := *s.place(id); r != nil && r.id.Load() == id {
		return r
	}
	return s.byID[id]
}

// add enters a record. The caller holds the lock.
func (s *registryShard) add(id uint64, r *record) {
	at := s.place(id)
	if *at == nil || s.pruned(*at) {
		*at = r
		return
	}
	if s.byID == nil {
		s.byID, s.prune = make(map[uint64]*record), 64
	}
	s.byID[id] = r
	if len(s.byID) >= s.prune {
		s.pruneLocked()
		s.prune = max(64, 2*len(s.byID))
	}
}

// strike strikes a record off. The caller holds the lock.
func (s *registryShard) strike(id uint64, r *record) {
	if at := s.place(id); *at == r {
		*at = nil
		return
	}
	delete(s.byID, id)
}

// register gives a its ID and a record.
func (a *Arena) register() {
	r := &record{from: a.from, state: weak.Make(a.state)}
	if r.leaks() {
		r.stack = debugmode.Callers(0)
	}
	a.rec = r
	a.enroll()
	r.noteLeak()
}

// enroll gives a, which has a record, its ID, by which the registry finds the record from now on.
func (a *Arena) enroll() {
	a.id = registry.last.Add(1)
	r, s := a.rec, shardOf(a.id)
	r.id.Store(a.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	r.made = a.made
	s.add(a.id, r)
}

// alive reports whether the collector has not taken the arena.
func (r *record) alive() bool { return r.state.Value() != nil }

// pruneLocked strikes off arenas that the collector took. Their memory is the Go heap's again;
// off-heap memory is not, and its records stay, as leaks.
func (s *registryShard) pruneLocked() {
	for i, r := range s.recent {
		if r != nil && s.pruned(r) {
			s.recent[i] = nil
		}
	}
	for id, r := range s.byID {
		if s.pruned(r) {
			delete(s.byID, id)
		}
	}
}

// pruned reports whether the caller must strike r off because the collector took its arena.
func (s *registryShard) pruned(r *record) bool {
	if r.alive() || r.from.outside {
		return false
	}
	r.forget()
	return true
}

// forget takes the bytes of a record that is struck off out of the sums, and counts its arena.
func (r *record) forget() {
	if r.from.onGo() {
		registry.forgotten.Add(1)
		registry.places.add(r.id.Load(), r.made)
	}
	if !r.from.single {
		store.charge(-r.held.Load())
	}
}

// unregister strikes off the record of an arena that was freed.
func unregister(r *record) {
	r.noLeak()
	id := r.id.Load()
	s := shardOf(id)
	s.mu.Lock()
	s.strike(id, r)
	s.mu.Unlock()
}

// ID is a number that no other arena of the process has or had. The nil arena's ID is 0.
func (a *Arena) ID() uint64 {
	if a == nil {
		return 0
	}
	a.check("ID")
	return a.id
}

// Info describes an arena that is not freed.
type Info struct {
	ID   uint64
	Kind string // "Go memory", "off-heap", "fixed", "shared", or "Go heap": on Go memory, with the kill switch.
	Made string // Function, file and line of the call that made it.
	Held int64  // Bytes in its chunks.
	// Leaked says that an off-heap arena was dropped without Free. Its memory is lost.
	Leaked bool
	// Stack is the calls that made an off-heap arena, the innermost first, in the debug mode leaks.
	Stack string
}

// String is one line for people.
func (i Info) String() string {
	s := fmt.Sprintf("arena %d (%s): %d bytes, made by %s", i.ID, i.Kind, i.Held, i.Made)
	if i.Leaked {
		s += ", dropped without Free"
	}
	return s
}

// List describes all arenas that are not freed, by ID. An arena on Go memory that the program has
// dropped leaves the list when the collector has found it.
func List() (list []Info) {
	eachRecord(func(r *record, leaked bool) {
		list = append(list, Info{ID: r.id.Load(), Kind: r.from.name, Made: r.place(), Held: r.held.Load(), Leaked: leaked, Stack: r.stack.String()})
	})
	slices.SortFunc(list, func(x, y Info) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// eachRecord calls f for each arena that is not freed, in no order, under a lock of the registry's.
// An off-heap arena that the program has dropped is leaked.
func eachRecord(f func(r *record, leaked bool)) {
	for i := range registry.shards {
		s := &registry.shards[i]
		s.mu.Lock()
		s.pruneLocked()
		for _, r := range s.recent {
			if r != nil {
				f(r, !r.alive())
			}
		}
		for _, r := range s.byID {
			f(r, !r.alive())
		}
		s.mu.Unlock()
	}
}

// place is where the arena was made.
func (r *record) place() string { return placeOf(r.made) }

func (a *Arena) place() string { return placeOf(a.made) }

// placeOf names the place of a call.
func placeOf(pc uintptr) string {
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	return fmt.Sprintf("%s at %s:%d", f.Function, f.File, f.Line)
}
