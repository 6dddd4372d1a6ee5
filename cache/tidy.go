// SPDX-License-Identifier: Apache-2.0

package cache

import "slices"

// A Map evicts nothing. The memory of entries that were deleted comes back by compaction: the entries of
// segments with many dead bytes move together, and the free blocks go back to the machine.

const (
	tidySegments = 64 // At most, in one tidy, so that it stays short.
	tidyPages    = 64
	tidyBlocks   = 4 // Of fewer dead bytes than these have, none is returned.
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

// compactMany compacts segments of which less than three quarters live, and says whether those were all.
func (e *engine) compactMany() bool {
	var list []*segment
	e.window = slices.DeleteFunc(e.window, func(s *segment) bool {
		if len(list) == tidySegments || 4*s.live.bytes() >= 3*int64(s.used) || s.pins.Load() != 0 {
			return false
		}
		e.left(s)
		list = append(list, s)
		return true
	})
	for _, s := range list {
		if !e.canMove(s) {
			e.enqueue(s, roleWindow)
			continue
		}
		e.compact(s)
	}
	return len(list) < tidySegments
}
