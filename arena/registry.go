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
	arena weak.Pointer[Arena]
	kit   weak.Pointer[kit] // In place of arena, if the arena had a kit when it started.
	made  uintptr           // The program counter of the call that made it.
	kind  kind
	held  atomic.Int64    // Bytes in chunks.
	limit atomic.Int64    // Of held; 0 for none.
	lost  int64           // What held was when the record was struck off; guarded by the shard's lock.
	stack debugmode.Stack // The calls that made it, in the debug mode leaks.

	over    atomic.Bool         // A shared arena was freed.
	refused atomic.Pointer[any] // The first panic of offheap when the arena freed a chunk; see tellLate.

	// Here and not in the Arena, so that an older copy that is written over it does not bring an
	// earlier round back.
	round   atomic.Uint64           // Checkpoint, Rewind, Reset and Free count it up.
	history atomic.Pointer[history] // Of the rounds, once there was a checkpoint.
}

// heapRecord stands for the Go heap, as the arena that a nil *Arena is.
var heapRecord = record{kind: kindHeap}

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
	case a.rec == nil:
		return "an Arena that no function of the package made"
	case a.self != a:
		return "a copy of " + a.name()
	case !a.rec.serves(a.id):
		return a.name() + " (freed)"
	}
	return fmt.Sprintf("%s (%s, %d bytes held)", a.name(), kindNames[a.rec.kind], a.rec.held.Load())
}

// serves reports whether the record is that of the arena with that ID, which is not freed.
func (r *record) serves(id uint64) bool {
	s := shardOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(id) == r
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

// strike strikes a record off, and says whether it was there. The caller holds the lock.
func (s *registryShard) strike(id uint64, r *record) bool {
	if at := s.place(id); *at == r {
		*at = nil
		return true
	}
	there := s.byID[id] == r
	delete(s.byID, id)
	return there
}

// register gives a its ID and a record.
func register(a *Arena) {
	r := &record{kind: a.kind, arena: weak.Make(a)}
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

// living is the arena, or nil if the collector took it. The caller holds the lock of the record's
// shard, or uses the arena: once the record is struck off, the kit can belong to the next arena.
func (r *record) living() *Arena {
	if r.kit == (weak.Pointer[kit]{}) {
		return r.arena.Value()
	}
	if k := r.kit.Value(); k != nil {
		return k.tie.arena.Load()
	}
	return nil
}

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
	if r.living() != nil || r.kind.offHeap() {
		return false
	}
	r.forget()
	return true
}

// forget takes the bytes of a record that is struck off out of the sums, and counts its arena.
func (r *record) forget() {
	if r.kind == kindGo || r.kind == kindShared {
		registry.forgotten.Add(1)
		registry.places.add(r.id.Load(), r.made)
	}
	if r.kind != kindHeap {
		r.lost = r.held.Load()
		store.charge(-r.lost)
	}
}

// unregister strikes off the record of an arena that was freed. The record may be gone: a finalizer
// of the Arena itself sees it after the collector has found it, and can use and free it all the
// same. The bytes that it had when it was struck off have left the sums twice then.
func unregister(r *record) (struck bool) {
	r.noLeak()
	id := r.id.Load()
	s := shardOf(id)
	s.mu.Lock()
	struck = !s.strike(id, r)
	if r.lost != 0 {
		store.charge(r.lost)
		r.lost = 0
	}
	s.mu.Unlock()
	return struck
}

func (k kind) offHeap() bool { return k == kindOffHeap || k == kindFixed }

var kindNames = [...]string{"freed", "shared", "Go memory", "off-heap", "fixed", "Go heap"}

// ID is a number that no other arena of the process has or had. The nil arena's ID is 0.
func (a *Arena) ID() uint64 {
	if a == nil {
		return 0
	}
	a.check("ID")
	return a.id
}

// byID returns the arena with that ID. It returns nil if the arena was freed or collected, or if
// there never was one. The registry does not keep arenas alive, because the collector must free a
// dropped arena on Go memory. Values do not keep their arena alive either: they keep their chunks,
// which the collector scans as values only.
func byID(id uint64) *Arena {
	s := shardOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	if r == nil {
		return nil
	}
	return r.living()
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
		list = append(list, Info{ID: r.id.Load(), Kind: kindNames[r.kind], Made: r.place(), Held: r.held.Load(), Leaked: leaked, Stack: r.stack.String()})
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
				f(r, r.living() == nil)
			}
		}
		for _, r := range s.byID {
			f(r, r.living() == nil)
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
