// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/internal/debugmode"
)

// A Pool makes arenas, one for each request, and keeps the chunks of arenas that are put back. So
// an arena from Get begins with the chunks of an earlier one. The Arena itself is not used again:
// an arena that was put back panics at every use. The zero value is ready to use. Many goroutines
// may use a Pool at once. A Pool must not be copied after its first use; a copy panics.
type Pool struct {
	_ noCopy
	// Arenas is the number of arenas whose chunks a Pool keeps, 0 for GOMAXPROCS.
	Arenas int
	// Bytes is the number of bytes of chunks that it keeps for each, 0 for 4 MiB.
	Bytes int64

	// NoReuse makes the Pool's arenas leave their memory to the collector when they are put back,
	// as [Options] describe; the Pool then keeps no chunks.
	NoReuse bool

	list atomic.Pointer[poolList] // Made by the first use.
}

// A poolList holds the states of one Pool, whose chunks are empty. A state goes from one arena of the
// Pool to the next:
//
//  1. Put empties the chunks. Each bump keeps its largest chunk as the current one.
//  2. Put takes the state from the Arena, which gets the state of an arena that was freed. A bump that a
//     Typed has is exchanged for a new one. So nothing of the earlier owner leads to the state, but for
//     copies of the Arena: their paths to lists find that they are not the state's Arena.
//  3. Get makes a new Arena for the state. The record stays the same and gets a new ID; its round only
//     rises, so that a Builder, a Map and a Round of the earlier owner end.
//
// A copy of the Pool would hold the same list, and so no state twice, but it has another address than
// the list's owner. The list dies with the Pool, wherever that lies; the count of its bytes outlives
// both.
type poolList struct {
	owner  *Pool
	mu     sync.Mutex
	states []pooledState
	coming int           // How many states are on their way here.
	bytes  *atomic.Int64 // In the states; a part of pooled.
}

type pooledState struct {
	*state
	held int64
}

// open is the list. It panics if p is a copy of a Pool that was used.
func (p *Pool) open(op string) *poolList {
	s := p.list.Load()
	if s == nil {
		s = &poolList{owner: p, bytes: new(atomic.Int64)}
		if p.list.CompareAndSwap(nil, s) {
			runtime.AddCleanup(s, func(n *atomic.Int64) { pooled.Add(-n.Load()) }, s.bytes)
		} else {
			s = p.list.Load()
		}
	}
	if s.owner != p {
		panic(misuse(op, useOfCopy, "on a copy of a Pool; use *Pool, never copy the value"))
	}
	return s
}

// Get returns an arena, which belongs to the caller until Put or Free.
func (p *Pool) Get() *Arena {
	s := p.open("Pool.Get").take(p.NoReuse || freehold.NoReuseMode())
	var made [1]uintptr
	runtime.Callers(2, made[:])
	a := new(Arena) // By itself, so that who keeps it after Put does not keep the state.
	if s.state == nil {
		a.start(new(freshState), goMemory(), made, Options{NoReuse: p.NoReuse})
		return a
	}
	pooled.Add(-s.held)
	store.charge(s.held)
	s.rec.held.Store(s.held)
	s.debug, s.put = newDebugState(s.from), false
	a.made = made[0]
	a.attach(s.state)
	a.enroll()
	return a
}

// take is a state, or none if there is none or the caller wants none.
func (s *poolList) take(none bool) (p pooledState) {
	s.mu.Lock()
	if n := len(s.states); n > 0 && !none {
		p, s.states[n-1] = s.states[n-1], pooledState{}
		s.states = s.states[:n-1]
		s.bytes.Add(-p.held)
	}
	s.mu.Unlock()
	return p
}

// Put takes back an arena that Get returned, and frees all its values, as [Arena.Free] does. It
// ignores a nil arena.
func (p *Pool) Put(a *Arena) {
	if a == nil {
		return
	}
	list := p.open(opPut)
	s := a.check(opPut)
	limit := p.Bytes
	if limit == 0 {
		limit = 4 << 20
	}
	if limit < 0 || p.Arenas < 0 {
		panic(fmt.Errorf("arena: Pool with Arenas %d and Bytes %d; 0 means the default", p.Arenas, p.Bytes))
	}
	m := Mode(limit)
	if p.NoReuse {
		m = NoReuse
	}
	keeps := s.from == &fromGo && !s.abandons(m) && !s.debug.apart() && s.rec.held.Load() != 0
	if keeps {
		s.freeValues(opPut, 0) // It may find damage and panic: before a place is reserved.
	}
	if !keeps || !list.reserve(p) {
		a.free(opPut, m)
		return
	}
	if s.debug != nil {
		defer s.begin(opPut).done()
	}
	s.reset(opPut, m)
	list.add(a.leave())
}

// leave takes the state from a, whose chunks are empty. Every later use of a panics.
func (a *Arena) leave() pooledState {
	s := a.state
	renew(&s.words)
	renew(&s.bytes)
	for i, b := range s.typed {
		if d := b.desc; renew(&s.typed[i]) && s.byDesc != nil {
			s.byDesc[d] = s.typed[i]
		}
	}
	s.rec.noteReset()
	unregister(s.rec)
	s.rec.id.Store(0)
	s.rec.limit.Store(0)
	held := s.rec.held.Swap(0)
	store.charge(-held)
	pooled.Add(held)
	a.close()
	a.state = &wasPut
	if debugmode.On() {
		a.state = &state{put: true}
		a.noteEnd()
	}
	s.self, s.put = nil, true
	return pooledState{s, held}
}

// wasPut is the state of arenas that a Pool took back.
var wasPut = state{put: true}

// renew exchanges a bump that a Typed has, and says whether it has done so. The new one gets the chunks.
func renew(at **bump) bool {
	b := *at
	if b.a == nil {
		return false
	}
	n := new(bump)
	*n = *b
	n.a = nil
	*b = bump{chunk: &noChunk, a: b.a}
	*at = n
	return true
}

// reserve says whether the Pool takes one more state, which the caller then adds.
func (s *poolList) reserve(p *Pool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// GOMAXPROCS takes a lock of the runtime, so an empty Pool does not ask.
	n := len(s.states) + s.coming
	if p.Arenas == 0 && n > 0 && n >= runtime.GOMAXPROCS(0) || p.Arenas != 0 && n >= p.Arenas {
		return false
	}
	s.coming++
	return true
}

// add takes a state that was reserved.
func (s *poolList) add(p pooledState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.coming--
	s.states = append(s.states, p)
	s.bytes.Add(p.held)
}
