// SPDX-License-Identifier: Apache-2.0

package debugmode

import (
	"fmt"
	"iter"

	"github.com/freehold-go/freehold/internal/sanitize"
)

// A Block is the record of one allocation.
type Block struct {
	Addr, Size uintptr // what the caller got, in bytes
	Owner      string  // the package or the kind of allocator, such as "offheap"; of few different values, because each is kept for good
	Type       string  // what it holds, such as "main.node" or "[]byte"; "" if not known; kept for good, too
	Arena      uint64  // the number of the arena, 0 for none

	Alloc, Free     Stack
	AllocBy, FreeBy int64  // the goroutines, 0 if not known
	FreeOp          string // what gave the block up, such as "Free", "Reset" or "Rewind"; "" while it lives
	Leak            bool   // it must be freed: if it lives at the end of the process, it is a leak

	Whole   bool // it stands for many, such as all of an arena's: Addr identifies it, and accesses near it are not its
	Guarded bool // it lies on guarded pages; set by Add
	tomb    bool // Addr is a tomb's

	outer, outerEnd uintptr // the pages of a guarded object with the inaccessible ones around; set by Add
}

// String names the block: "block of 64 bytes ([]byte, offheap)".
func (b Block) String() string {
	return fmt.Sprintf("block of %s (%s)", count(uint64(b.Size), "byte"), b.what())
}

// what describes the block's contents and owner: "[]byte, offheap".
func (b Block) what() string {
	if b.Type == "" {
		return b.owner()
	}
	return b.Type + ", " + b.owner()
}

// freedBy is what gave the block up: "offheap.Free", "Reset of arena 12".
func (b Block) freedBy() string {
	if b.Arena == 0 {
		return b.Owner + "." + b.FreeOp
	}
	return fmt.Sprintf("%s of arena %d", b.FreeOp, b.Arena)
}

// owner is the owner with the arena's number.
func (b Block) owner() string {
	if b.Arena == 0 {
		return b.Owner
	}
	return fmt.Sprintf("%s %d", b.Owner, b.Arena)
}

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

// wantGoroutines reports whether blocks get the number of the goroutine. That costs more than all
// the rest of a block, so that sample, which is for production, goes without.
func wantGoroutines() bool {
	c := current.Load()
	return c != nil && c.Guard
}

// count writes a number and a noun.
func count(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
