// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A sharedArena is the arena behind a shared one, and its lock.
type sharedArena struct {
	mu    sync.Mutex
	freed atomic.Bool // Set under the lock.
	in    Arena
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
	a.table, a.debug, a.shared = nil, nil, sh
	a.close()
	sh.freshState.in.noReuse = a.noReuse
	sh.freshState.in.prepare(&sh.freshState, from)
	sh.in.take(&sh.freshState.in)
	sh.in.rec, sh.in.id, sh.in.made = a.rec, a.id, a.made
}

// lock returns a or, if a is shared, the arena behind it, which the caller uses until unlock. A caller
// that makes a value writes all that the value begins with before: as long as it has the lock, no other
// goroutine frees the value.
//
//	in, lock := a.lock(op)
//	defer lock.unlock()
func (a *Arena) lock(op string) (in *Arena, lock *sharedArena) {
	sh := a.check(op).shared
	if sh == nil {
		return a, nil
	}
	sh.mu.Lock()
	if sh.freed.Load() {
		sh.mu.Unlock()
		sh.in.misused(op)
	}
	return &sh.in, sh
}

// unlock ends what lock began.
func (sh *sharedArena) unlock() {
	if sh != nil {
		sh.mu.Unlock()
	}
}
