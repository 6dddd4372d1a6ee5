// SPDX-License-Identifier: Apache-2.0

package debugmode

// Stats are the counts of the debug modes.
type Stats struct {
	Blocks         int    // that are noted and alive
	Dropped        uint64 // blocks that were not noted, because the table was full
	LostStacks     uint64 // stacks that were not kept, because there were too many different ones
	SkippedSamples uint64 // samples that the rate forbade, or the share of arenas
	Guard          GuardStats
}

// ReadStats returns the counts of this process. It takes a few locks and counts nothing.
func ReadStats() Stats {
	s := Stats{LostStacks: stacks.lost.Load(), SkippedSamples: SkippedSamples(), Guard: ReadGuardStats()}
	blocks.mu.RLock()
	defer blocks.mu.RUnlock()
	s.Blocks, s.Dropped = blocks.alive, blocks.dropped
	return s
}
