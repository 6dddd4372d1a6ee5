// SPDX-License-Identifier: Apache-2.0

package arena

import "sync/atomic"

// mapLoops counts the iterations of a Map that are under way, and says whether one of them may look
// at the present table. Many goroutines may iterate at once.
type mapLoops struct{ state atomic.Uint64 }

// pinnedTable is the bit of the state that says so. The rest is the count.
const pinnedTable = 1 << 63

// begin counts an iteration, which reads the present table.
func (l *mapLoops) begin() {
	for v := l.state.Load(); !l.state.CompareAndSwap(v, (v+1)|pinnedTable); {
		v = l.state.Load()
	}
}

// end is the end of an iteration. The last one leaves no table pinned.
func (l *mapLoops) end() {
	for {
		v := l.state.Load()
		n := v - 1
		if n&^pinnedTable == 0 {
			n = 0
		}
		if l.state.CompareAndSwap(v, n) {
			return
		}
	}
}

// pinned says whether an iteration may read the present table.
func (l *mapLoops) pinned() bool { return l.state.Load()&pinnedTable != 0 }

// newTable says that the present table is one that no iteration has seen.
func (l *mapLoops) newTable() { l.state.And(^uint64(pinnedTable)) }
