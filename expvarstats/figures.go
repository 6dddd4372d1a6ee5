// SPDX-License-Identifier: Apache-2.0

package expvarstats

import (
	"expvar"

	"github.com/freehold-go/freehold"
	"github.com/freehold-go/freehold/arena"
	"github.com/freehold-go/freehold/offheap"
)

// Figures are the contents of the variable, in bytes unless a field says otherwise. Later versions
// may add fields. Within a major version no field goes away or changes its meaning.
type Figures struct {
	// Total is the sum over Packages, each the part of one package of freehold.
	Total    Totals            `json:"total"`
	Packages map[string]Totals `json:"packages"`
	// GoMemoryLimit is GOMEMLIMIT as the user set it, 0 for none.
	GoMemoryLimit int64 `json:"go_memory_limit"`
	// Modes has the words of the variable FREEHOLD; those in force are true.
	Modes map[string]bool `json:"modes"`

	Offheap Offheap `json:"offheap"`
	Arenas  Arenas  `json:"arenas"`
	Debug   Debug   `json:"debug"`

	// Tuner has the last decision of package gctune; it is nil and absent unless a tuner runs.
	Tuner *Tuner `json:"gctune,omitempty"`
}

// Totals are bytes outside the Go heap, as [freehold.Totals] describes them.
type Totals struct {
	InUse    int64 `json:"in_use"`
	Retained int64 `json:"retained"`
	Purged   int64 `json:"purged"`
	Reserved int64 `json:"reserved"`
}

// Offheap has further figures of package offheap, as offheap.Stats describes them.
type Offheap struct {
	Held     int64 `json:"held"`
	Metadata int64 `json:"metadata"`
	Limit    int64 `json:"limit"` // 0 for none.
	// LocalsDropped counts Locals that the program dropped without Close.
	LocalsDropped int64 `json:"locals_dropped"`
	// Purposes are the accounts by name, which are few; see [offheap.Purpose].
	Purposes map[string]Purpose `json:"purposes"`
}

// Purpose is the account of one purpose, as [offheap.PurposeStats] describes it.
type Purpose struct {
	InUse int64 `json:"in_use"`
	Held  int64 `json:"held"`
	Limit int64 `json:"limit"` // 0 for none.
}

// Arenas are the sums over all arenas, as [arena.Totals] describes them.
type Arenas struct {
	Count       int    `json:"count"` // Arenas, not bytes.
	Held        int64  `json:"held"`
	OffHeap     int64  `json:"off_heap"` // The part of Held that Total counts as well.
	Retained    int64  `json:"retained"`
	Leaked      int    `json:"leaked"` // Arenas, not bytes.
	LeakedBytes int64  `json:"leaked_bytes"`
	Forgotten   uint64 `json:"forgotten"` // Arenas, not bytes.
}

// Debug has counts of the debug modes, as freehold.DebugStats describes them.
type Debug struct {
	Blocks         int    `json:"blocks"`
	Guarded        int    `json:"guarded"`     // Blocks.
	Quarantined    int    `json:"quarantined"` // Blocks.
	GuardBytes     int64  `json:"guard_bytes"`
	Unguarded      uint64 `json:"unguarded"`       // Allocations.
	SkippedSamples uint64 `json:"skipped_samples"` // Allocations.
	Unknown        uint64 `json:"unknown"`         // Blocks.
	LostStacks     uint64 `json:"lost_stacks"`
}

// Publish publishes the figures under the name. Like expvar.Publish it panics, through log.Panicln,
// if the name is taken. Each request reads the figures. This takes some microseconds, and 0.1 µs
// more for each arena.
func Publish(name string) {
	expvar.Publish(name, expvar.Func(func() any { return Read() }))
}

// Read reads the figures. It may be called from any goroutine. It freezes the modes, as an
// allocation does: call [freehold.Configure] before.
func Read() Figures {
	sum, packages := freehold.ReadTotals()
	f := Figures{
		Total: totals(sum), Packages: map[string]Totals{}, GoMemoryLimit: freehold.MemoryLimit(), Modes: freehold.Modes().Words(),
		Offheap: readOffheap(), Arenas: readArenas(), Debug: readDebug(), Tuner: readTuner(),
	}
	for _, p := range packages {
		f.Packages[p.Name] = totals(p.Totals)
	}
	f.GoMemoryLimit = bounded(f.GoMemoryLimit)
	return f
}

func totals(t freehold.Totals) Totals {
	return Totals{InUse: t.InUse, Retained: t.Retained, Purged: t.Purged, Reserved: t.Reserved}
}

func readOffheap() Offheap {
	s := offheap.ReadStats()
	o := Offheap{Held: s.Held, Metadata: s.Metadata, Limit: s.Limit, LocalsDropped: s.LocalsDropped, Purposes: map[string]Purpose{}}
	for _, p := range s.Purposes {
		o.Purposes[p.Name] = Purpose{InUse: p.InUse, Held: p.Held, Limit: p.Limit}
	}
	return o
}

func readArenas() Arenas {
	t := arena.ReadTotals()
	return Arenas{Count: t.Arenas, Held: t.Held, OffHeap: t.OffHeap, Retained: t.Retained, Leaked: t.Leaked, LeakedBytes: t.LeakedBytes, Forgotten: t.Forgotten}
}

func readDebug() Debug {
	s := freehold.ReadDebugStats()
	return Debug{Blocks: s.Blocks, Guarded: s.Guarded, Quarantined: s.Quarantined, GuardBytes: s.GuardBytes,
		Unguarded: s.Unguarded, SkippedSamples: s.SkippedSamples, Unknown: s.Unknown, LostStacks: s.LostStacks}
}
