// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"sync"
)

// A sharedArena is the arena behind a shared one, and its lock.
type sharedArena struct {
	mu sync.Mutex
	in Arena
	freshState
}

// NewShared makes an arena, on memory of the Go heap, that many goroutines may use at once: a lock
// around an arena. A goroutine that makes many values is faster with an arena of its own. [NewWith]
// makes a shared arena with options, and [NewOffHeap] one outside the Go heap: both with Shared set.
// A New after Free panics, and so does a second Free. Free, Reset and Rewind wait until other
// goroutines have made the values that they are making. A Map or a Builder in the arena is a value:
// no goroutine may use one while another frees it.
func NewShared() *Arena {
	a := new(freshArena)
	var made [1]uintptr
	runtime.Callers(2, made[:])
	a.startShared(goMemory(), made, Options{})
	return &a.Arena
}

// startShared is start for a shared arena.
func (a *freshArena) startShared(from *source, made [1]uintptr, o Options) {
	if from == &fromGo {
		from = &fromShared
	}
	sh := new(sharedArena)
	a.start(&a.freshState, from, made, o)
	a.table, a.shared = nil, sh
	a.close()
	sh.freshState.in.noReuse = a.noReuse
	sh.freshState.in.prepare(&sh.freshState, from)
	sh.in.take(&sh.freshState.in)
	sh.in.rec, sh.in.id, sh.in.made = a.rec, a.id, a.made
}

// check panics if the arena was freed.
func (sh *sharedArena) check(op string) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.in.check(op)
}

// locked calls f with the arena behind a shared one. f makes values and writes all that they begin
// with: as long as it runs, no other goroutine frees them.
func (a *Arena) locked(op string, f func(in *Arena) error) error {
	sh := a.shared
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.in.check(op)
	return f(&sh.in)
}

// inside calls f with a or, if a is shared, with the arena behind it.
func (a *Arena) inside(op string, f func(in *Arena)) {
	if s := a.check(op); s.shared == nil {
		f(a)
		return
	}
	_ = a.locked(op, func(in *Arena) error {
		f(in)
		return nil
	})
}
