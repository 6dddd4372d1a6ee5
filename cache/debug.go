// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
)

// noteView lets FREEHOLD=leaks name the line of a View or a GetMany whose function has not returned. The result ends it.
func noteView(value []byte) (ended func()) {
	mark := new([16]byte) // Its address identifies the view: the value may be viewed by several.
	addr := unsafex.Addr(mark)
	debugmode.Add(debugmode.Block{
		Addr: addr, Size: uintptr(len(value)), Owner: "cache", Type: "a value in View", Alloc: debugmode.Callers(0), Leak: true, Whole: true,
	})
	return func() {
		debugmode.Forget(addr)
		mark[0]++ // It is in use until here.
	}
}

// notesViews says whether views are noted.
func notesViews() bool { return debugmode.On() && debugmode.Current().Leaks }
