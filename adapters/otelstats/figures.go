// SPDX-License-Identifier: Apache-2.0

package otelstats

import (
	"go.opentelemetry.io/otel/metric"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// figures are the instruments of the whole process.
type figures struct {
	inUse, retained, purged, reserved, goLimit, mode metric.Int64Observable
	held, metadata, limit, locals                    metric.Int64Observable
	purposeInUse, purposeHeld, purposeLimit          metric.Int64Observable
	arenas, arenaHeld, arenaRetained                 metric.Int64Observable
	arenasLeaked, arenaLeaked, forgotten             metric.Int64Observable
	debugBlocks, guardedBlocks, guardedBytes         metric.Int64Observable
	unguarded, skipped, unknown, lostStacks          metric.Int64Observable
	tuner                                            tunerFigures
}

func newFigures(m *maker) *figures {
	return &figures{
		inUse:    m.bytes("in_use", "Bytes that a package of freehold holds outside the Go heap, allocated and not yet freed."),
		retained: m.bytes("retained", "Bytes that were freed, are kept for the next allocation, and still take memory."),
		purged:   m.bytes("purged", "Bytes that were freed and returned to the system; their address space stays."),
		reserved: m.bytes("reserved", "Bytes of address space that blocks have ever used."),

		goLimit: m.bytes("go_memory_limit", "Go's soft memory limit as the user set it, before off-heap memory is subtracted."),
		mode:    m.gauge("mode", "", "Whether a mode of the variable FREEHOLD is in force (1) or not (0)."),

		held:     m.bytes("offheap.held", "Bytes of slabs and large blocks that are in use at least in part."),
		metadata: m.bytes("offheap.metadata", "Bytes of the off-heap allocator's own records."),
		limit:    m.bytes("offheap.limit", "The bound on off-heap bytes in slabs and large blocks, if there is one."),
		locals:   m.count("locals_dropped", "{local}", "Locals of package offheap that the program dropped without Close."),

		purposeInUse: m.bytes("purpose.in_use", "Off-heap bytes allocated on the account of a purpose and not yet freed."),
		purposeHeld:  m.bytes("purpose.held", "Bytes of slabs and large blocks of a purpose."),
		purposeLimit: m.bytes("purpose.limit", "The bound on a purpose's bytes in slabs and large blocks, if there is one."),

		arenas:        m.sum("arenas", "{arena}", "Arenas that are not freed."),
		arenaHeld:     m.bytes("arena.held", "Bytes in the chunks of arenas that are not freed, by where the chunks lie."),
		arenaRetained: m.bytes("arena.retained", "Bytes that pools and the store keep for the next arenas."),
		arenasLeaked:  m.sum("arenas_leaked", "{arena}", "Off-heap arenas that were dropped without Free."),
		arenaLeaked:   m.bytes("arena.leaked", "Bytes of off-heap arenas that were dropped without Free."),
		forgotten:     m.count("arenas_forgotten", "{arena}", "Arenas on Go memory that the collector took without Free, which is no mistake."),

		debugBlocks:   m.sum("debug_blocks", "{block}", "Blocks that the debug modes know now, with the stack of their allocation."),
		guardedBlocks: m.sum("guarded_blocks", "{block}", "Blocks on guarded pages, live or freed and kept inaccessible."),
		guardedBytes:  m.bytes("guarded", "Bytes of guarded pages."),
		unguarded:     m.count("unguarded_allocations", "{allocation}", "Allocations without guarded pages because a budget was used up or the system refused."),
		skipped:       m.count("samples_skipped", "{sample}", "Samples that were not guarded because of the bound on samples in a second, or because arenas had used their part of a budget."),
		unknown:       m.count("unknown_blocks", "{block}", "Blocks beyond the number that the debug modes can know."),
		lostStacks:    m.count("lost_stacks", "{stack}", "Stacks beyond the number of different stacks that the debug modes can keep."),

		tuner: newTunerFigures(m),
	}
}

// observe reads all figures.
func (f *figures) observe(o observer) {
	f.process(o)
	f.offheap(o)
	f.arenaTotals(o)
	f.debug(o)
	f.tuner.observe(o)
}

func (f *figures) process(o observer) {
	_, packages := freehold.ReadTotals()
	for _, p := range packages {
		o.set(f.inUse, p.Totals.InUse, "package", p.Name)
		o.set(f.retained, p.Totals.Retained, "package", p.Name)
		o.set(f.purged, p.Totals.Purged, "package", p.Name)
		o.set(f.reserved, p.Totals.Reserved, "package", p.Name)
	}
	o.setLimit(f.goLimit, freehold.MemoryLimit())
	for name, on := range freehold.Modes().Words() {
		value := int64(0)
		if on {
			value = 1
		}
		o.set(f.mode, value, "mode", name)
	}
}

func (f *figures) offheap(o observer) {
	s := offheap.ReadStats()
	o.set(f.held, s.Held)
	o.set(f.metadata, s.Metadata)
	o.setLimit(f.limit, s.Limit)
	o.set(f.locals, s.LocalsDropped)
	for _, p := range s.Purposes {
		o.set(f.purposeInUse, p.InUse, "purpose", p.Name)
		o.set(f.purposeHeld, p.Held, "purpose", p.Name)
		o.setLimit(f.purposeLimit, p.Limit, "purpose", p.Name)
	}
}

func (f *figures) arenaTotals(o observer) {
	t := arena.ReadTotals()
	o.set(f.arenas, int64(t.Arenas))
	o.set(f.arenaHeld, t.Held-t.OffHeap, "memory", "go")
	o.set(f.arenaHeld, t.OffHeap, "memory", "offheap")
	o.set(f.arenaRetained, t.Retained)
	o.set(f.arenasLeaked, int64(t.Leaked))
	o.set(f.arenaLeaked, t.LeakedBytes)
	o.count(f.forgotten, t.Forgotten)
}

func (f *figures) debug(o observer) {
	s := freehold.ReadDebugStats()
	o.set(f.debugBlocks, int64(s.Blocks))
	o.set(f.guardedBlocks, int64(s.Guarded), "state", "live")
	o.set(f.guardedBlocks, int64(s.Quarantined), "state", "freed")
	o.set(f.guardedBytes, s.GuardBytes)
	o.count(f.unguarded, s.Unguarded)
	o.count(f.skipped, s.SkippedSamples)
	o.count(f.unknown, s.Unknown)
	o.count(f.lostStacks, s.LostStacks)
}
