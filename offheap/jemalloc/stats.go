// SPDX-License-Identifier: Apache-2.0

//go:build jemalloc && cgo

package jemalloc

import (
	"time"

	"github.com/freehold-go/freehold"
)

// Stats are bytes. InUse is this package's; the rest is jemalloc's account of the whole process, C
// code that uses the same jemalloc included.
type Stats struct {
	// InUse is in blocks that were allocated and not freed, at the size that jemalloc rounds to. It
	// is exact while no goroutine allocates or frees.
	InUse int64
	// Allocated is what InUse is, over all users of jemalloc.
	Allocated int64
	// Active is in pages that hold at least one block.
	Active int64
	// Metadata is jemalloc's records.
	Metadata int64
	// Resident is in pages that may take memory of the machine: active ones, records, and unused ones
	// that were not given back yet.
	Resident int64
	// Mapped is the address space of extents that are active or may be used again at once.
	Mapped int64
	// Retained is address space whose memory was given back to the system, and which jemalloc keeps:
	// what package offheap calls Purged.
	Retained int64
}

// ReadStats reads the statistics. jemalloc walks all of its arenas for them and locks each in turn:
// some ten microseconds. With FREEHOLD=heap only InUse is set.
func ReadStats() Stats {
	if heapMode() {
		return Stats{InUse: inUse.Load()}
	}
	s, err := cStats()
	if err != nil {
		return Stats{InUse: inUse.Load()} // A jemalloc built without statistics has nothing else to say.
	}
	return Stats{
		InUse:     inUse.Load(),
		Allocated: int64(s.allocated),
		Active:    int64(s.active),
		Metadata:  int64(s.metadata),
		Resident:  int64(s.resident),
		Mapped:    int64(s.mapped),
		Retained:  int64(s.retained),
	}
}

// totals are the figures for the process's account of memory outside the Go heap. All of jemalloc's
// resident memory counts, also that of C code, because it takes memory of the same machine.
func totals() freehold.Totals {
	if state.Load() != stateJemalloc {
		return freehold.Totals{} // Not used yet, or on the Go heap, which counts for itself.
	}
	s := ReadStats()
	return freehold.Totals{
		InUse:    s.InUse,
		Reserved: s.Mapped + s.Retained,
		Retained: max(0, s.Resident-s.InUse),
		Purged:   s.Retained,
	}
}

func init() { freehold.Register("offheap/jemalloc", totals) }

// Purge gives unused memory back to the system at once: the cache of the calling thread and the
// unused pages of every arena. Caches of other threads stay until jemalloc empties them.
func Purge() {
	if heapMode() {
		return
	}
	if err := cPurge(); err != nil {
		panic(err) // The call has no way to fail but a jemalloc that does not know it.
	}
	freehold.SyncMemoryLimit()
}

// SetPurgeDelay sets how long unused pages are kept before the background thread gives them back,
// and returns the delay before. It is rounded to milliseconds; a negative delay keeps them for ever.
// It holds for the whole process. jemalloc begins with ten seconds.
func SetPurgeDelay(d time.Duration) (old time.Duration) {
	if heapMode() {
		return 0
	}
	if d < 0 {
		d = -time.Millisecond // What jemalloc takes for never.
	}
	old, err := cDecay(d)
	if err != nil {
		panic(err) // No time.Duration is too long for it.
	}
	return old
}

// Conf is what jemalloc was built with and started with.
type Conf struct {
	Version          string // For example "5.3.0-0-g54eaed1d8b56".
	BackgroundThread bool   // A thread gives unused pages back, not only calls of the program.
	Retain           bool   // Address space is never given back.
	MetadataTHP      string // Huge pages for jemalloc's records: "disabled", "auto" or "always".
}

// ReadConf asks jemalloc for the options in force, from any source.
func ReadConf() (Conf, error) {
	thread, err := cOption("background_thread")
	if err != nil {
		return Conf{}, err
	}
	retain, err := cOption("opt.retain")
	if err != nil {
		return Conf{}, err
	}
	return Conf{cOptionText("version"), thread, retain, cOptionText("opt.metadata_thp")}, nil
}
