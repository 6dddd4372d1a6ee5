// SPDX-License-Identifier: Apache-2.0

package offheap

import (
	"strings"

	"github.com/freehold-go/freehold/internal/debugmode"
)

// A Leak describes the blocks that were allocated at one place, for one type, and have not been
// freed.
type Leak struct {
	Blocks int
	Bytes  int64
	Type   string // What they hold, such as "[]byte" or "main.node".
	Stack  string // The calls that allocated them, the innermost first: a line for the function, and one for file and line.

	group debugmode.LeakGroup
}

// String is the paragraph of a leak in a report: a line with the number of blocks and bytes, and
// the stack.
func (l Leak) String() string { return l.group.String() }

// Leaks lists the blocks in use, grouped by place of allocation and type, those with the most bytes
// first. At the end of a program or of a test, blocks in use are usually leaks. Leaks needs a debug
// mode (FREEHOLD=leaks is the cheapest) and returns nil without one. [ReadStats] has the number of
// bytes in use in any mode.
//
// Any goroutine may call Leaks at any time. It takes a fraction of a microsecond a block.
func Leaks() []Leak {
	std.start()
	t := std.records()
	if !t.marked() {
		return nil
	}
	var list []Leak
	for _, g := range t.leaks(0) {
		list = append(list, Leak{g.Blocks, g.Bytes, g.Type, g.Alloc.String(), g})
	}
	return list
}

// leaks groups the blocks that are alive and were made after the first so many.
func (t *tracked) leaks(after uint64) []debugmode.LeakGroup {
	return debugmode.Leaks(func(yield func(debugmode.Block) bool) {
		more := true
		t.blocks.each(func(b *block) {
			if more && b.number > after {
				more = yield(debugmode.Block{Owner: "offheap", Type: b.holds(), Alloc: b.stack, Size: b.size, Leak: true})
			}
		})
		if more {
			openHandles(after, yield)
		}
	})
}

// TB is the part of testing.TB that [CheckLeaks] needs, so that programs do not import package
// testing.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// CheckLeaks makes a test fail at its end if blocks are in use that were allocated since the call.
// In a debug mode (run the test with FREEHOLD=leaks) the failure lists them by the stack of their
// allocation, and is exact. Without a mode CheckLeaks compares the bytes in use, so the free of an
// older block can hide a leak.
//
// Call it before you register cleanups that free blocks: cleanups run last in, first out. Blocks of
// tests that run in parallel count, too.
func CheckLeaks(t TB) {
	t.Helper()
	std.start()
	if r := std.records(); r.marked() {
		after := r.made.Load()
		t.Cleanup(func() {
			t.Helper()
			if list := r.leaks(after); len(list) > 0 {
				var b strings.Builder
				_ = debugmode.WriteLeaks(&b, list) // A Builder takes everything.
				t.Errorf("%s", strings.TrimSuffix(b.String(), "\n"))
			}
		})
		return
	}
	before := ReadStats().InUse
	t.Cleanup(func() {
		t.Helper()
		if n := ReadStats().InUse; n > before {
			t.Errorf("freehold: leak: %s more than at the start are in use off the heap; run the test with FREEHOLD=leaks to see where they were allocated", bytesText(int(n-before)))
		}
	})
}
