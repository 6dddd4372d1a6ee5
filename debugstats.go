// SPDX-License-Identifier: Apache-2.0

package freehold

import "github.com/freehold-go/freehold/internal/debugmode"

// DebugStats are the counts of the debug modes; all are 0 if none is on.
type DebugStats struct {
	// Blocks is the number of blocks that the modes know now, with the stack of their allocation.
	Blocks int

	// Guarded is the number of blocks on guarded pages now. Quarantined is the number of freed
	// blocks that stay inaccessible. GuardBytes is the size of the pages of both, in bytes.
	Guarded, Quarantined int
	GuardBytes           int64

	// Unguarded counts the allocations without guarded pages: their budget was used up, or nearly so
	// and chance decided, or the system refused.
	Unguarded uint64

	// SkippedSamples counts the samples that were not guarded: 1,000 of the second were (with
	// [SampleDefault]), or values in arenas had nearly used their part of the budget.
	SkippedSamples uint64

	// Unknown and LostStacks count the blocks and stacks beyond the bounds: about four million
	// blocks, 65536 different stacks.
	Unknown, LostStacks uint64
}

// ReadDebugStats returns the counts of this process. It reads them one after the other, and not at
// one moment. It takes under a microsecond.
func ReadDebugStats() DebugStats {
	s := debugmode.ReadStats()
	return DebugStats{
		Blocks:  s.Blocks,
		Guarded: s.Guard.Live, Quarantined: s.Guard.Quarantine, GuardBytes: s.Guard.Bytes, Unguarded: s.Guard.Refused,
		SkippedSamples: s.SkippedSamples,
		Unknown:        s.Dropped, LostStacks: s.LostStacks,
	}
}
