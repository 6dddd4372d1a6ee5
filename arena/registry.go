// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// registry finds records by ID. Records of arenas on Go memory that the collector took are struck
// off when the registry has doubled, and when a caller asks.
var registry struct {
	last      atomic.Uint64
	forgotten atomic.Uint64 // Arenas on Go memory that died without Free.
	places    forgottenPlaces
	shards    [16]registryShard
}

// A registryShard has the records of some IDs, as a ring.
type registryShard struct {
	mu    sync.Mutex
	ring  *record // Any of them.
	count int
	prune int // The count at which to look for arenas that are gone.
}

func shardOf(id uint64) *registryShard { return &registry.shards[id%uint64(len(registry.shards))] }

// each calls f for each record, which f may strike off. The caller holds the lock.
func (s *registryShard) each(f func(r *record)) {
	for r, n := s.ring, s.count; n > 0; n-- {
		next := r.next
		f(r)
		r = next
	}
}

// add enters a record. The caller holds the lock.
func (s *registryShard) add(r *record) {
	if s.count+1 >= max(s.prune, 64) { // Without r, which is not in the ring yet.
		s.pruneLocked()
		s.prune = 2 * (s.count + 1)
	}
	s.count++
	if r.next, r.prev = r, r; s.ring != nil {
		r.next, r.prev = s.ring, s.ring.prev
		r.prev.next, r.next.prev = r, r
	}
	s.ring = r
}

// strike strikes a record off that is in the ring. The caller holds the lock.
func (s *registryShard) strike(r *record) {
	s.count--
	if s.ring = r.next; s.ring == r {
		s.ring = nil
	}
	r.prev.next, r.next.prev = r.next, r.prev
	r.next, r.prev = nil, nil
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
	s.add(r)
}

// alive reports whether the collector has not taken the arena.
func (r *record) alive() bool { return r.state.Value() != nil }

// pruneLocked strikes off arenas that the collector took. Their memory is the Go heap's again;
// off-heap memory is not, and its records stay, as leaks.
func (s *registryShard) pruneLocked() {
	s.each(func(r *record) {
		if !r.alive() && !r.from.outside {
			r.forget()
			s.strike(r)
		}
	})
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
	s := shardOf(r.id.Load())
	s.mu.Lock()
	if r.next != nil {
		s.strike(r)
	}
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
	text := a.name() + " (freed)"
	s.each(func(r *record) {
		if r.id.Load() == a.id {
			text = fmt.Sprintf("%s (%s, %d bytes held)", a.name(), r.from.name, r.held.Load())
		}
	})
	return text
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
		s.each(func(r *record) { f(r, !r.alive()) })
		s.mu.Unlock()
	}
}

// A ForgottenPlace is a call that made arenas on Go memory that the collector took without Free.
type ForgottenPlace struct {
	Made   string // Function, file and line of the call, as in Info.
	Arenas uint64 // That were made there and died without Free so far.
}

// ForgottenPlaces lists the places that made the arenas that [Totals] counts as Forgotten, those
// with the most arenas first. It needs no debug mode. An arena without Free is no mistake; with
// Free its memory is reused, and does not wait for the collector.
func ForgottenPlaces() []ForgottenPlace {
	eachRecord(func(*record, bool) {}) // Finds those that the collector took meanwhile.
	p := &registry.places
	p.mu.Lock()
	defer p.mu.Unlock()
	byName := make(map[string]uint64, len(p.count)) // Calls that were inlined share a place.
	for pc, n := range p.count {
		byName[placeOf(pc)] += n
	}
	list := make([]ForgottenPlace, 0, len(byName))
	for name, n := range byName {
		list = append(list, ForgottenPlace{name, n})
	}
	slices.SortFunc(list, func(x, y ForgottenPlace) int {
		return cmp.Or(cmp.Compare(y.Arenas, x.Arenas), cmp.Compare(x.Made, y.Made))
	})
	return list
}

// forgottenPlaces counts arenas by the program counter of the call that made them, of which a program
// has only so many.
type forgottenPlaces struct {
	mu      sync.Mutex
	count   map[uintptr]uint64
	watches []*watch
}

// A watch gathers the places of arenas with IDs above a number.
type watch struct {
	after uint64
	made  []uintptr
}

// watch gathers the places of the arenas with IDs above a number that are forgotten until the caller
// calls end, which returns them.
func (p *forgottenPlaces) watch(after uint64) (end func() []uintptr) {
	w := &watch{after: after}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watches = append(p.watches, w)
	return func() []uintptr {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watches = slices.DeleteFunc(p.watches, func(o *watch) bool { return o == w })
		return w.made
	}
}

