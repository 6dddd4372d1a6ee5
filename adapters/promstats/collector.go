// SPDX-License-Identifier: Apache-2.0

package promstats

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// A Collector reads the figures of the whole process. There is one set of figures, so a registry
// needs one Collector and refuses a second one as a duplicate. It has no state, and any number of
// goroutines may collect at once. A collection takes some microseconds, and 0.1 µs more for each
// arena.
//
//	freehold_in_use_bytes{package}            allocated and not yet freed
//	freehold_retained_bytes{package}          freed, kept for the next allocation, still taking memory
//	freehold_purged_bytes{package}            freed and returned to the system; only address space
//	freehold_reserved_bytes{package}          address space that blocks have ever used: the sum of these three
//	freehold_go_memory_limit_bytes            GOMEMLIMIT as the user set it; absent if there is none
//	freehold_mode{mode}                       1 if a mode of the variable FREEHOLD is in force, else 0
//	freehold_offheap_held_bytes               slabs and large blocks in use at least in part
//	freehold_offheap_metadata_bytes           the allocator's own records
//	freehold_offheap_limit_bytes              set by offheap.SetLimit; absent if there is none
//	freehold_locals_dropped_total             Locals of offheap that the program dropped without Close
//	freehold_purpose_in_use_bytes{purpose}    allocated on the account of a purpose
//	freehold_purpose_held_bytes{purpose}      in slabs and large blocks of a purpose
//	freehold_purpose_limit_bytes{purpose}     set by Purpose.SetLimit; absent if there is none
//	freehold_arenas                           arenas that are not freed
//	freehold_arena_held_bytes{memory}         in their chunks, "go" on the Go heap, "offheap" off it
//	freehold_arena_retained_bytes             kept by pools and by the store for the next arenas
//	freehold_arenas_leaked                    off-heap arenas that were dropped without Free
//	freehold_arena_leaked_bytes               memory of the leaked arenas
//	freehold_arenas_forgotten_total           arenas on Go memory that the collector took without Free
//	freehold_debug_blocks                     known to the debug modes, with their stack
//	freehold_guarded_blocks{state}            on guarded pages, "live" or, in quarantine, "freed"
//	freehold_guarded_bytes                    pages of both
//	freehold_unguarded_allocations_total      without guarded pages, beyond a budget
//	freehold_samples_skipped_total            not guarded, beyond their rate or the arenas' part of a budget
//	freehold_unknown_blocks_total             beyond the number of blocks that the debug modes can know
//	freehold_lost_stacks_total                beyond the number of different stacks that they can keep
//
// While a tuner of [gctune] runs there are more metrics; [gctune.Decision] and [gctune.Stats]
// describe them:
//
//	freehold_gctune_total_bytes               the limit that the tuner keeps; absent if there is none, as are the next two
//	freehold_gctune_limit_bytes               GOMEMLIMIT
//	freehold_gctune_room_bytes                the rest of GOMEMLIMIT for the heap
//	freehold_gctune_headroom_bytes            left free
//	freehold_gctune_squeezed_bytes            left free besides, while work waits for memory
//	freehold_gctune_other_bytes               neither Go's nor freehold's
//	freehold_gctune_runtime_bytes             Go's memory beside the heap
//	freehold_gctune_live_bytes                the live heap of the last collection
//	freehold_gctune_wanted_bytes              the limit at which the state would be ample; absent if it is
//	freehold_gctune_gogc_percent              GOGC; -1 is off
//	freehold_gctune_gc_cpu_ratio              the collector's part of CPU since the last measurement, from 0 to 1
//	freehold_gctune_state{state}              1 for the present state of ample, tight and thrashing, else 0
//	freehold_gctune_pressure_percent{tasks}   of the last ten seconds in which "some" or all ("full") tasks waited for memory; absent if unknown
//	freehold_gctune_looks_total               measurements, each with a decision
//	freehold_gctune_limit_changes_total       measurements after which GOMEMLIMIT differed from the one before
//	freehold_gctune_errors_total              measurements that could not read a limit
//	freehold_gctune_thrashing_looks_total     measurements in the state thrashing
//
// Freehold's memory of the machine is the sum of in use and retained. Off-heap arenas take their
// chunks from package offheap, so memory="offheap" is a part of the bytes in use of
// package="offheap". With the kill switch (FREEHOLD=heap) Go counts all bytes, and the first four
// are zero.
//
// A collection freezes the modes, as an allocation does: call [freehold.Configure] before.
//
// A purpose or package whose name is not valid UTF-8 appears quoted as a Go string.
type Collector struct{}

// NewCollector makes a [Collector]. Register it once.
func NewCollector() *Collector { return &Collector{} }

