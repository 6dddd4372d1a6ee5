// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"runtime"

	"github.com/freehold-go/freehold/internal/invariants"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// This file is the life of a Local:
//
//  1. newLocal takes a holder number and its slots, and attaches a cleanup to the Local.
//  2. The Local and nothing else allocates through the slots: its methods check whether the slots
//     name it as their owner before they touch the slots. So a copy never does, and neither does the
//     Local itself after Close if an older copy was written over it. Other paths compare self, too.
//  3. Close, or the cleanup of a Local that the program dropped, checks everything in and retires
//     the number. Then the next Local may have it: no Local that can be used has it any more.
//
// The cleanup runs once no pointer to the Local is left. A copy counts as a pointer, through its
// self. The fast paths keep the Local alive until they have changed the slots (KeepAlive).

func (h *heap) newLocal() *Local {
	h.start()
	l := &Local{id: sharedLocal, slots: &noSlots}
	l.self = l
	if id, c := h.takeNumber(); c != nil {
		l.id, l.slots, c.owner = id, c, unsafex.Addr(l)
	}
	l.handle = newHandle(h, l.id)
	l.cleanup = runtime.AddCleanup(l, (*handle).drop, l.handle)
	return l
}

// takeNumber is a holder number with its slots, or nil if there is none left.
func (h *heap) takeNumber() (int, *slots) {
	if h.records() != nil {
		return 0, nil
	}
	h.mu.Lock()
	id := -1
	if n := len(h.locals); n > 0 {
		id, h.locals = h.locals[n-1], h.locals[:n-1]
	} else if maxPs+h.nlocal < maxHolders {
		id = maxPs + h.nlocal
		h.nlocal++
	}
	h.mu.Unlock()
	if id < 0 {
		return 0, nil
	}
	if h.makeCache(id) != nil {
		h.mu.Lock()
		h.locals = append(h.locals, id)
		h.mu.Unlock()
		return 0, nil
	}
	return id, h.cache(id)
}

func (h *heap) closeLocal(id int) {
	c := h.cache(id)
	c.owner = 0
	h.emptyCache(c)
	h.retireCache(id)
}

// emptySlot checks everything of a slot in. Its holder calls it, not pinned.
func (h *heap) emptySlot(b *bin, s *slot) {
	cur := s.cur
	s.cur, s.miss = 0, 0
	s.setLeft(0)
	s.drawn = undrawn
	h.mu.Lock() // No sum of the counts misses what moves, or has it twice.
	group := s.leave(h)
	b.out.Add(int64(int(s.out)))
	s.out = 0
	h.mu.Unlock()
	invariants.Window()
	if group != 0 {
		h.afterFree(group)
	}
	invariants.Window()
	h.settleCurrent(cur)
}
