// SPDX-License-Identifier: Apache-2.0

//go:build freehold_nolinkname && !race

package percpu

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Pin is the right to use the state under one ID until Release.
type Pin struct{ t *token }

// A token is one ID. sync.Pool keeps a token near each P; the tokens that it drops at a
// collection give their IDs back through a cleanup, so that the state under them is found again.
type token struct{ id int }

var (
	tokens = sync.Pool{}
	ids    struct {
		sync.Mutex
		free []int
		next int
	}
)

// Acquire takes an ID that no other goroutine holds.
func Acquire() Pin {
	t, ok := tokens.Get().(*token)
	if !ok {
		t = newToken()
	}
	// A plain store is enough: a reader of busy asks about the time before it stopped the world, and
	// the stop shows it all stores from before.
	if t.id < maxIDs {
		busy[t.id] = 1
	}
	return Pin{t}
}

func newToken() *token {
	ids.Lock()
	defer ids.Unlock()
	var id int
	if n := len(ids.free); n > 0 {
		id, ids.free = ids.free[n-1], ids.free[:n-1]
	} else {
		id, ids.next = ids.next, ids.next+1
	}
	t := &token{id: id}
	runtime.AddCleanup(t, giveBack, id)
	return t
}

func giveBack(id int) {
	ids.Lock()
	ids.free = append(ids.free, id)
	ids.Unlock()
}

// ID is a small number, reused lowest-recent first; there are about as many as goroutines that
// ever held a Pin at once.
func (p Pin) ID() int { return p.t.id }

// Release releases the ID. The world may run again while another goroutine reads busy. So the store
// is atomic: a reader that sees it sees the holder's stores before it, too, on every processor.
func (p Pin) Release() {
	if p.t.id < maxIDs {
		atomic.StoreUint32(&busy[p.t.id], 0)
	}
	tokens.Put(p.t)
}
