// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"sync"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A handle is what offheap knows of a Local apart from the Local itself: enough to end one that the
// program has dropped, and to say where an open one was made.
type handle struct {
	made debugmode.Stack // Where, in the modes that keep stacks.
	h    *heap
	id   int // The holder number, or sharedLocal.

	closed bool // Set by Close. It is not in the Local, so that no copy brings it back.
}

// handles are the handles that are not closed, in the modes that keep stacks. A dropped Local stays
// among them.
var handles struct {
	sync.Mutex
	open map[*handle]uint64 // The number of the last block that was made before.
}

// newHandle is the handle of a Local that an exported function makes for its caller.
func newHandle(h *heap, id int) *handle {
	n := &handle{h: h, id: id}
	t := h.records()
	if !t.marked() {
		return n
	}
	n.made = debugmode.Callers(0)
	debugmode.Add(debugmode.Block{Addr: unsafex.Addr(n), Owner: debugmode.OwnerLocal, Type: localType, Alloc: n.made, Leak: true, Whole: true})
	handles.Lock()
	defer handles.Unlock()
	if handles.open == nil {
		handles.open = make(map[*handle]uint64)
	}
	handles.open[n] = t.made.Load()
	return n
}

const localType = "offheap." + debugmode.OwnerLocal

// close ends the Local.
func (n *handle) close() {
	n.closed = true
	if n.id >= 0 {
		n.h.closeLocal(n.id)
	}
	handles.Lock()
	_, listed := handles.open[n]
	delete(handles.open, n)
	handles.Unlock()
	if listed {
		debugmode.Forget(unsafex.Addr(n))
	}
}

// drop ends a Local that the program dropped. It is the cleanup of the Local.
func (n *handle) drop() {
	if n.id >= 0 {
		n.h.closeLocal(n.id)
	}
	n.h.localsDropped.Add(1)
}

// openHandles yields the handles that are not closed and were made after the block of that number.
func openHandles(after uint64, yield func(debugmode.Block) bool) bool {
	handles.Lock()
	defer handles.Unlock()
	for n, since := range handles.open {
		if since >= after && !yield(debugmode.Block{Owner: debugmode.OwnerLocal, Type: localType, Alloc: n.made, Leak: true}) {
			return false
		}
	}
	return true
}
