// SPDX-License-Identifier: Apache-2.0

package arena

import (
	"fmt"
	"strings"
	"sync"

	"github.com/freehold-go/freehold/internal/debugmode"
	"github.com/freehold-go/freehold/internal/unsafex"
	"github.com/freehold-go/freehold/offheap"
)

// noteLeak says what would be lost if the process ended now, if the arena must be freed and the
// mode asks for it.
func (r *record) noteLeak() {
	if !r.leaks() {
		return
	}
	leakNotes.Lock()
	defer leakNotes.Unlock()
	debugmode.Add(debugmode.Block{Addr: unsafex.Addr(r), Size: uintptr(r.held.Load()), Owner: "arena", Arena: r.id.Load(),
		Type: r.from.name, Alloc: r.stack, Leak: true, Whole: true})
}

// leakNotes orders the notes: that of the last part of a shared arena has the present size.
var leakNotes sync.Mutex

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

// noteChunk says that a block of offheap is an arena's, which is the leak, and not each of its
// chunks.
func (s *state) noteChunk(c *chunk) {
	if debugmode.On() && debugmode.Current().Leaks {
		debugmode.Add(debugmode.Block{Addr: c.block(), Size: c.lead + c.size, Owner: "arena", Arena: s.self.id, Type: "chunk", Alloc: s.rec.stack})
	}
}

// CheckLeaks makes a test fail at its end if off-heap arenas that were made since the call have not
// been freed, whether or not the program still has a pointer to them. In the debug mode leaks
// (FREEHOLD=leaks) the failure lists them with the calls that made them, otherwise with the place
// that made them. The collector frees arenas on Go memory, so these are never leaks.
//
// Call it before you register cleanups that free arenas: cleanups run last in, first out. Arenas of
// tests that run in parallel count, too.
func CheckLeaks(t offheap.TB) {
	t.Helper()
	before := registry.last.Load()
	t.Cleanup(func() {
		t.Helper()
		if text := leaksSince(before); text != "" {
			t.Errorf("%s", text)
		}
	})
}

// leaksSince lists the off-heap arenas with IDs above a number, one line each, and the stack.
func leaksSince(id uint64) string {
	var b strings.Builder
	for _, i := range List() {
		if i.ID > id && (i.Kind == offHeapName || i.Kind == fixedName) {
			fmt.Fprintf(&b, "freehold: leak: %s, not freed\n", i)
			if i.Stack != "" {
				b.WriteString("  made by:\n" + i.Stack)
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