// add counts the arena with that ID, which the call at pc made.
func (p *forgottenPlaces) add(id uint64, pc uintptr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watches {
		if id > w.after {
			w.made = append(w.made, pc)
		}
	}
	if p.count == nil {
		p.count = make(map[uintptr]uint64)
	}
	p.count[pc]++
}

// noteCheckpoint begins a period.
func (r *record) noteCheckpoint(serial uint64) {
	h := r.history.Load()
	if h == nil {
		h = &history{begun: r.round.Load()} // Each earlier round was ended by a Reset.
		r.history.Store(h)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marks = append(h.marks, period{serial: serial, noted: r.round.Add(1)})
}

// noteRewind ends the values made since a checkpoint.
func (r *record) noteRewind(serial uint64) {
	h := r.history.Load()
	h.mu.Lock()
	defer h.mu.Unlock()
	n := sort.Search(len(h.marks), func(i int) bool { return h.marks[i].serial > serial })
	h.marks = h.marks[:n]
	h.freed = r.round.Add(1)
	h.marks[n-1].rewound = h.freed
}

// noteReset ends all that was made. Free does the same.
func (r *record) noteReset() {
	h := r.history.Load()
	if h == nil {
		r.round.Add(1)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun, h.marks = r.round.Add(1), h.marks[:0]
}

// since says how the values that the arena made in a round were freed: "reset", "rewound", or "" if
// the arena still has them. now is the present round.
func (r *record) since(made uint64) (how string, now uint64) {
	now = r.round.Load() // Before the history: the first checkpoint makes that, and then begins a round.
	h := r.history.Load()
	if h == nil { // Each later round was begun by a Reset, or by Free.
		if now != made {
			how = "reset"
		}
		return how, now
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	n := sort.Search(len(h.marks), func(i int) bool { return h.marks[i].noted > made })
	switch {
	case made < h.begun:
		how = "reset"
	case n > 0 && made < h.marks[n-1].rewound:
		how = "rewound"
	}
	return how, r.round.Load()
}

// freedSince says how the arena freed values since a round: "reset", "rewound", or "" if it freed
// none. now is the round to note for memory that was taken in the meantime. In a shared arena another
// goroutine may have begun rounds before and after that, so it is not known which of them made the memory.
func (r *record) freedSince(round uint64) (how string, now uint64) {
	if r.round.Load() == round {
		return "", round
	}
	h := r.history.Load()
	if h == nil { // As in since.
		return "reset", r.round.Load()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case round < h.begun:
		how = "reset"
	case round < h.freed:
		how = "rewound"
	}
	return how, r.round.Load()
}

// A Round is a moment in the life of an arena. Code that keeps memory of an arena from call to call,
// as a container or a decoder does, notes the Round when it takes memory, and asks Ended before it
// uses the memory again. The zero Round never ends. [Builder] and [Map] do this by themselves.
type Round struct {
	life *record
	at   uint64
}

// Round returns the present round of a. It panics if a was freed. The round of a nil Arena never
// ends.
func (a *Arena) Round() Round {
	if a == nil {
		return Round{}
	}
	a.check("Round")
	return Round{a.rec, a.rec.round.Load()}
}

// Ended reports how the arena freed the values that it made in the round: "reset", which may have
// been Free, "rewound", or "" if it has not freed them. It takes some nanoseconds. In a shared arena
// a round that is noted before memory is taken, and has not ended afterwards, is the memory's, unless
// another goroutine noted a checkpoint in between: then it says nothing about a Rewind to that one.
func (r Round) Ended() (how string) {
	if r.life == nil || r.life.round.Load() == r.at {
		return ""
	}
	how, _ = r.life.since(r.at)
	return how
}

// charge counts n more bytes, or says that the limit forbids them.
func (r *record) charge(n int64) error {
	if !r.fits(n) {
		return r.beyond(n)
	}
	return nil
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

// noteLeak says what would be lost if the process ended now, if the arena must be freed and the
// mode asks for it.
func (r *record) noteLeak() {
	if !r.leaks() {
		return
	}
	debugmode.Add(debugmode.Block{Addr: unsafex.Addr(r), Size: uintptr(r.held.Load()), Owner: "arena", Arena: r.id.Load(),
		Type: r.from.name, Alloc: r.stack, Leak: true, Whole: true})
}

// leaks says whether the arena counts as a leak until it is freed.
func (r *record) leaks() bool {
	return r.from.outside && debugmode.On() && debugmode.Current().Leaks
}

// noLeak takes it back.
func (r *record) noLeak() {
	if r.leaks() {
		debugmode.Forget(unsafex.Addr(r))
	}
}