var (
	inUse    = desc("in_use_bytes", "Bytes that a package of freehold holds outside the Go heap, allocated and not yet freed.", "package")
	retained = desc("retained_bytes", "Bytes that were freed, are kept for the next allocation, and still take memory.", "package")
	purged   = desc("purged_bytes", "Bytes that were freed and returned to the system; their address space stays.", "package")
	reserved = desc("reserved_bytes", "Bytes of address space that blocks have ever used.", "package")

	goLimit = desc("go_memory_limit_bytes", "Go's soft memory limit as the user set it, before off-heap memory is subtracted.")
	mode    = desc("mode", "Whether a mode of the variable FREEHOLD is in force (1) or not (0).", "mode")

	held     = desc("offheap_held_bytes", "Bytes of slabs and large blocks that are in use at least in part.")
	metadata = desc("offheap_metadata_bytes", "Bytes of the off-heap allocator's own records.")
	limit    = desc("offheap_limit_bytes", "The bound on off-heap bytes in slabs and large blocks, if there is one.")

	locals = desc("locals_dropped_total", "Locals of package offheap that the program dropped without Close.")

	purposeInUse = desc("purpose_in_use_bytes", "Off-heap bytes allocated on the account of a purpose and not yet freed.", "purpose")
	purposeHeld  = desc("purpose_held_bytes", "Bytes of slabs and large blocks of a purpose.", "purpose")
	purposeLimit = desc("purpose_limit_bytes", "The bound on a purpose's bytes in slabs and large blocks, if there is one.", "purpose")

	arenas        = desc("arenas", "Arenas that are not freed.")
	arenaHeld     = desc("arena_held_bytes", "Bytes in the chunks of arenas that are not freed, by where the chunks lie.", "memory")
	arenaRetained = desc("arena_retained_bytes", "Bytes that pools and the store keep for the next arenas.")
	arenasLeaked  = desc("arenas_leaked", "Off-heap arenas that were dropped without Free.")
	arenaLeaked   = desc("arena_leaked_bytes", "Bytes of off-heap arenas that were dropped without Free.")
	forgotten     = desc("arenas_forgotten_total", "Arenas on Go memory that the collector took without Free, which is no mistake.")

	debugBlocks   = desc("debug_blocks", "Blocks that the debug modes know now, with the stack of their allocation.")
	guardedBlocks = desc("guarded_blocks", "Blocks on guarded pages, live or freed and kept inaccessible.", "state")
	guardedBytes  = desc("guarded_bytes", "Bytes of guarded pages.")
	unguarded     = desc("unguarded_allocations_total", "Allocations without guarded pages because a budget was used up or the system refused.")
	skipped       = desc("samples_skipped_total", "Samples that were not guarded because of the bound on samples in a second, or because arenas had used their part of a budget.")
	unknown       = desc("unknown_blocks_total", "Blocks beyond the number that the debug modes can know.")
	lostStacks    = desc("lost_stacks_total", "Stacks beyond the number of different stacks that the debug modes can keep.")

	descs = []*prometheus.Desc{inUse, retained, purged, reserved, goLimit, mode, held, metadata, limit, locals,
		purposeInUse, purposeHeld, purposeLimit, arenas, arenaHeld, arenaRetained, arenasLeaked, arenaLeaked, forgotten,
		debugBlocks, guardedBlocks, guardedBytes, unguarded, skipped, unknown, lostStacks}
)

// Describe sends the descriptions of all metrics, so that a registry finds conflicts at once.
func (*Collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range slices.Concat(descs, tuneDescs) {
		to <- d
	}
}

// Collect reads the figures.
func (*Collector) Collect(to chan<- prometheus.Metric) {
	g := values{to}
	g.process()
	g.offheap()
	g.arenas()
	g.debug()
	g.tuner()
}

func (g values) process() {
	_, packages := freehold.ReadTotals()
	for _, p := range packages {
		g.set(inUse, p.Totals.InUse, p.Name)
		g.set(retained, p.Totals.Retained, p.Name)
		g.set(purged, p.Totals.Purged, p.Name)
		g.set(reserved, p.Totals.Reserved, p.Name)
	}
	g.setLimit(goLimit, freehold.MemoryLimit())
	for name, on := range freehold.Modes().Words() {
		value := int64(0)
		if on {
			value = 1
		}
		g.set(mode, value, name)
	}
}

func (g values) offheap() {
	s := offheap.ReadStats()
	g.set(held, s.Held)
	g.set(metadata, s.Metadata)
	g.setLimit(limit, s.Limit)
	g.count(locals, uint64(s.LocalsDropped))
	for _, p := range s.Purposes {
		g.set(purposeInUse, p.InUse, p.Name)
		g.set(purposeHeld, p.Held, p.Name)
		g.setLimit(purposeLimit, p.Limit, p.Name)
	}
}

func (g values) arenas() {
	t := arena.ReadTotals()
	g.set(arenas, int64(t.Arenas))
	g.set(arenaHeld, t.Held-t.OffHeap, "go")
	g.set(arenaHeld, t.OffHeap, "offheap")
	g.set(arenaRetained, t.Retained)
	g.set(arenasLeaked, int64(t.Leaked))
	g.set(arenaLeaked, t.LeakedBytes)
	g.count(forgotten, t.Forgotten)
}

func (g values) debug() {
	s := freehold.ReadDebugStats()
	g.set(debugBlocks, int64(s.Blocks))
	g.set(guardedBlocks, int64(s.Guarded), "live")
	g.set(guardedBlocks, int64(s.Quarantined), "freed")
	g.set(guardedBytes, s.GuardBytes)
	g.count(unguarded, s.Unguarded)
	g.count(skipped, s.SkippedSamples)
	g.count(unknown, s.Unknown)
	g.count(lostStacks, s.LostStacks)
}
