// SPDX-License-Identifier: Apache-2.0

package cache

// A Map evicts nothing. The memory of entries that were deleted comes back by compaction: the entries of
// segments with many dead bytes move together, and the free blocks go back to the machine.

const (
	tidyPages  = 64
	tidyBlocks = 4 // Of fewer dead bytes than these have, none is returned.
)

// tidy returns memory that dead entries have, once it is an eighth of all.
func (e *engine) tidy() {
	if !e.o.keep || e.died.Load() < e.tidyAt.Load() || !e.mu.TryLock() {
		return
	}
	defer e.unlockAndTell()
	if e.n.Load() == 0 {
		return
	}
	done := e.compactMany()
	if done = e.shrinkTable(tidyPages) && done; done {
		e.died.Store(0)
	}
	e.trim()
	e.tidyAt.Store(max(e.held/8, int64(tidyBlocks*e.blockSize)))
}
