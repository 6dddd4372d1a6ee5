// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"iter"

	"github.com/freehold-go/freehold/internal/sanitize"
)

// Add notes a block that is about to be returned to the caller. It must not overlap one that is
// alive. The caller fills in Alloc, usually with Callers; AllocBy is found where the modes call for
// it. Beyond the bound of the table the block is not noted, and one line says so once.
func Add(b Block) {
	if b.AllocBy == 0 && wantGoroutines() {
		b.AllocBy = Goroutine()
	}
	b.Guarded = false
	guarded.describe(&b)
	blocks.add(b)
	if sanitize.Enabled {
		sanitize.Record(b.Addr, b.Size, b.what(), b.AllocBy, b.Alloc.String())
	}
}

// Freed notes that the block that begins at addr is freed by op, such as "Free", and returns its
// record. The stack of the free begins with the caller of Freed for skip 0, as that of Callers
// does. If no block that is alive begins at addr, it returns false and changes nothing; the Block
// is then the one that was freed there before, or zero.
func Freed(addr uintptr, op string, skip int) (Block, bool) {
	by := int64(0)
	if wantGoroutines() {
		by = Goroutine()
	}
	b, ok := blocks.freed(addr, op, Callers(skip+1), by)
	if sanitize.Enabled && ok {
		sanitize.RecordFree(addr, b.Size, b.FreeOp, b.freedBy(), by, b.Free.String())
	}
	return b, ok
}

// Freeing notes that the block that begins at addr is about to be freed by op, for an allocator
// whose blocks are another one's: the Freed that follows keeps this op.
func Freeing(addr uintptr, op string) { blocks.freeing(addr, op) }

// Forget strikes the block that begins at addr off, whether it is alive or not. Addresses that will
// be used for something else must be forgotten first; those of guarded blocks are when they leave
// the quarantine.
func Forget(addr uintptr) { blocks.forget(addr) }

// Find returns the block that addr lies in: one that is alive, or else the one freed last. If there
// is none it returns the guarded block that addr lies next to, within the inaccessible pages around
// it, or the Block of the tomb that addr lies at.
func Find(addr uintptr) (Block, bool) { return blocks.find(addr) }

// Live returns the blocks that are alive, in no order. Blocks that are added or freed meanwhile may
// be among them or not.
func Live() iter.Seq[Block] { return blocks.live }
