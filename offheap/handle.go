// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"sync"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// A handle is what offheap knows of a Local or a File apart from the Local or File itself: enough
// to end a Local that the program has dropped, and to say where an open one was made.
type handle struct {
	what string          // debugmode.OwnerLocal or OwnerFile.
	made debugmode.Stack // Where, in the modes that keep stacks.
	h    *heap           // The heap of a Local.
	id   int             // The holder number of a Local, or sharedLocal.

	closed bool // Set by Close of a Local. It is not in the Local, so that no copy brings it back.
}

// handles are the handles that are not closed, in the modes that keep stacks. A dropped Local stays
// among them.
var handles struct {
	sync.Mutex
	open map[*handle]uint64 // The number of the last block that was made before.
}

// newHandle is the handle of a Local or File that an exported function makes for its caller.
func newHandle(what string, h *heap, id int) *handle {
	n := &handle{what: what, h: h, id: id}
	t := h.records()
	if !t.marked() {
		return n
	}
	n.made = debugmode.Callers(0)
	debugmode.Add(debugmode.Block{Addr: unsafex.Addr(n), Owner: what, Type: "offheap." + what, Alloc: n.made, Leak: true, Whole: true})
	handles.Lock()
	defer handles.Unlock()
	if handles.open == nil {
		handles.open = make(map[*handle]uint64)
	}
	handles.open[n] = t.made.Load()
	return n
}

// close ends what the handle stands for.
func (n *handle) close() {
	n.closed = true
	if n.what == debugmode.OwnerLocal && n.id >= 0 {
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
		if since >= after && !yield(debugmode.Block{Owner: n.what, Type: "offheap." + n.what, Alloc: n.made, Leak: true}) {
			return false
		}
	}
	return true
}
