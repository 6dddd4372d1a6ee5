package freehold

import "github.com/freehold-go/freehold/internal/debugmode"

// DebugStats are the counts of the debug modes; all are 0 if none is on.
type DebugStats struct {
	// Blocks are known of now, with the stack of their allocation.
	Blocks int

	// Guarded blocks lie on guarded pages now; Quarantined ones were freed and are kept inaccessible. GuardBytes are the pages of both,
	// in bytes.
	Guarded, Quarantined int
	GuardBytes           int64

	// Unguarded allocations came without guarded pages, because GuardMaps or GuardBytes was used up, or nearly so and chance decided, or
	// because the system refused.
	Unguarded uint64

	// SkippedSamples were not guarded because of SampleRate, or because values in arenas that are not freed had nearly used their part of GuardMaps or
	// GuardBytes.
	SkippedSamples uint64

	// Unknown blocks and LostStacks were not kept, because there were too many: about four million blocks, 65536 different stacks.
	Unknown, LostStacks uint64
}

// ReadDebugStats returns the counts of this process. They are read one after the other and not at one moment. It takes under a microsecond.
func ReadDebugStats() DebugStats {
	s := debugmode.ReadStats()
	return DebugStats{
		Blocks:  s.Blocks,
		Guarded: s.Guard.Live, Quarantined: s.Guard.Quarantine, GuardBytes: s.Guard.Bytes, Unguarded: s.Guard.Refused,
		SkippedSamples: s.SkippedSamples,
		Unknown:        s.Dropped, LostStacks: s.LostStacks,
	}
}
